"""Whoever names an attachment the wrong way is told the right one."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.archive.attachments import AttachmentTooLarge
from mcp_agent_mail.core.errors import AgentMailError
from tests.features.attachments.workplace import FROM_AFAR, MAX_BYTES, Workplace, open_workplace

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(200)).decode()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path) as place:
        yield place


async def hint(place: Workplace, path: str, **changes: Any) -> str:
    with pytest.raises(AgentMailError) as refused:
        await place.prepare(path, **changes)
    return refused.value.hint


@pytest.mark.parametrize(
    ("mistake", "meant"),
    [
        ("AB" * 32, f"sha256:{'ab' * 32}"),
        (f"resource://attachment/{'ab' * 32}", f"sha256:{'ab' * 32}"),
        (f"resource://attachment/{'ab' * 32}?project=code", f"sha256:{'ab' * 32}"),
        (f"/attachments/ab/{'ab' * 32}.txt", f"sha256:{'ab' * 32}"),
        (f"../other/attachments/ab/{'ab' * 32}.webp", f"sha256:{'ab' * 32}"),
        (f"http://127.0.0.1:8765/attachments/code/{'AB' * 32}", f"sha256:{'ab' * 32}"),
        (f"https://example.org/pictures/{'ab' * 32}.png", "Download it into the project"),
        (PNG, f"data:image/png;base64,{PNG[:8]}"),
        (PNG.rstrip("=")[:264] * 30, f"data:image/png;base64,{PNG[:8]}"),
        ("A" * 5_000, "data:application/octet-stream;base64,AAAAAAAA"),
        ("C:\\Users\\ann\\a.png", "'Users/ann/a.png'"),
        ("docs\\a.png", "'docs/a.png'"),
        ("file:///code/a%20b.png", "'/code/a b.png'"),
        ("https://example.org/a.png", "Download it into the project"),
        ("/etc/hostname", "Copy the file into the project's directory, then give 'hostname'"),
        (".", "Name each of its files"),
        ("none.png", "See that it is written"),
    ],
)
async def test_what_was_meant_is_the_next_call(place: Workplace, mistake: str, meant: str) -> None:
    assert meant in await hint(place, mistake)


async def test_a_caller_elsewhere_is_told_likewise(place: Workplace) -> None:
    assert "sha256:" in await hint(place, "ab" * 32, caller=FROM_AFAR)
    assert "Send the content itself" in await hint(place, "a.png", caller=FROM_AFAR)


async def test_a_file_of_such_a_name_is_taken(place: Workplace) -> None:
    (place.code / ("ab" * 32)).write_text("x")

    assert len((await place.prepare("ab" * 32)).items) == 1


async def test_what_is_too_large_is_named_with_its_size(place: Workplace) -> None:
    (place.code / "log.txt").write_bytes(bytes(MAX_BYTES + 1))

    with pytest.raises(AttachmentTooLarge, match=r"'log\.txt': .* has 50,001\."):
        await place.prepare("log.txt")
    with pytest.raises(AttachmentTooLarge, match=r"The data: URI: .* has more"):
        await place.prepare(f"data:,{'x' * (MAX_BYTES + 1)}")


async def test_of_several_the_one_that_is_refused_is_named_and_never_by_its_bytes(place: Workplace) -> None:
    bad = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"secret" * 20).decode()
    (place.code / "bad.png").write_bytes(base64.b64decode(bad))
    (place.code / "good.txt").write_text("x")

    for arguments, named in (
        ((("good.txt", "bad.png"), ""), "'bad.png': "),
        ((("good.txt", f"data:image/png;base64,{bad}"), ""), r"The data: URI attachment_paths\[1\]: "),
        ((("good.txt", "data:image/png;base64,=="), ""), r"The data: URI attachment_paths\[1\]: "),
        ((("good.txt", f"data:,{'x' * (MAX_BYTES + 1)}"), ""), r"The data: URI attachment_paths\[1\]: "),
        (((), "![a](bad.png)"), "'bad.png': "),
        (((), f"![a](none.png) ![b](data:image/png;base64,{bad})"), "The data: URI of image 2 of the body: "),
    ):
        paths, body = arguments
        with pytest.raises(AgentMailError, match=named) as refused:
            await place.prepare(*paths, body=body)
        assert bad[:24] not in refused.value.text


async def test_an_image_of_a_reply_is_sent_unconverted_by_a_call_that_there_is(place: Workplace) -> None:
    (place.code / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))

    with pytest.raises(AgentMailError) as of_send:
        await place.prepare("bad.png")
    with pytest.raises(AgentMailError) as of_reply:
        await place.prepare("bad.png", answers=17)

    assert "Send it with convert_images=false" in of_send.value.hint
    assert "Send it by send_message with reply_to=17, convert_images=false" in of_reply.value.hint
    assert (of_send.value.data["parameter"], of_reply.value.data["parameter"]) == ("convert_images", "attachment_paths")
    many = " ".join(f"![x]({number}.png)" for number in range(101))
    assert "reply_to=17, convert_images=false" in await hint(place, "bad.png", answers=17, body=many)
