"""A body that shows an attachment by its address in archives: whether that comes along."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.features.messaging.carrying import PNG, AttachmentParts, open_carrying
from tests.features.messaging.harness import LIB


@pytest.fixture
async def carrying(tmp_path: Path) -> AsyncIterator[AttachmentParts]:
    async with open_carrying(tmp_path) as opened:
        yield opened


def payload(answer: Any) -> Any:
    return answer["deliveries"][0]["payload"]


async def test_an_image_that_a_body_quotes_comes_along_elsewhere_and_the_body_stays(
    carrying: AttachmentParts,
) -> None:
    (shot,) = (await carrying.send(carrying.path("shot.png", PNG)))["attachments"]
    body = f"> ![the screen](/{shot['path']})\r\n\r\n![again](/{shot['path']})"

    answer = await carrying.messaging.send(sender_name="RedStone", to=[f"QuietFox@{LIB}"], body_md=body)

    assert [one["sha256"] for one in answer["attachments"]] == [shot["sha256"]]
    assert "images_left" not in answer
    assert (await carrying.messaging.read(f"message/{payload(answer)['id']}"))["body_md"] == body


async def test_a_quoted_image_that_the_sender_may_not_read_is_told_and_stays(carrying: AttachmentParts) -> None:
    sent = await carrying.send(
        carrying.path("a.png", PNG), project_key=LIB, sender_name="QuietFox", to=["BlueLake"], bcc=["RedStone@code-app"]
    )
    shown = f"/{payload(sent)['attachments'][0]['path']}"
    nothing, elsewhere = f"/attachments/ab/ab{'0' * 62}.png", shown.replace(".png", ".gif")

    for sender, target in (("GreenField", shown), ("GreenField", nothing), ("RedStone", elsewhere)):
        answer = await carrying.messaging.send(sender_name=sender, to=["BlueLake"], body_md=f"![a]({target})")

        assert answer["images_left"] == [{"target": target, "reason": "unreadable"}]
        assert "attachments" not in answer
