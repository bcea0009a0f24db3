from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.features.messaging.contents import ContentLost
from tests.features.messaging.carrying import (
    PNG,
    AttachmentParts,
    caller_of,
    digest_of,
    open_carrying,
    readable,
    refused_digest,
)
from tests.features.messaging.harness import LIB, refused_send
from tests.features.samples import OPEN


@pytest.fixture
async def carrying(tmp_path: Path) -> AsyncIterator[AttachmentParts]:
    async with open_carrying(tmp_path) as opened:
        yield opened


def payload(answer: Any) -> Any:
    return answer["deliveries"][0]["payload"]


async def test_what_one_may_read_can_be_sent_on_by_its_digest_under_the_name_that_it_has(
    carrying: AttachmentParts,
) -> None:
    await carrying.send(carrying.path("notes.txt"))
    del carrying.sources.files["notes.txt"]

    answer = await carrying.send(f"sha256:{digest_of(b'text').upper()}", sender_name="RedStone", to=["GreenField"])

    assert [(one["name"], one["type"]) for one in answer["attachments"]] == [("notes.txt", "file")]


async def test_an_original_sent_on_stands_for_itself(carrying: AttachmentParts) -> None:
    webp = b"RIFF0000WEBPsmall"
    carrying.sources.originals[carrying.path("shot.png", webp, inline=True)] = PNG
    first = await carrying.send("shot.png")

    answer = await carrying.send(f"sha256:{digest_of(PNG)}")

    assert first["attachments"][0]["original_path"].endswith(f"{digest_of(PNG)}.png")
    (shown,) = answer["attachments"]
    assert (shown["sha256"], shown["media_type"], shown["type"]) == (digest_of(PNG), "image/png", "file")
    assert "original_path" not in shown


async def test_a_sender_that_sends_files_alone_sends_none_on_inline(carrying: AttachmentParts) -> None:
    await carrying.send(carrying.path("a.png", PNG, inline=True))
    red = carrying.messaging.seeded.red
    await carrying.messaging.seeded.store.write(
        lambda tx: tx.agents.update_profile(
            red.id,
            program="p",
            model="m",
            task_description="",
            attachments_policy=AttachmentsPolicy.FILE,
            now=tx.now,
        )
    )

    by_digest = f"sha256:{digest_of(PNG)}"
    of_blue = await carrying.send(by_digest)
    of_red = await carrying.send(by_digest, sender_name="RedStone", to=["GreenField"])

    assert (of_blue["attachments"][0]["type"], of_red["attachments"][0]["type"]) == ("inline", "file")


async def test_a_digest_of_mail_that_the_sender_may_not_read_is_as_unknown_as_one_that_is_nowhere(
    carrying: AttachmentParts,
) -> None:
    nowhere = await refused_digest(carrying)
    await carrying.send(carrying.path("notes.txt"))

    elsewhere = await refused_digest(carrying, project_key=LIB, sender_name="QuietFox", to=["BlueLake"])

    assert (elsewhere.code, elsewhere.text, elsewhere.data) == ("NOT_FOUND", nowhere.text, nowhere.data)


async def test_a_blind_copys_content_is_its_recipients_to_send_on(carrying: AttachmentParts) -> None:
    await carrying.send(
        carrying.path("notes.txt"), project_key=LIB, sender_name="QuietFox", to=["BlueLake"], bcc=["RedStone@code-app"]
    )
    by_digest = f"sha256:{digest_of(b'text')}"

    assert (await refused_digest(carrying, sender_name="GreenField")).code == "NOT_FOUND"
    assert (await carrying.send(by_digest, sender_name="RedStone", to=["BlueLake"]))["count"] == 1


async def test_a_content_that_others_send_on_in_private_stays_known_to_who_may_read_it(
    carrying: AttachmentParts,
) -> None:
    await carrying.send(carrying.path("notes.txt"))
    for _ in range(3):
        await carrying.send("notes.txt", project_key=LIB, sender_name="QuietFox", to=["BlueLake"])
    green = await caller_of(carrying.messaging, "GreenField")
    assert await readable(carrying, green)
    assert await readable(carrying, OPEN, "code-app")
    by_digest = f"sha256:{digest_of(b'text')}"

    assert (await carrying.send(by_digest, sender_name="GreenField", to=["RedStone"]))["count"] == 1


async def test_a_content_that_is_gone_is_not_sent_on_by_its_digest(carrying: AttachmentParts) -> None:
    by_digest = f"sha256:{digest_of(b'text')}"
    await carrying.send(carrying.path("notes.txt"))
    content = carrying.sources.shelf.folder / digest_of(b"text")
    content.write_bytes(b"tex")
    cut = await refused_send(carrying.messaging, attachment_paths=[by_digest])
    content.unlink()
    gone = await refused_send(carrying.messaging, attachment_paths=[by_digest])

    assert (cut.code, gone.code, "am doctor repair" in gone.hint) == ("UNAVAILABLE", "UNAVAILABLE", True)


@pytest.mark.parametrize("harm", ["gone", "other bytes", "shorter"])
async def test_what_is_lost_or_damaged_is_not_sent_on_and_the_file_itself_can_be(
    carrying: AttachmentParts, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    await carrying.send(carrying.path("a.txt"))
    kept = carrying.sources.shelf.folder / digest_of(b"text")
    if harm == "gone":
        kept.unlink()
    else:
        kept.write_bytes(b"TEXT" if harm == "other bytes" else b"tex")

    with caplog.at_level("ERROR", "mcp_agent_mail.contents"):
        refused = await refused_digest(carrying)

    assert (type(refused), refused.data) == (ContentLost, {"sha256": digest_of(b"text")})
    assert len(caplog.records) == 1
    await carrying.send("a.txt")
    assert await carrying.send(f"sha256:{digest_of(b'text')}")
