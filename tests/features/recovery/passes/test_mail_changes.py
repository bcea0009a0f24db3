from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.features.history.message_events import read_message_events
from mcp_agent_mail.features.history.results import MessageEvent, RecordedEvent
from mcp_agent_mail.features.recovery.rebuild import rebuild_database
from mcp_agent_mail.store.transaction import open_view
from tests.features.history.past_store import APP, PastStore, make_past_store
from tests.features.recovery.harness import change, git


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


@pytest.mark.parametrize("text", ["no mail", " " * (12 << 20)], ids=["changed", "large"])
def test_a_mail_that_somebody_made_unreadable_in_the_past_is_passed_over(tmp_path: Path, text: str) -> None:
    past = make_past_store(tmp_path / "past")
    archive = past.archive_of(APP)
    purged = git(archive, "rev-parse", "main").strip()
    changed = git(archive, "diff", "--name-only", "main~1", "main").split("\n")
    (sent,) = [path for path in changed if "/outbox/" in path][:1]
    git(archive, "update-ref", "refs/heads/main", "main~1")
    change(archive, {sent: text})
    said = git(archive, "cat-file", "commit", purged)
    again = re.sub("parent [0-9a-f]+", f"parent {git(archive, 'rev-parse', 'main').strip()}", said, count=1)
    made = git(archive, "hash-object", "-t", "commit", "-w", "--stdin", given=again).strip()
    git(archive, "update-ref", "refs/heads/main", made)

    rebuild_database(past.root / "projects", tmp_path / "new.sqlite3", past.root / "attachments")

    happened = {one.event for events in told(past, tmp_path / "new.sqlite3").values() for one in events}
    assert happened > {MessageEvent.HELD, MessageEvent.DELIVERED, MessageEvent.REFUSED, MessageEvent.PURGED}
