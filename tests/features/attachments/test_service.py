"""What a send brings is ready before it is stored: read, converted and on disk; or nothing is left of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest
from PIL import Image

from mcp_agent_mail.archive.attachments import AttachmentTooLarge
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.attachments import WEBP, Attachment
from mcp_agent_mail.features.attachments.image_protocol import ConvertedImage
from mcp_agent_mail.features.attachments.images import ImageConverter, ImageTooLarge, ImageUndecodable, TimeOfMessage
from mcp_agent_mail.features.attachments.service import AttachmentNotStored
from tests.features.attachments.workplace import MAX_BYTES, Workplace, open_workplace
from tests.image_samples import FORMATS, corner_lit, encoded

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path) as place:
        yield place


def picture(folder: Path, name: str = "a.png", format_: str = "PNG") -> bytes:
    content = encoded(corner_lit(), format_)
    (folder / name).write_bytes(content)
    return content


def one(items: tuple[Attachment | str, ...]) -> Attachment:
    (item,) = items
    assert isinstance(item, Attachment)
    return item


@pytest.mark.parametrize("format_", FORMATS)
async def test_an_image_becomes_webp_by_its_bytes_whatever_it_is_called(place: Workplace, format_: str) -> None:
    picture(place.code, "plot.txt", format_)

    item = one((await place.prepare("plot.txt")).items)

    kept = place.content(item)
    assert (item.media_type, item.content.extension, item.name) == (WEBP, "webp", "plot.txt")
    assert (item.width, item.height, item.is_inline, item.original) == (64, 32, True, None)
    assert kept[8:12] == b"WEBP"
    assert (item.content.sha256, item.content.bytes) == (hashlib.sha256(kept).hexdigest(), len(kept))
    assert place.left_over() == []


async def test_what_is_no_image_is_kept_as_it_is(place: Workplace) -> None:
    (place.code / "a.svg").write_bytes(SVG)
    (place.archive / "old.csv").write_bytes(b"a,b\n")

    svg, csv = (await place.prepare("a.svg", "old.csv")).items

    assert isinstance(svg, Attachment)
    assert isinstance(csv, Attachment)
    assert (place.content(svg), svg.media_type, svg.width) == (SVG, "image/svg+xml", None)
    assert (place.content(csv), csv.media_type, csv.is_inline) == (b"a,b\n", "text/csv", False)


@pytest.mark.parametrize("uri", ["data:image/png;base64,{}", "DATA:;base64,{}"])
async def test_a_data_uri_is_a_content_like_any_other(place: Workplace, uri: str) -> None:
    png = encoded(corner_lit(), "PNG")

    item = one((await place.prepare(uri.format(base64.b64encode(png).decode()), convert=False)).items)

    assert (place.content(item), item.media_type, item.name) == (png, "image/png", "attachment.png")


async def test_a_digest_is_passed_on_and_gives_way_to_the_content_itself(place: Workplace) -> None:
    (place.code / "a.txt").write_bytes(b"text")
    same, other = hashlib.sha256(b"text").hexdigest(), "0" * 64

    items = (await place.prepare(f"sha256:{same}", f"SHA256:{other.upper()}", "a.txt", f"sha256:{same}")).items

    assert [item if isinstance(item, str) else item.content.sha256 for item in items] == [same, other]
    assert isinstance(items[0], Attachment)


@pytest.mark.parametrize(
    ("policy", "setting", "convert", "converted", "inline"),
    [
        (AttachmentsPolicy.AUTO, True, None, True, True),
        (AttachmentsPolicy.AUTO, False, None, False, False),
        (AttachmentsPolicy.AUTO, False, True, True, True),
        (AttachmentsPolicy.INLINE, False, None, True, True),
        (AttachmentsPolicy.INLINE, True, False, False, False),
        (AttachmentsPolicy.FILE, False, None, True, False),
    ],
)
async def test_who_says_whether_images_are_converted_and_given_inline(
    tmp_path: Path, policy: AttachmentsPolicy, setting: bool, convert: bool | None, converted: bool, inline: bool
) -> None:
    async with open_workplace(tmp_path, converts=setting) as place:
        picture(place.code)

        item = one((await place.prepare("a.png", policy=policy, convert=convert)).items)

    assert (item.media_type == WEBP, item.is_inline) == (converted, inline)


async def test_an_image_is_inline_up_to_its_bound_and_its_original_is_kept_where_asked(tmp_path: Path) -> None:
    async with open_workplace(tmp_path, keeps_originals=True, inline_max_bytes=0) as place:
        png = picture(place.code)

        item = one((await place.prepare("a.png")).items)

        assert item.original is not None
        assert (item.is_inline, item.original.extension) == (False, "png")
        with place.files.open(item.original.sha256) as file:
            assert file.read() == png


async def test_the_same_content_is_one_attachment_of_the_first_name(place: Workplace) -> None:
    picture(place.code)
    picture(place.code, "b.png")
    picture(place.code, "c.bmp", "BMP")

    item = one((await place.prepare("a.png", "b.png", "c.bmp", body="![x](b.png)")).items)

    assert item.name == "a.png"


async def test_images_of_the_body_are_attached_and_shown_from_here(place: Workplace) -> None:
    picture(place.code, "a b.png")
    uri = "data:image/gif;base64," + base64.b64encode(encoded(Image.new("RGB", (3, 3)), "GIF")).decode()
    body = f"![x](a%20b.png 'T')\r\n`![x](a%20b.png)` ![y](<a b.png>) ![z][r]\n\n[r]: {uri}\n"

    prepared = await place.prepare(body=body)

    file, data = prepared.items
    assert isinstance(file, Attachment)
    assert isinstance(data, Attachment)
    shown = f"/{file.content.path}"
    assert (file.name, data.name, prepared.images_left) == ("a b.png", "attachment.webp", ())
    assert prepared.body_md == (
        f"![x]({shown} 'T')\r\n`![x](a%20b.png)` ![y](<{shown}>) ![z][r]\n\n[r]: /{data.content.path}\n"
    )


async def test_images_that_are_not_from_here_stay_as_they_are_and_are_told(place: Workplace) -> None:
    (place.code / "a.svg").write_bytes(SVG)
    (place.code / "huge.mp4").write_bytes(bytes(MAX_BYTES + 1))
    picture(place.elsewhere)
    long = "https://x/" + "y" * 400
    kept = f"/attachments/ab/ab{'0' * 62}.webp"
    body = "\n\n".join(
        f"![x]({target})"
        for target in (
            *(long, "//host/a.png", "sha256:ab", "none.png", "../elsewhere/a.png", "../elsewhere/none.png"),
            *("a.svg", "huge.mp4", "data:image/png;base64,===", "none.png", kept),
        )
    )

    prepared = await place.prepare(body=body)

    assert (prepared.items, prepared.body_md) == ((), body)
    assert [(left.target[:30], left.reason.value) for left in prepared.images_left] == [
        (long[:30], "remote"),
        ("//host/a.png", "remote"),
        ("sha256:ab", "by_digest"),
        ("none.png", "missing"),
        ("../elsewhere/a.png", "forbidden"),
        ("../elsewhere/none.png", "forbidden"),
        ("a.svg", "no_image"),
        ("huge.mp4", "no_image"),
        ("data:image/png;base64,===", "no_image"),
    ]
    assert max(len(left.target) for left in prepared.images_left) <= 201


async def test_an_unconverted_body_is_untouched(place: Workplace) -> None:
    picture(place.code)

    prepared = await place.prepare(body="![a](a.png) ![b](https://x)", convert=False)

    assert (prepared.items, prepared.body_md, prepared.images_left) == ((), "![a](a.png) ![b](https://x)", ())
    assert not place.kept.exists()


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ("none.txt", NotFound),
        ("../elsewhere/a.png", InvalidInput),
        ("large.bin", AttachmentTooLarge),
        (f"data:,{'a' * (MAX_BYTES + 1)}", AttachmentTooLarge),
        ("data:text/plain;base64,YQ", InvalidInput),
        ("sha256:abc", InvalidInput),
        ("broken.png", ImageUndecodable),
        ("wide.png", ImageTooLarge),
    ],
)
async def test_one_that_cannot_be_had_refuses_all_and_leaves_nothing(
    place: Workplace, last: str, error: type[Exception]
) -> None:
    picture(place.code)
    picture(place.elsewhere)
    (place.code / "large.bin").write_bytes(bytes(MAX_BYTES + 1))
    (place.code / "broken.png").write_bytes(encoded(corner_lit(), "PNG")[:60])
    (place.code / "wide.png").write_bytes(encoded(Image.new("1", (30_000, 1)), "PNG"))
    (place.code / "first.txt").write_bytes(b"first")

    with pytest.raises(error):
        await place.prepare("first.txt", "a.png", last)

    assert place.left_over() == []
    assert list(place.files.each()) == []


@pytest.mark.parametrize("name", ["large.png", "wide.png"])
async def test_an_image_of_the_body_that_passes_a_limit_refuses_the_message(place: Workplace, name: str) -> None:
    (place.code / "large.png").write_bytes(encoded(corner_lit(), "PNG") + bytes(MAX_BYTES))
    (place.code / "wide.png").write_bytes(encoded(Image.new("1", (30_000, 1)), "PNG"))

    with pytest.raises(InvalidInput):
        await place.prepare(body=f"![x]({name})")

    assert place.left_over() == []


async def test_a_disk_that_fails_is_told_as_such(place: Workplace) -> None:
    (place.code / "a.txt").write_bytes(b"text")
    place.kept.write_bytes(b"a file where the folder belongs")

    with pytest.raises(AttachmentNotStored, match="cannot be read or stored"):
        await place.prepare("a.txt")


class Noting(ImageConverter):
    """Notes in whose line each image waits."""

    lines: ClassVar[list[str]] = []

    async def convert(
        self, source: Path, target: Path, *, line: str = "", time: TimeOfMessage | None = None
    ) -> ConvertedImage:
        self.lines.append(line)
        return await super().convert(source, target, line=line, time=time)


async def test_images_wait_in_the_line_of_their_sender(tmp_path: Path) -> None:
    converter = Noting(20_000, tmp_path / "scratch")
    place = Workplace(tmp_path, converter)
    picture(place.code)
    try:
        for sender in (1, 2):
            await place.prepare("a.png", sender_id=AgentId(sender))
    finally:
        place.service.close()
        await converter.aclose()

    assert converter.lines == ["agent 1", "agent 2"]
