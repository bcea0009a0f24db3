"""Disks that are full or failing while mail with attachments is sent and archived: what callers see, what is kept."""

from __future__ import annotations

import errno
import os
from base64 import b64encode
from pathlib import Path
from random import Random

import pytest
from PIL import Image

from mcp_agent_mail.core.failpoints import FailPoint
from tests.archive_harness import git
from tests.faults.disks import fill_disk, small_disk
from tests.faults.harness import Harness, harness
from tests.image_samples import encoded

KIB = 1_024


def data_uri(size: int) -> str:
    content = Random(size).randbytes(size)
    return f"data:application/octet-stream;base64,{b64encode(content).decode()}"


def swelling_image() -> str:
    """Few colours make a small PNG, and what lies between them a larger WebP."""
    noise = Image.frombytes("P", (320, 320), bytes(Random(1).choices(range(4), k=320 * 320)))
    noise.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 255, 255, 255])
    return f"data:image/png;base64,{b64encode(encoded(noise, 'PNG', bits=2)).decode()}"


def files_of(home: Harness) -> list[Path]:
    """Below `attachments/`, less what is no content."""
    return [path for path in (home.root / "attachments").rglob("*") if path.is_file() and len(path.name) >= 32]


async def test_an_image_that_finds_no_room_to_be_converted_is_refused_for_a_while(tmp_path: Path) -> None:
    with small_disk(tmp_path / "store" / "attachments", size_kib=512) as disk:
        async with harness(tmp_path / "store") as home:
            ballast = fill_disk(disk)
            os.truncate(ballast, ballast.stat().st_size - 40 * KIB)
            refusal = await home.refused_send("A picture", attachment_paths=[swelling_image()])
            left = files_of(home)
            ballast.unlink()

            await home.send("A picture", attachment_paths=[swelling_image()])

            assert (refusal.code, refusal.data["retry_after_s"]) == ("UNAVAILABLE", 30)
            assert "disk is full" in (refusal.hint or "")
            assert left == []
            await home.require_nothing_lost()


@pytest.mark.parametrize("point", [FailPoint.CONTENT_STAGED, FailPoint.CONTENT_NAMED])
@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EIO])
async def test_a_disk_that_fails_while_a_content_is_kept_keeps_no_mail(
    failure: int, point: FailPoint, tmp_path: Path
) -> None:
    fails = True

    def fail(reached: FailPoint) -> None:
        if fails and reached is point:
            raise OSError(failure, os.strerror(failure))

    async with harness(tmp_path, fault_hook=fail) as home:
        refusal = await home.refused_send("With a note", attachment_paths=[data_uri(KIB)])
        plain = await home.send("Plain")
        fails = False
        after = await home.send("With a note", attachment_paths=[data_uri(KIB)])

        assert (refusal.code, refusal.data["retry_after_s"]) == ("UNAVAILABLE", 30)
        assert os.strerror(failure) in refusal.message
        assert await home.inbox() == [plain, after]
        assert len(files_of(home)) == 1
        await home.require_nothing_lost()


async def test_a_full_archive_disk_takes_attachments_once_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "store" / "projects", size_kib=2_048) as disk:
        async with harness(tmp_path / "store") as home:
            await home.send("Before")
            await home.until_archived()
            ballast = fill_disk(disk)

            await home.send("While full", attachment_paths=[data_uri(100 * KIB)])
            await home.until_archive_says("Free some space on the disk of the archives.")
            inbox = await home.inbox()
            ballast.unlink()

            assert inbox == home.sent
            await home.require_nothing_lost()
            assert len(git(home.archive, "ls-tree", "-r", "--name-only", "main", "attachments/").splitlines()) == 1
