"""Small disks that can be full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, *, size_kib: int) -> Iterator[Path]:
    """A file system of its own at `place`; the test is skipped, loudly, where this user may not mount one."""
    place.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k,mode=700", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("SKIPPED: no `mount` here, so no small disk")
    if done.returncode:
        pytest.skip(f"SKIPPED: no small disk without the right to mount one: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill_disk(place: Path) -> Path:
    """Write until the kernel says ENOSPC; removing the file gives the room back."""
    ballast = place / "ballast"
    for size in (65_536, 512):
        with ballast.open("ab", buffering=0) as file, suppress(OSError):
            while file.write(b"\0" * size) == size:
                pass
    return ballast


def require_mounts() -> None:
    """Of a test of what is mounted: without the right to mount, which only root can have, it is skipped, loudly."""
    if os.geteuid():
        pytest.skip("SKIPPED: nothing is mounted read-only by who is not root")


@contextmanager
def read_only(place: Path) -> Iterator[Path]:
    """The folder or file `place`, which can only be read meanwhile, by whoever runs the tests; skipped as above."""
    if os.geteuid():
        below = [place, *place.rglob("*")] if place.is_dir() else [place]
        modes = {one: one.stat().st_mode for one in below}
        for one, mode in modes.items():
            one.chmod(mode & 0o555)
        try:
            yield place
        finally:
            for one, mode in modes.items():
                one.chmod(mode)
        return
    done = subprocess.run(["mount", "--bind", str(place), str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"SKIPPED: nothing read-only without the right to mount it: {done.stderr.strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
