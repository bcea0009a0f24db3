from __future__ import annotations

from mcp_agent_mail.cli.completion.shell_text import SCRIPTS
from tests.cli.shell import Shell


def test_without_words_the_script_is_printed_and_with_them_what_may_follow(shell: Shell) -> None:
    assert shell.am("completion", "fish").out == SCRIPTS["fish"]
    assert shell.am("completion", "bash", "--", "config", "set").out == "set-port\n"
    assert shell.am("completion", "bash", "--", "nothing", "").out == ""


def test_settings_that_cannot_be_used_are_not_in_its_way(shell: Shell) -> None:
    shell.set(HTTP_PORT="none")

    assert shell.am("completion", "bash", "--", "compl").out == "completion\n"


def test_another_shell_is_a_mistake_with_those_that_there_are(shell: Shell) -> None:
    done = shell.am("completion", "tcsh")

    assert done.code == 2
    assert "'tcsh' is not one of bash, zsh, fish." in done.err
