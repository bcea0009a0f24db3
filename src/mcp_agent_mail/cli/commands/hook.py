"""`am hook`: its help page. What a client runs does not come here: `__main__` answers it without Typer."""

from __future__ import annotations

from typing import Annotated

import typer

from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.hook.entry import main as hook_main

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("hook", cls=LeanCommand)
def hook(
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT",
            help=f"{', '.join(CLIENTS[:-1])} or {CLIENTS[-1]}.",
        ),
    ],
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The event, as the client calls it.")],
    wake: Annotated[
        bool,
        typer.Option("--wake", help="At the end of a turn, in the background: wait for mail, and wake the session."),
    ] = False,
) -> int:
    """Answer an event of an agent CLI, which runs this.

    It reads the client's JSON on standard input, and prints what that client reads: new mail, a
    refusal of an edit of what another agent holds, who the agent is after a compaction, or what
    says nothing. It ends with 0 within a second whatever happens, but where a client knows no
    other refusal than another exit code. With --wake (claude Stop, opencode idle) it waits, and
    ends with 2 when there is mail to wake the session for.
    """
    return hook_main([client, event, *(["--wake"] if wake else [])])
