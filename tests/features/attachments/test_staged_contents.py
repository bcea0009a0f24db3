"""What one call has staged goes together, whoever comes late."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.errors import QuotaExceeded
from mcp_agent_mail.features.attachments.recent_contents import RecentContents
from mcp_agent_mail.features.attachments.staged_contents import ContentPlace, StagedContents
from mcp_agent_mail.features.attachments.staged_limit import StagedLimit, TooMuchStaged


def room_in(folder: Path, *, staged_bytes: int = 1_000) -> ContentPlace:
    files = AttachmentFiles(folder)
    budget = StagedLimit(staged_bytes)
    return ContentPlace(files=files, max_bytes=100, budget=budget, pending=RecentContents(files))


def in_room(room: ContentPlace, most: int = 1_000) -> StagedContents:
    def require_room(more_bytes: int) -> None:
        if more_bytes > most:
            raise QuotaExceeded(f"{more_bytes} bytes are too many.")

    return StagedContents(room, require_room)


def left(folder: Path) -> int:
    return len(list((folder / "staged").iterdir()))


def test_what_is_not_kept_is_discarded_with_what_was_made_of_it(tmp_path: Path) -> None:
    contents = in_room(room_in(tmp_path))
    kept, dropped = contents.stage([b"kept"]), contents.stage([b"dropped"])
    contents.place_beside(dropped).write_bytes(b"made")

    stored = contents.keep([kept])

    assert stored[kept.sha256].bytes == 4
    assert left(tmp_path) == 0
    assert not contents.end()


def test_whoever_stages_after_the_end_leaves_nothing(tmp_path: Path) -> None:
    contents = in_room(room_in(tmp_path))
    contents.stage([b"early"])

    assert contents.end()
    contents.stage([b"late"])

    assert left(tmp_path) == 0


def test_what_is_not_carried_in_the_end_is_gone_and_what_is_stays(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    contents = in_room(room)
    stored, refused = contents.stage([b"stored"]), contents.stage([b"refused"])
    contents.keep([stored, refused])

    assert contents.pending() == [stored.sha256, refused.sha256]
    contents.settle([stored.sha256])

    assert [kept.sha256 for kept in room.files.each()] == [stored.sha256]


def test_room_is_asked_for_what_is_new_before_it_is_kept(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    first = in_room(room)
    first.keep([first.stage([b"there"])])
    second = in_room(room, most=3)
    there, new = second.stage([b"there"]), second.stage([b"news"])

    second.keep([there])
    with pytest.raises(QuotaExceeded, match="4 bytes"):
        second.keep([new])

    assert [kept.sha256 for kept in room.files.each()] == [there.sha256]


@pytest.mark.parametrize("is_file", [False, True])
def test_bytes_are_counted_over_all_calls_until_they_are_kept_or_discarded(tmp_path: Path, *, is_file: bool) -> None:
    room = room_in(tmp_path / "store", staged_bytes=10)
    (tmp_path / "six").write_bytes(b"123456")
    first, second = in_room(room), in_room(room)
    first.stage([b"123456"])

    def stage() -> None:
        with (tmp_path / "six").open("rb", buffering=0) as file:
            second.stage(file.fileno() if is_file else [b"123", b"456"])

    with pytest.raises(TooMuchStaged):
        stage()
    assert left(tmp_path / "store") == 1
    second.discard_all()
    first.discard_all()
    stage()

    assert room.budget.bytes == 6
