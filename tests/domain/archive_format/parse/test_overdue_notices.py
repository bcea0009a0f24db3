from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.archive_format.overdue_notices import overdue_content
from mcp_agent_mail.domain.archive_format.parse.overdue_notices import parse_overdue_notice

PLACE = "agents/BlueLake/overdue/2026/11/500-999/id-742.json"


def content(escalation: str | None) -> bytes:
    return overdue_content({"id": 742, "noted_ts": Micros(0), "escalation": escalation})


@pytest.mark.parametrize(
    ("path", "escalation"),
    [
        (PLACE.replace("742", "743"), None),
        (PLACE.replace("500-999", "0-499"), None),
        (PLACE.replace("/11/", "/13/"), None),
        (PLACE.replace("BlueLake", "-"), None),
        (PLACE, "shouting"),
    ],
)
def test_a_notice_elsewhere_or_of_another_kind_is_not_read(path: str, escalation: str | None) -> None:
    assert parse_overdue_notice(PLACE, content("log"), 2).escalation == "log"

    with pytest.raises(ValueError, match=r"."):
        parse_overdue_notice(path, content(escalation), 2)
