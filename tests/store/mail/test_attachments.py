"""What messages carry in the store: added with the message, kept per project, dropped with a purge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, to_json
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.store.mail.message_events import post
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

    carriers = await seeded.store.read(lambda view: view.attachments.carriers(PICTURE.sha256, 10))
    newest = await seeded.store.read(lambda view: view.attachments.carriers(ORIGINAL.sha256, 1))
    is_carried = await seeded.store.read(lambda view: view.attachments.is_carried("ee" * 32))

    of_app, by_blue = seeded.app.id, seeded.blue.id
    assert carriers == [
        (second.id, of_app, by_blue, to_json((PLAN, TEXT))),
        (first.id, of_app, by_blue, to_json((PLAN,))),
    ]
    assert newest == carriers[:1]
    assert not is_carried


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
