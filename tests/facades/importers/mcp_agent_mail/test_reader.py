"""A generated store with everything that bites: what comes out and what is listed is what went in."""

from __future__ import annotations

import base64
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.agents import ContactPolicy
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.messages import RecipientKind
from tests.facades.importers.mcp_agent_mail.one_store import WholeStore, read_whole
from tests.facades.importers.mcp_store import DOT, MadeStore, make_mcp_store
from tests.facades.importers.untouched import state_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeStore:
    return make_mcp_store(tmp_path_factory.mktemp("source"), messages=200)


@pytest.fixture(scope="module")
def whole(made: MadeStore) -> WholeStore:
    before = state_of(made.database, made.archive)
    read = read_whole(made.database, made.archive)
    assert state_of(made.database, made.archive) == before
    return read


def test_every_row_is_given_or_counted(made: MadeStore, whole: WholeStore) -> None:
    copies = sum(len(one.recipients) for one in whole.messages)

    assert len(whole.projects) + whole.left["projects"] == made.rows["projects"]
    assert (
        len(whole.agents) + whole.left["agents"] + whole.left["rows of senders in other projects"]
        == made.rows["agents"]
    )
    assert sum(1 + len(one.also) for one in whole.messages) == made.rows["messages"] + made.purged
    assert copies == made.rows["message_recipients"] + made.purged
    assert len(whole.leases) == made.rows["file_reservations"]
    assert len(whole.links) == made.rows["agent_links"]
    assert len(whole.products) == made.rows["products"]
    assert sum(len(one.attachments) for one in whole.messages) == made.attachments
    assert {kind: whole.left[kind] for kind in ("windows", "summaries", "build slots", "original images")} == {
        "windows": 1,
        "summaries": 1,
        "build slots": made.slots,
        "original images": made.originals,
    }
    assert whole.left["Git history"] == 1


def test_two_directories_of_one_slug_are_one_project_and_it_is_said(whole: WholeStore) -> None:
    assert [(one.slug, one.human_key) for one in whole.projects if one.slug == "app"] == [("app", "/data/one/app")]
    assert any("/data/one/app and /data/two/app" in note for note in whole.notes)


def test_a_cross_project_mail_is_one_message_of_its_real_sender(made: MadeStore, whole: WholeStore) -> None:
    joined = [one for one in whole.messages if one.subject == "Everywhere"]

    assert sum(len(one.also) for one in joined) == made.joined
    for one in joined:
        assert (one.project_key, whole.agents[one.sender_key].name) == ("data-api", "Traveller")
        assert [(whole.agents[copy.agent_key].project_key, copy.kind) for copy in one.recipients] == [
            ("data-api", RecipientKind.TO),
            ("app", RecipientKind.CC),
            ("data-web", RecipientKind.BCC),
        ]
    assert [one.name for one in whole.agents.values() if one.name == "Traveller"] == ["Traveller"]


def test_numeric_threads_name_a_message_that_came_before_and_roots_have_none(
    made: MadeStore, whole: WholeStore
) -> None:
    given: set[str] = set()
    numeric = 0
    for one in whole.messages:
        if one.thread is not None and one.thread.message_key is not None:
            numeric += 1
            assert one.thread.message_key in given
        given |= {one.key, *one.also}

    assert numeric == made.numeric_threads
    assert any(one.thread is not None and one.thread.name == "release-7" for one in whole.messages)


def test_blind_copies_are_what_the_rows_of_recipients_say(made: MadeStore, whole: WholeStore) -> None:
    blind = sum(copy.kind is RecipientKind.BCC for one in whole.messages for copy in one.recipients)

    assert blind == made.bcc


def test_an_id_that_was_used_twice_is_two_messages_and_the_answer_follows_the_second(whole: WholeStore) -> None:
    first, second, answer = (whole.message(subject) for subject in ("First life", "Second life", "Re"))

    assert first.key != second.key
    assert answer.thread is not None
    assert answer.thread.message_key == second.key
    assert [copy.read_ts for copy in first.recipients] == [first.created_ts]
    assert any("ids were given out again" in note for note in whole.notes)


def test_attachments_have_their_bytes_from_the_list_or_the_archive_and_lost_ones_none(
    made: MadeStore, whole: WholeStore
) -> None:
    carried = [one.attachments for one in whole.messages if one.attachments]

    for inline, filed, lost in carried:
        assert inline.is_inline
        assert inline.content == DOT
        assert (filed.content or b"").startswith(DOT)
        assert lost.content is None
    assert len(carried) == made.lost_contents


