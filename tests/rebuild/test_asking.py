"""What the comparison of answers is worth: a copy answers alike, and whatever agents see of a row is seen to differ."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from tests.rebuild import resource_asks, tool_asks
from tests.rebuild.asking import ask, differences
from tests.rebuild.copies import copy_of
from tests.rebuild.facts import facts_of
from tests.rebuild.histories import play
from tests.rebuild.mutations import change_one, columns
from tests.server.reference_pages import declared

_TRIES = 12
"""Of some columns few rows show: a content is shown as the newest message carries it."""

_SEEN_BY_NOBODY: Mapping[str, str] = {
    "announcements": "not rebuilt",
    "content_parties": "which contents are an agent's, asked for with its proof; here it is the operator who asks",
    "counters": "numbers that are given next",
    "digests": "stored summaries are not rebuilt",
    "feed": "not rebuilt",
    "feed_marks": "not rebuilt",
    "guard_events": "the guard's log is not rebuilt",
    "hook_sessions": "not rebuilt",
    "identifiers": "words that a search may mean, for suggestions",
    "idempotency_keys": "not rebuilt",
    "import_units": "what was imported, which another import asks for",
    "imported": "what was imported, which another import asks for",
    "issued_tokens": "not rebuilt",
    "dismissed_siblings": "not rebuilt",
    "web_sessions": "not rebuilt",
    "join_codes": "not rebuilt",
    "llm_spending": "not rebuilt",
    "meta.key": "the store's own",
    "meta.value": "the store's own",
    "outbox": "the way into Git; what it says of commits is asked",
    "overdue_notices": "who was told once is not told again",
    "pops": "answers under way at doors are not rebuilt",
    "project_contents": "a sum that a quota is about",
    "stale_aliases": "what waits to be told to archives",
    "unqueued_notices": "what waits to be told to archives",
    "windows": "not rebuilt",
    "wire_ids": "doors ask for them",
    "wire_names.created_ts": "the time in the profile's file",
    "wire_names.id": "an order that a change may keep",
    "wire_names.name_key": "an index of what is asked",
    "wire_names.project_id": "names are asked for by their agents",
    "agents.last_active_ts": "presence is not rebuilt",
    "agents.profiled_ts": "the time in the profile's file",
    "agents.status": "presence is not rebuilt",
    "agents.status_note": "presence is not rebuilt",
    "agents.status_ts": "presence is not rebuilt",
    "agents.token_hash": "tokens are not rebuilt",
    "commits.hexsha": "answers have its first twelve digits",
    "commits.last_seq": "the way into Git",
    "contacts.id": "links are named by their agents",
    "leases.anchor": "an index of what is asked",
    "leases.tail": "an index of what is asked",
    "leases.branch": "the guard asks for it",
    "leases.ignore_case": "decides of live leases alone",
    "leases.is_folder": "decides of live leases alone",
    "leases.ended_by": "its file says it",
    "leases.promises": "whether a repeated call is told of it",
    "messages.is_verified": "proof of a call, which is not rebuilt",
    "messages.scope": "an index of what is asked",
    "messages.body_bytes": "a bound of answers",
    "product_projects.linked_ts": "its file says it",
    "project_aliases.created_ts": "which of many is forgotten first",
    "projects.plain_slug": "a name that people may use besides",
    "recipients.handed_ts": "not rebuilt",
    "recipients.shown_ts": "not rebuilt",
    "recipients.gone_ts": "not rebuilt",
    "recipients.withdrawn_seq": "a number that pages go on behind",
    "recipients.held_code": "shown while the copy is held",
    "recipients.refused_ts": "shown to the sender of mail that was held, while it is",
    "recipients.position": "an order that a change may keep",
    "message_projects.delivered_ts": "asked for since one instant alone",
    "recipients.delivered_ts": "asked for since one instant alone",
    "recipients.topic_key": "inboxes are asked for one topic alone",
    "message_projects.delivery_seq": "an order that a change may keep",
    "message_projects.is_late": "whether a cursor has to look back",
}
"""Tables and columns of which a change may show in no answer, with why: rows and dump are compared besides."""


def test_everything_that_reads_is_asked() -> None:
    tools, resources = declared()

    reading = sorted(spec.name for spec in tools if spec.read_only)
    assert sorted([*tool_asks.ASKS, *tool_asks.NOT_ASKED]) == reading
    assert sorted([*resource_asks.ASKS, *resource_asks.NOT_ASKED]) == sorted(spec.uri for spec in resources)


async def test_a_copy_answers_alike_and_a_changed_row_does_not(tmp_path: Path) -> None:
    played = await play(tmp_path / "played", 1, length=30)
    facts = facts_of(played.database)
    before = await ask(played.root, copy_of(played, tmp_path / "before"), played.now, facts)
    copy, changed = copy_of(played, tmp_path / "copy"), copy_of(played, tmp_path / "changed")
    subject = next(column for column in columns() if str(column) == "messages.subject")

    assert change_one(changed, subject, random.Random(0))

    assert differences(before, await ask(played.root, copy, played.now, facts)) == []
    assert differences(before, await ask(played.root, changed, played.now, facts)) != []


@pytest.mark.rebuild
async def test_whatever_agents_see_of_a_row_is_seen_to_differ(tmp_path: Path) -> None:
    played = await play(tmp_path / "played", 7, length=400)
    facts = facts_of(played.database)
    before = await ask(played.root, copy_of(played, tmp_path / "before"), played.now, facts)

    async def is_seen(changed: Path) -> bool:
        try:
            return before != await ask(played.root, changed, played.now, facts)
        except (AgentMailError, AssertionError, LookupError, TypeError, ValueError):  # no such value is ever stored
            return True

    shown = [column for column in columns() if not {column.table.name, str(column)} & _SEEN_BY_NOBODY.keys()]
    unseen = []
    for column in shown:
        changed = copy_of(played, tmp_path / str(column))
        for number in range(_TRIES):
            assert change_one(changed, column, random.Random(number)), f"no row has {column}"
            if await is_seen(changed):
                break
        else:
            unseen.append(str(column))
    assert unseen == [], unseen
