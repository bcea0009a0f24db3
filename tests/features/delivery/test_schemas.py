from __future__ import annotations

from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.features.delivery.schemas import show_event
from mcp_agent_mail.store.feed import FeedEntry
from tests.features.samples import NOW, NOW_TEXT


def test_an_event_names_an_agent_in_its_senders_feed_alone_and_says_its_project_from_elsewhere() -> None:
    mine = FeedEntry(7, "delivered", MessageId(3), None, None, None, NOW)
    sent = FeedEntry(8, "read", MessageId(3), "RedStone", 1, "code-app", NOW)

    assert show_event(mine, ProjectId(1)) == {"cursor": 7, "event": "delivered", "message_id": 3, "ts": NOW_TEXT}
    assert show_event(sent, ProjectId(1))["agent"] == "RedStone"
    assert show_event(sent, ProjectId(2))["agent"] == "RedStone@code-app"