def test_base64_in_a_body_stays_there(whole: WholeStore) -> None:
    dot = base64.b64encode(DOT).decode()

    assert any(f"data:image/webp;base64,{dot}" in one.body_md for one in whole.messages)


def test_tokens_come_as_hashes_and_policies_as_they_are(made: MadeStore, whole: WholeStore) -> None:
    agents = {f"{one.project_key}/{one.name}": one for one in whole.agents.values()}

    assert agents["data-api/RedStone"].token_hash == token_hash(made.tokens["data-api/RedStone"])
    assert agents["data-api/BlueLake"].token_hash is None
    assert agents["data-api/RedStone"].contact_policy is ContactPolicy.OPEN
    assert {one.name for one in whole.agents.values()} >= {"Blue Lake!", "émile", "claude"}


def test_links_keep_direction_and_end_and_denials_stay(whole: WholeStore) -> None:
    links = {(one.from_agent_key, one.to_agent_key): one for one in whole.links}

    blocked = links["data-api/redstone", "data-api/bluelake"]
    assert (blocked.status, blocked.reason) == (LinkStatus.BLOCKED, "r")
    assert links["data-api/bluelake", "data-api/redstone"].expires_ts is None
    assert (links["data-api/traveller", "data-web/bluelake"].expires_ts or 0) > 0


def test_the_archive_alone_gives_mail_agents_and_leases_and_says_what_it_lacks(made: MadeStore) -> None:
    before = state_of(made.archive)
    alone = read_whole(made.archive)

    assert state_of(made.archive) == before
    assert len(alone.messages) == made.rows["messages"] + made.purged
    assert len(alone.leases) == made.rows["file_reservations"]
    assert {one.human_key for one in alone.projects} == {"/data/api", "/data/one/app", "/data/web"}
    assert all(copy.read_ts is None for one in alone.messages for copy in one.recipients)
    assert not alone.links
    assert all(one.topic is None for one in alone.messages)
    assert any("There is no database" in note for note in alone.notes)
    bodies = {one.body_md for one in read_whole(made.database, made.archive).messages}
    assert {one.body_md for one in alone.messages} == bodies


def test_the_database_alone_gives_all_but_what_lies_in_the_archive(made: MadeStore) -> None:
    alone = read_whole(made.database)

    assert sum(1 + len(one.also) for one in alone.messages) == made.rows["messages"]
    assert any("No archive was given" in note for note in alone.notes)
    contents = [carried.content for one in alone.messages for carried in one.attachments]
    assert sum(content is None for content in contents) == 2 * made.lost_contents


def test_keys_are_the_same_when_mail_was_purged_between_two_readings(made: MadeStore, tmp_path: Path) -> None:
    """A message that only the archive has left is the one that the database had: it is not taken a second time."""
    alone = {one.key for one in read_whole(made.archive).messages}
    rows = {key for one in read_whole(made.database, made.archive).messages for key in (one.key, *one.also)}

    assert alone == rows
    shutil.rmtree(tmp_path)


def test_a_store_is_known_again_after_more_was_written(tmp_path: Path) -> None:
    first = make_mcp_store(tmp_path / "a", messages=20)
    more = make_mcp_store(tmp_path / "b", messages=40)

    assert read_whole(first.database).store == read_whole(more.database).store
    assert read_whole(first.archive).store == read_whole(more.archive).store


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE messages SET project_id = 4",
        "DELETE FROM projects WHERE id = 2",
        "UPDATE projects SET slug = 'api-2', human_key = '/data/moved' WHERE id = 1",
        "UPDATE message_recipients SET read_ts = '2026-03-01 08:00:00', ack_ts = '2026-03-01 08:00:00'",
        "UPDATE agents SET name = 'OldOak' WHERE id = 1",
    ],
)
def test_mail_is_called_the_same_whatever_became_of_its_project_its_agents_and_its_marks(
    change: str, tmp_path: Path
) -> None:
    made = make_mcp_store(tmp_path)

    def keys() -> set[str]:
        messages = read_whole(made.database, made.archive).messages
        return {key for one in messages for key in (one.key, *one.also)}

    before = keys()
    with closing(sqlite3.connect(made.database)) as connection, connection:
        connection.execute(change)

    assert keys() == before
