"""What a session hears of itself."""

from __future__ import annotations

import pytest

from mcp_agent_mail.clients.hook.notices import other_name_line, refused_lines
from mcp_agent_mail.clients.hook.server import HookRefused


def test_the_servers_words_are_folded_to_a_line_each() -> None:
    refused = HookRefused("NOT_FOUND", "No agent\nis called <x>.", "Did you mean\r\nBlueLake?")

    assert refused_lines(refused) == [
        "Agent mail cannot tell this session of its mail: No agent is called \u2039x>.",
        "Did you mean BlueLake?",
    ]


@pytest.mark.parametrize(
    "refused",
    [HookRefused("UNAVAILABLE", "soon", "wait"), HookRefused("HTTP 500"), HookRefused("NOT_FOUND", 3, [])],
)
def test_what_passes_by_itself_or_has_no_words_is_not_said(refused: HookRefused) -> None:
    assert refused_lines(refused) == []


def test_both_names_are_said() -> None:
    assert "registered as GreenHill, and AGENT_NAME is BlueLake" in other_name_line("GreenHill", "BlueLake")
