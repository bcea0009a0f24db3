"""The bounds of one message's attachments."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.attachments import MAX_ATTACHMENTS
from mcp_agent_mail.domain.markdown_images import TooManyImages
from mcp_agent_mail.domain.messages import BodyTooLong
from mcp_agent_mail.features.attachments.preparation import MAX_TARGETS, TooManyAttachments
from tests.features.attachments.workplace import Workplace, open_workplace
from tests.image_samples import corner_lit, encoded


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path) as place:
        yield place


async def test_a_message_carries_twenty_and_images_of_the_body_count(place: Workplace) -> None:
    (place.code / "a.png").write_bytes(encoded(corner_lit(), "PNG"))
    digests = [f"sha256:{number:064x}" for number in range(MAX_ATTACHMENTS)]

    full = await place.prepare(*digests[1:], body="![a](a.png)")

    assert len(full.items) == MAX_ATTACHMENTS
    with pytest.raises(TooManyAttachments):
        await place.prepare(*digests, body="![a](a.png)")
    with pytest.raises(TooManyAttachments):
        await place.prepare(*digests, "data:,x")
    assert place.left_over() == []


async def test_so_many_different_images_are_looked_for_and_told_of(place: Workplace) -> None:
    def shown(names: int, prefix: str) -> str:
        return "\n".join(f"![x]({prefix}{name})" for name in range(names))

    left = (await place.prepare(body=shown(MAX_TARGETS, "none") + shown(5, "http://x/"))).images_left

    assert len(left) == MAX_TARGETS
    with pytest.raises(TooManyImages):
        await place.prepare(body=shown(MAX_TARGETS + 1, "none"))


async def test_a_body_that_grows_past_its_bound_is_refused(place: Workplace) -> None:
    (place.code / "a").write_bytes(encoded(corner_lit(), "PNG"))

    with pytest.raises(BodyTooLong):
        await place.prepare(body="![](a)\n" * 2_000)


async def test_quoted_attachments_come_along_as_far_as_there_is_room(place: Workplace) -> None:
    (place.code / "a.txt").write_text("a")
    kept = [f"/attachments/{n:02x}/{n:02x}{'0' * 62}.webp" for n in range(25)]

    prepared = await place.prepare("a.txt", body=" ".join(f"![x]({target})" for target in [*kept, kept[0]]))

    assert prepared.quoted == tuple(kept[:19])
    assert [(left.target, left.reason.value) for left in prepared.images_left] == [
        (one, "too_many") for one in kept[19:]
    ]
