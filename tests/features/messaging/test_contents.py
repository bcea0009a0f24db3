from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.domain.messages import MAX_BODIES_BYTES
from mcp_agent_mail.features.messaging.attachments import SeenAttachment
from mcp_agent_mail.features.messaging.contents import (
    CHUNK_BYTES,
    MAX_OPEN,
    MAX_WHOLE_BYTES,
    AttachmentLost,
    ContentReader,
    ContentTooLarge,
    TooManyOpenContents,
)
from tests.features.messaging.carrying import PNG, AttachmentParts, Shelf, digest_of, open_carrying


@pytest.fixture
async def carrying(tmp_path: Path) -> AsyncIterator[AttachmentParts]:
    async with open_carrying(tmp_path) as opened:
        yield opened


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def as_seen(content: StoredContent) -> SeenAttachment:
    return SeenAttachment(content=content, name="a", media_type="text/plain")


async def sent_on(
    contents: ContentReader, content: StoredContent, first: int = 0, size: int | None = None
) -> list[bytes]:
    async with contents.opened(as_seen(content)) as opened:
        return [piece async for piece in opened.chunks(first, content.bytes if size is None else size)]


async def test_a_content_comes_piece_by_piece_from_any_byte_on(shelf: Shelf) -> None:
    data = bytes(range(256)) * 2_048
    content, contents = shelf.keep(data), ContentReader(shelf.open)

    assert b"".join(await sent_on(contents, content)) == data
    assert max(map(len, await sent_on(contents, content))) == CHUNK_BYTES
    assert await sent_on(contents, content, 255, 3) == [data[255:258]]


@pytest.mark.parametrize("harm", ["gone", "shorter", "longer"])
async def test_a_content_that_is_lost_is_told_with_what_finds_it_and_in_the_log(
    shelf: Shelf, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    content, contents = shelf.keep(b"text"), ContentReader(shelf.open)
    place = shelf.folder / content.sha256
    place.unlink() if harm == "gone" else place.write_bytes(b"tex" if harm == "shorter" else b"texts")

    with caplog.at_level(logging.ERROR), pytest.raises(AttachmentLost) as lost:
        await sent_on(contents, content)

    assert (lost.value.code, lost.value.data) == ("UNAVAILABLE", {"sha256": content.sha256})
    assert "am doctor verify" in lost.value.hint
    assert [record.facts["sha256"] for record in caplog.records] == [content.sha256]  # type: ignore[attr-defined]


async def test_so_many_contents_are_sent_at_a_time(shelf: Shelf) -> None:
    content, contents = shelf.keep(b"text"), ContentReader(shelf.open)
    stop, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def hold() -> None:
        async with contents.opened(as_seen(content)):
            begun.release()
            await stop.wait()

    holders = [asyncio.create_task(hold()) for _ in range(MAX_OPEN)]
    for _ in holders:
        await begun.acquire()
    with pytest.raises(TooManyOpenContents) as refused:
        await sent_on(contents, content)
    holders[0].cancel()
    await asyncio.wait(holders[:1])

    assert refused.value.data["retry_after_s"] == 5
    assert await sent_on(contents, content) == [b"text"]
    stop.set()
    await asyncio.wait(holders)


async def test_one_answer_carries_a_content_whole_up_to_a_bound(carrying: AttachmentParts) -> None:
    largest = b"x" * MAX_WHOLE_BYTES
    await carrying.send(carrying.path("a", largest), carrying.path("b", largest + b"x"))

    whole = await carrying.messaging.read(f"attachment/{digest_of(largest)}")
    with pytest.raises(ContentTooLarge) as refused:
        await carrying.messaging.read(f"attachment/{digest_of(largest + b'x')}?project=code-app")

    assert (whole["mimeType"], b64decode(whole["blob"])) == ("text/plain", largest)
    assert refused.value.data["max_bytes"] == MAX_WHOLE_BYTES


async def test_of_a_content_that_is_gone_the_message_is_still_read(carrying: AttachmentParts) -> None:
    await carrying.send(carrying.path("a.png", PNG, inline=True))
    (carrying.sources.shelf.folder / digest_of(PNG)).unlink()

    (item,) = await carrying.messaging.inbox("RedStone", include_bodies=True)
    with pytest.raises(AttachmentLost):
        await carrying.messaging.read(f"attachment/{digest_of(PNG)}")

    assert item["body_md"] == "body"
    assert "data_base64" not in item["attachments"][0]


def _shown(items: list[Any]) -> list[tuple[int, bool, bool]]:
    """By message: whether its body and its picture are shown."""
    return [(item["id"], item["body_md"] is not None, "data_base64" in item["attachments"][0]) for item in items]


async def test_inline_contents_count_with_bodies_which_come_first(carrying: AttachmentParts) -> None:
    picture = PNG + b"0" * 590_000
    carrying.path("a.png", picture, inline=True)
    for size in (10, 500_000, 10, 10):
        await carrying.send("a.png", body_md="b" * size)

    items = await carrying.messaging.inbox("RedStone", include_bodies=True)

    assert _shown(items) == [(4, True, True), (3, True, True), (2, True, False), (1, True, False)]
    assert len(str(items)) < MAX_BODIES_BYTES + 5_000


async def test_a_content_of_several_messages_is_read_once(carrying: AttachmentParts) -> None:
    for _ in range(3):
        await carrying.send(carrying.path("a.png", PNG, inline=True))
    carrying.sources.shelf.opened.clear()

    items = await carrying.messaging.inbox("RedStone", include_bodies=True)

    assert [shown for _, _, shown in _shown(items)] == [True, True, True]
    assert carrying.sources.shelf.opened == [digest_of(PNG)]
