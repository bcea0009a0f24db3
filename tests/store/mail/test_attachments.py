"""What messages carry in the store: added with the message, kept per project, dropped with a purge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, to_json
from mcp_agent_mail.domain.messages import Message, RecipientKind
from mcp_agent_mail.store.mail.message_events import post
from mcp_agent_mail.store.transaction import Tx, View
from tests.seeded_store import SeededStore, open_seeded_store

PICTURE = StoredContent(sha256="0f" * 32, bytes=70, extension="webp")
ORIGINAL = StoredContent(sha256="ab" * 32, bytes=90, extension="png")
NOTES = StoredContent(sha256="cd" * 32, bytes=5, extension="txt")
PLAN = Attachment(content=PICTURE, name="plan.png", media_type="image/webp", width=2, height=3, original=ORIGINAL)
TEXT = Attachment(content=NOTES, name="notes.txt", media_type="text/plain")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def _send(seeded: SeededStore, *attachments: Attachment, to_lib: bool = False) -> Message:
    new = replace(seeded.letter(seeded.blue), attachments=attachments)
    agents = [seeded.red, seeded.fox] if to_lib else [seeded.red]
    message, _ = await seeded.store.write(lambda tx: post(tx, new, seeded.addressed(agents)))
    return message


async def _kept(seeded: SeededStore, project_id: ProjectId) -> int:
    return await seeded.store.read(lambda view: view.attachments.kept_bytes(project_id))


async def test_a_message_and_its_head_show_what_it_carries(seeded: SeededStore) -> None:
    message = await _send(seeded, PLAN, TEXT)
    plain = await _send(seeded)

    found = await seeded.store.read(lambda view: view.messages.find(message.id))
    heads = await seeded.store.read(lambda view: [view.messages.find_head(number) for number in (message.id, plain.id)])

    assert found is not None
    assert found.attachments == message.attachments == (PLAN, TEXT)
    assert [head and head.attachments for head in heads] == [to_json((PLAN, TEXT)), None]


async def test_a_content_knows_its_carriers_newest_first_by_its_original_too(seeded: SeededStore) -> None:
    first, second = await _send(seeded, PLAN), await _send(seeded, PLAN, TEXT)

    newest = await seeded.store.read(lambda view: view.attachments.newest(PICTURE.sha256))
    of_original = await seeded.store.read(lambda view: view.attachments.newest(ORIGINAL.sha256))
    any_open = await seeded.store.read(lambda view: view.attachments.any_open(PICTURE.sha256))
    is_carried = await seeded.store.read(lambda view: view.attachments.is_carried("ee" * 32))

    of_app, by_blue = seeded.app.id, seeded.blue.id
    assert newest == of_original == (second.id, of_app, by_blue, to_json((PLAN, TEXT)))
    assert any_open == (first.id, of_app, by_blue, to_json((PLAN,)))
    assert not is_carried


async def _readers(seeded: SeededStore, content: StoredContent) -> dict[str, MessageId | None]:
    """By whom it is asked for, the newest message that carries it."""

    def ask(view: View) -> dict[str, MessageId | None]:
        projects = {one.slug: view.attachments.newest_open(content.sha256, one.id) for one in (seeded.app, seeded.lib)}
        agents = (seeded.blue, seeded.red, seeded.green, seeded.fox)
        parties = {one.name: view.attachments.newest_of_party(content.sha256, one.id) for one in agents}
        return {name: found and found.id for name, found in (projects | parties).items()}

    return await seeded.store.read(ask)


async def test_a_carrier_is_found_by_each_project_that_it_is_open_to_and_by_its_parties(seeded: SeededStore) -> None:
    at_home, across = await _send(seeded, TEXT), await _send(seeded, TEXT, to_lib=True)
    blind = replace(seeded.letter(seeded.blue), attachments=(PLAN,))
    bcc = [replace(one, kind=RecipientKind.BCC) for one in seeded.addressed([seeded.fox])]
    private, _ = await seeded.store.write(lambda tx: post(tx, blind, bcc))

    assert at_home.id < across.id
    assert await _readers(seeded, NOTES) == {
        seeded.app.slug: across.id,
        seeded.lib.slug: across.id,
        "BlueLake": across.id,
        "RedStone": across.id,
        "GreenField": None,
        "QuietFox": across.id,
    }
    of_blind = await _readers(seeded, ORIGINAL)
    assert {name for name, found in of_blind.items() if found == private.id} == {
        seeded.app.slug,
        "BlueLake",
        "QuietFox",
    }

    await seeded.store.write(lambda tx: tx.attachments.drop(across.id, across.attachments))
    left = await _readers(seeded, NOTES)
    assert {name for name, found in left.items() if found is not None} == {seeded.app.slug, "BlueLake", "RedStone"}
    assert await _noted_readers(seeded, across.id) == (0, 0)


async def _noted_readers(seeded: SeededStore, message_id: MessageId) -> tuple[int, ...]:
    """How many projects and agents are noted as readers of what the message carries."""
    tables = ("content_projects", "content_parties")
    counted = [await seeded.rows(f"SELECT count(*) FROM {table} WHERE message_id = ?", message_id) for table in tables]
    return tuple([count for ((count,),) in counted])


async def test_a_held_copy_makes_readers_once_it_is_let_in(seeded: SeededStore) -> None:
    new = replace(seeded.letter(seeded.blue), attachments=(TEXT,))
    held = [replace(one, held_code="CONTACT_REQUIRED") for one in seeded.addressed([seeded.fox])]
    message, _ = await seeded.store.write(lambda tx: post(tx, new, held))
    before = await _readers(seeded, NOTES)

    await seeded.store.write(lambda tx: tx.held.deliver(seeded.blue.id, seeded.fox.id, tx.now))

    after = await _readers(seeded, NOTES)
    assert {name for name, found in before.items() if found is not None} == {"BlueLake"}
    assert {name for name, found in after.items() if found == message.id} == {
        seeded.app.slug,
        seeded.lib.slug,
        "BlueLake",
        "QuietFox",
    }


async def test_whatever_others_send_the_newest_carrier_of_a_project_is_one_step_away(seeded: SeededStore) -> None:
    """A walk over what others send takes as many steps as they like."""
    first = await _send(seeded, TEXT)
    new = replace(seeded.letter(seeded.fox), attachments=(TEXT,))

    def send_often(tx: Tx) -> None:
        for _ in range(1_100):
            tx.messages.add(new, seeded.addressed([seeded.fox]), tx.now)

    await seeded.store.write(send_often)

    readers = await _readers(seeded, NOTES)
    assert readers[seeded.app.slug] == readers["RedStone"] == first.id
    assert readers["GreenField"] is None


async def test_each_project_keeps_a_content_once(seeded: SeededStore) -> None:
    await _send(seeded, PLAN)
    await _send(seeded, PLAN, TEXT, to_lib=True)

    new = await seeded.store.read(
        lambda view: [view.attachments.new_bytes(one.id, [PLAN, TEXT]) for one in (seeded.app, seeded.lib)]
    )

    assert await _kept(seeded, seeded.app.id) == 70 + 90 + 5
    assert await _kept(seeded, seeded.lib.id) == 70 + 90 + 5
    assert new == [0, 0]


async def test_what_is_new_to_a_project_is_counted_once(seeded: SeededStore) -> None:
    await _send(seeded, TEXT)

    new = await seeded.store.read(lambda view: view.attachments.new_bytes(seeded.app.id, [PLAN, PLAN, TEXT]))

    assert new == 70 + 90


async def test_what_is_dropped_is_freed_where_no_other_mail_carries_it(seeded: SeededStore) -> None:
    message = await _send(seeded, PLAN, TEXT, to_lib=True)
    await _send(seeded, TEXT)

    async def freed(project_id: ProjectId) -> list[StoredContent]:
        return await seeded.store.write(lambda tx: tx.attachments.free(project_id, message.attachments))

    await seeded.store.write(lambda tx: tx.attachments.drop(message.id, message.attachments))

    assert await freed(seeded.app.id) == [PICTURE, ORIGINAL]
    assert await freed(seeded.lib.id) == [PICTURE, ORIGINAL, NOTES]
    assert (await _kept(seeded, seeded.app.id), await _kept(seeded, seeded.lib.id)) == (5, 0)
    found = await seeded.store.read(lambda view: view.messages.find(message.id))
    assert found is not None
    assert found.attachments == ()
