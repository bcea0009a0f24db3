"""`am completion`: TAB in bash, zsh and fish."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mcp_agent_mail.cli.completion.shell_text import SCRIPTS, ShellName, as_read_by
from mcp_agent_mail.cli.completion.words import suggested_words
from mcp_agent_mail.cli.lazy_typer import LeanCommand

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("completion", cls=LeanCommand)
def completion(
    context: typer.Context,
    shell: Annotated[ShellName, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="What stands after am, behind --: print what the last may become."),
    ] = None,
) -> None:
    """Print what makes TAB complete am in your shell.

    bash, in ~/.bashrc: eval "$(am completion bash)". zsh, in ~/.zshrc behind compinit: eval "$(am
    completion zsh)". fish, in ~/.config/fish/config.fish: am completion fish | source. It asks am at
    each TAB, so it knows the commands of the version that is installed.
    """
    if words is None or not words:
        sys.stdout.write(SCRIPTS[shell])
        return
    sys.stdout.write(as_read_by(shell, suggested_words(context.find_root().command, words)))
