from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.features.oversight.needs import Needs
from mcp_agent_mail.web.views.needs import needs_view, told_reminders


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("", ""),
        ("0", "Nobody was reminded: of one message an agent is reminded once an hour."),
        ("1", "1 reminder was sent."),
        ("200", "200 reminders were sent."),
        ("<b>", ""),
        ("\u0661", ""),
        ("9" * 16, ""),
    ],
)
def test_what_a_reminder_did_is_said_from_its_number_alone(sent: str, told: str) -> None:
    assert told_reminders(sent) == told


@pytest.mark.parametrize(("place", "query"), [(None, None), (7, "7")])
def test_each_kind_leads_to_what_is_left_of_it(place: int | None, query: str | None) -> None:
    found = Needs(
        owed=[],
        reasons={},
        has_more_owed=place is not None,
        questions=[],
        next_request=place,
        late=[],
        next_delivery=place,
        now=Micros(0),
    )

    shown = needs_view(found)

    assert shown.owed.next_href == (query and "/mail?q=needs%3Aack")
    assert shown.more_questions == (query and f"/mail?box=needs&requests={query}")
    assert shown.more_late == (query and f"/mail?box=needs&overdue={query}")
