from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.features.history.message_events import read_message_events
from mcp_agent_mail.features.history.results import MessageEvent, RecordedEvent
from mcp_agent_mail.features.recovery.rebuild import rebuild_database
from mcp_agent_mail.store.transaction import open_view
from tests.features.history.past_store import PastStore, make_past_store


def told(past: PastStore, database: Path) -> dict[str, list[RecordedEvent]]:
    with open_view(database) as view:
        ids = past.ids.items()
        return {name: read_message_events(view, MessageId(number), None, 200).events for name, number in ids}


def test_the_commits_in_which_a_copy_was_decided_on_or_a_message_purged_are_known_again(tmp_path: Path) -> None:
    past = make_past_store(tmp_path / "past")
    before = told(past, past.database)
    happened = {one.event for events in before.values() for one in events if one.hexsha is not None}
    assert happened > {MessageEvent.HELD, MessageEvent.DELIVERED, MessageEvent.REFUSED, MessageEvent.PURGED}

    rebuild_database(past.root / "projects", tmp_path / "new.sqlite3", past.root / "attachments")

    assert told(past, tmp_path / "new.sqlite3") == before
