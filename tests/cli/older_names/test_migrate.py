from __future__ import annotations

from tests.cli.shell import Shell


def test_without_a_store_nothing_is_made(shell: Shell) -> None:
    assert shell.am("migrate").code == 69
    assert not (shell.home / ".mcp_agent_mail").exists()
