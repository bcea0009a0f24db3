"""What a refused call brought goes, unless another call keeps it, or kept it before."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random

import pytest

from mcp_agent_mail.archive.attachments import AttachmentFiles, StagedContent
from mcp_agent_mail.features.attachments.recent_contents import RecentContents

CALLS = 6
ROUNDS = 25


@pytest.fixture
def files(tmp_path: Path) -> AttachmentFiles:
    return AttachmentFiles(tmp_path / "attachments")


def kept(files: AttachmentFiles, pending: RecentContents) -> str:
    """The digest of a content that a call keeps."""
    staged = files.stage([b"content"], 100)
    pending.begin(staged.sha256)
    files.keep(staged)
    return staged.sha256


@pytest.mark.parametrize("is_carried", [False, True])
def test_what_no_mail_carries_goes_with_its_call(files: AttachmentFiles, *, is_carried: bool) -> None:
    pending = RecentContents(files)
    sha256 = kept(files, pending)

    pending.end(sha256, is_carried=is_carried)

    assert (files.size(sha256) is not None) is is_carried


def test_what_was_there_before_stays(files: AttachmentFiles) -> None:
    files.keep(files.stage([b"content"], 100))
    pending = RecentContents(files)
    sha256 = kept(files, pending)

    pending.end(sha256, is_carried=False)

    assert files.size(sha256) is not None


def test_the_last_of_those_that_keep_it_takes_it_away(files: AttachmentFiles) -> None:
    pending = RecentContents(files)
    sha256 = kept(files, pending)
    kept(files, pending)

    pending.end(sha256, is_carried=False)
    between = files.size(sha256)
    pending.end(sha256, is_carried=False)

    assert (between, files.size(sha256)) == (7, None)


def test_calls_that_race_leave_it_where_one_of_them_stored_its_mail(files: AttachmentFiles) -> None:
    pending = RecentContents(files)
    random = Random(1)  # the same races each time
    lost = []

    def call(staged: StagedContent, carried: set[str], *, stores: bool, start: threading.Barrier) -> None:
        start.wait()
        pending.begin(staged.sha256)
        files.keep(staged)
        if stores:
            carried.add(staged.sha256)
        pending.end(staged.sha256, is_carried=staged.sha256 in carried)
        if stores and files.size(staged.sha256) is None:
            lost.append(staged.sha256)

    for number in range(ROUNDS):
        carried: set[str] = set()
        start = threading.Barrier(CALLS)
        contents = [files.stage([b"%d" % number], 100) for _ in range(CALLS)]
        threads = [
            threading.Thread(
                target=call, args=(staged, carried), kwargs={"stores": random.random() < 0.2, "start": start}
            )
            for staged in contents
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (files.size(contents[0].sha256) is not None) is bool(carried)

    assert lost == []
