"""A sender of images that want the converter's memory, its time, or its end: each is judged, and the next converted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from mcp_agent_mail.features.attachments.image_protocol import MEMORY_BYTES, ConvertedImage
from mcp_agent_mail.features.attachments.images import CHILDREN, ImageConverter, ImageTooCostly, UnfitImage
from tests.attack.hostile_images import is_webp, long_images, quick_images
from tests.image_samples import corner_lit, encoded
from tests.served import pause

MAX_PIXELS = 40_000_000
HARMLESS = {
    "PNG, rows that never end": (1, 1, 1),
    "GIF of 10,000 frames": (4, 4, 10_000),
    "WebP, 10,000 small frames": (16, 16, 10_000),
    "WebP, metadata said and not there": (16, 16, 1),
    "TIFF, directory that leads to itself": (1, 1, 1),
    "JPEG, 60 segments of nothing": (64, 32, 1),
    "JPEG, EXIF that leads to itself": (64, 32, 1),
    "JPEG, EXIF of 65,535 entries": (64, 32, 1),
    "JPEG, second picture that is not there": (64, 32, 1),
}
"""What can be shown all the same: width, height, frames. Of all others nothing is kept, but of fuzzed ones."""
TOO_LONG = {"GIF of 300,000 frames", "TIFF, 100,000 pages in a ring", "JPEG of 2,000 scans"}
LARGE = {"PNG of 39 million opaque pixels"}
"""As large as may be, and no attack. (On a slow machine others of this size take too long.)"""
MOST_GROWTH_MIB = 16
"""Of the process that asks: it passes lines on."""


def judged(name: str, outcome: ConvertedImage | UnfitImage, target: Path) -> str | None:
    """What is wrong with the outcome; None for what is as it should be."""
    if isinstance(outcome, UnfitImage):
        return f"{name}: {outcome}" if name in HARMLESS or "convert_images=false" not in outcome.hint else None
    shown = (outcome.width, outcome.height, outcome.frames)
    if not is_webp(target.read_bytes()):
        return f"{name}: no WebP"
    return None if HARMLESS.get(name) == shown or "fuzzed" in name else f"{name}: {shown}"


async def outcome_of(converter: ImageConverter, source: Path, target: Path) -> ConvertedImage | UnfitImage:
    try:
        return await converter.convert(source, target)
    except UnfitImage as refused:
        return refused


def put(folder: Path, images: Iterable[tuple[str, bytes]]) -> list[tuple[str, Path]]:
    """Each as a file, with its name."""
    files = []
    for number, (name, content) in enumerate(images):
        path = folder / str(number)
        path.write_bytes(content)
        files.append((name, path))
    return files


async def test_no_hostile_image_gets_through_and_none_costs_the_next(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    images = put(tmp_path, quick_images())
    wrong = []
    converter = ImageConverter(MAX_PIXELS, tmp_path / "scratch")
    try:
        for name, source in images:
            target = source.with_suffix(".webp")
            wrong.append(judged(name, await outcome_of(converter, source, target), target))
        assert [fault for fault in wrong if fault] == []
        (tmp_path / "good").write_bytes(encoded(corner_lit(), "PNG"))
        good = await converter.convert(tmp_path / "good", tmp_path / "good.webp")
        assert good == ConvertedImage(width=64, height=32, frames=1)
    finally:
        await converter.aclose()

    assert len(images) >= 100
    record_property("cases", len(images))


def memory_mib(pid: int | str, what: str) -> float:
    """A figure of /proc/PID/status; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:")), 0.0)


def memory_from_here_mib() -> float:
    """What this process has now, from which on its peak counts."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_mib("self", "VmHWM")


async def watched(converter: ImageConverter, peaks: dict[int, float]) -> None:
    """Note the most address space that each child has had, until cancelled."""
    while True:
        for pid in converter.pids():
            peaks[pid] = max(peaks.get(pid, 0.0), memory_mib(pid, "VmPeak"))
        await asyncio.to_thread(pause)


@pytest.mark.slow
async def test_nothing_takes_more_than_its_memory_and_its_time(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    images = put(tmp_path, [*long_images(), *quick_images()])
    converter = ImageConverter(MAX_PIXELS, tmp_path / "scratch")
    peaks: dict[int, float] = {}
    outcomes: dict[str, ConvertedImage | UnfitImage] = {}
    left = iter(images)

    async def send() -> None:
        for name, source in left:
            outcomes[name] = await outcome_of(converter, source, source.with_suffix(".webp"))

    before = memory_from_here_mib()
    watcher = asyncio.create_task(watched(converter, peaks))
    try:
        await asyncio.gather(*(send() for _ in range(CHILDREN)))
    finally:
        watcher.cancel()
        await converter.aclose()
    grown = memory_mib("self", "VmHWM") - before
    record_property("figures", f"a child's peak {max(peaks.values()):.0f} MiB, our growth {grown:.1f} MiB")

    assert len(outcomes) == len(images)
    assert {name for name in TOO_LONG if not isinstance(outcomes[name], ImageTooCostly)} == set()
    assert {name for name in LARGE if not isinstance(outcomes[name], ConvertedImage)} == set()
    assert max(peaks.values()) <= MEMORY_BYTES >> 20
    assert grown < MOST_GROWTH_MIB
