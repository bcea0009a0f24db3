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
