from __future__ import annotations

import re
from pathlib import Path

import mcp_agent_mail
from mcp_agent_mail.domain.identity.reissue_command import reissue_command

SOURCE = Path(mcp_agent_mail.__file__).parent
WRITTEN_OUT = re.compile(r"am token reissue[ \"',]+[A-Z{<]|[\"']reissue[\"'],(?! *cls=)")
"""With what it is told to be run for, in one text or in a list."""


def test_the_command_names_the_project() -> None:
    assert reissue_command() == "am token reissue AGENT --project PROJECT"
    assert reissue_command("Blue Lake", "/code/my app") == "am token reissue 'Blue Lake' --project '/code/my app'"


def test_no_other_place_writes_it_out() -> None:
    places = [
        str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py")) if WRITTEN_OUT.search(path.read_text())
    ]

    assert places == ["domain/identity/reissue_command.py"]
