from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.domain.importing.steps import ContentStep
from mcp_agent_mail.features.importing.contents import MOST_OPEN, BrokenContent, ImportedContents

CONTENT = b"one and two"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def contents(folder: Path, most: int = 100) -> ImportedContents:
    return ImportedContents(AttachmentFiles(folder / "attachments"), most, require_room=lambda _: None)


def piece(offset: int, text: bytes, *, is_last: bool = False, sha256: str = SHA256) -> ContentStep:
    return ContentStep(sha256=sha256, offset=offset, piece=text, is_last=is_last)


async def test_it_is_there_once_its_last_piece_has_come(tmp_path: Path) -> None:
    arriving = contents(tmp_path)

    await arriving.add(piece(0, CONTENT[:4]))
    before = await arriving.lacking([SHA256])
    await arriving.add(piece(4, CONTENT[4:], is_last=True))

    assert (before, await arriving.lacking([SHA256])) == ([SHA256], [])
    ready = (await arriving.ready([SHA256]))[SHA256]
    assert (ready.content.bytes, ready.content.extension) == (len(CONTENT), "txt")


@pytest.mark.parametrize(
    "steps",
    [
        [piece(4, CONTENT)],
        [piece(0, CONTENT[:4]), piece(5, CONTENT[5:], is_last=True)],
        [piece(0, CONTENT[:4], is_last=True)],
        [piece(0, b"x" * 101, is_last=True)],
        [piece(0, b"x" * 60), piece(60, b"x" * 60)],
    ],
)
async def test_what_is_not_whole_or_too_much_is_not_kept(tmp_path: Path, steps: list[ContentStep]) -> None:
    arriving = contents(tmp_path)

    for step in steps[:-1]:
        await arriving.add(step)
    with pytest.raises(BrokenContent):
        await arriving.add(steps[-1])

    assert await arriving.lacking([SHA256]) == [SHA256]


async def test_of_many_that_are_begun_the_first_is_let_go(tmp_path: Path) -> None:
    arriving = contents(tmp_path)
    await arriving.add(piece(0, CONTENT[:4]))
    for number in range(MOST_OPEN):
        await arriving.add(piece(0, b"x", sha256=f"{number:064d}"))

    with pytest.raises(BrokenContent) as refused:
        await arriving.add(piece(4, CONTENT[4:], is_last=True))

    assert refused.value.hint == "Start the import again: it goes on where it was."
