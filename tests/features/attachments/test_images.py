"""The converter with its real children: bounded, replaced, ended, and nobody's place is lost."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from PIL import Image

from mcp_agent_mail.core.concurrency.turns import TooMuchAtOnce
from mcp_agent_mail.features.attachments import images
from mcp_agent_mail.features.attachments.image_protocol import ConvertedImage
from mcp_agent_mail.features.attachments.images import (
    CHILDREN,
    MESSAGE_WITHIN_S,
    ConverterLimits,
    ImageConverter,
    ImageConverterFailed,
    ImageConverterSilent,
    ImageTooCostly,
    ImageTooLarge,
    ImageUndecodable,
    TimeOfMessage,
    UnfitImage,
)
from tests.image_samples import corner_lit, encoded
from tests.served import pause

AUTOGROUPS = Path("/proc/sys/kernel/sched_autogroup_enabled")

MAX_PIXELS = 20_000
LIMIT_S = 60.0
SMALL = ConvertedImage(width=64, height=32, frames=1)
IN_FORCE = ConverterLimits(within_s=LIMIT_S)


class Room:
    """A folder with images, and one that never ends: a FIFO that nobody writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.small = self.put("small.png", encoded(corner_lit(), "PNG"))
        self.endless = path / "endless"
        self._targets = 0
        os.mkfifo(self.endless)

    def put(self, name: str, content: bytes) -> Path:
        path = self.path / name
        path.write_bytes(content)
        return path

    def target(self) -> Path:
        self._targets += 1
        return self.path / f"{self._targets}.webp"


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@asynccontextmanager
async def opened(
    room: Room, limits: ConverterLimits = IN_FORCE, max_pixels: int = MAX_PIXELS
) -> AsyncIterator[ImageConverter]:
    converter = ImageConverter(max_pixels, room.path / "scratch", limits=limits)
    try:
        yield converter
    finally:
        await converter.aclose()
        assert converter.pids() == []


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not is_true():
            await asyncio.to_thread(pause)


def look_at(pid: int) -> tuple[bytes, list[Path]]:
    """A process: its environment, and the sockets that it has."""
    folder = Path(f"/proc/{pid}")
    files = [link.readlink() for link in (folder / "fd").iterdir()]
    return (folder / "environ").read_bytes(), [path for path in files if path.name.startswith("socket:")]


def niceness_of(pid: int) -> tuple[int, int]:
    """Of the process, and of its session (Linux)."""
    return os.getpriority(os.PRIO_PROCESS, pid), int(Path(f"/proc/{pid}/autogroup").read_text().split()[-1])


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def at_work(converter: ImageConverter, room: Room, count: int = 1) -> list[asyncio.Task[ConvertedImage]]:
    """Conversions that never end, each in a child of its own."""
    tasks = [asyncio.create_task(converter.convert(room.endless, room.target())) for _ in range(count)]
    await until(lambda: len(converter.busy()) == count)
    return tasks


async def test_no_child_before_the_first_image_and_one_for_one_after_the_other(room: Room) -> None:
    async with opened(room) as converter:
        assert converter.pids() == []
        target = room.target()
        assert await converter.convert(room.small, target) == SMALL
        with Image.open(target) as image:
            assert (image.format, image.size) == ("WEBP", (64, 32))
        (pid,) = converter.pids()
        assert await converter.convert(room.small, room.target()) == SMALL
        assert converter.pids() == [pid]

    assert not is_there(pid)


async def test_paths_count_from_where_the_server_is(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(room.path)
    async with opened(room) as converter:
        await converter.convert(Path(room.small.name), Path("here.webp"))

    assert (room.path / "here.webp").exists()


@pytest.mark.parametrize(
    ("content", "refusal", "words"),
    [
        (b"GIF89a", ImageUndecodable, "damaged"),
        (encoded(Image.new("L", (200, 101)), "PNG"), ImageTooLarge, "20,200 pixels"),
        (encoded(Image.new("L", (16_384, 1)), "PNG"), ImageTooLarge, "16,384"),
    ],
    ids=["damaged", "pixels", "side"],
)
async def test_an_image_that_is_refused_names_the_way_out_and_costs_no_child(
    content: bytes, refusal: type[UnfitImage], words: str, room: Room
) -> None:
    async with opened(room) as converter:
        await converter.convert(room.small, room.target())
        before = converter.pids()
        with pytest.raises(refusal, match=words) as refused:
            await converter.convert(room.put("odd", content), room.target())
        assert await converter.convert(room.small, room.target()) == SMALL
        assert converter.pids() == before

    assert refused.value.code == "INVALID_INPUT"
    assert "convert_images=false" in refused.value.hint


async def test_an_image_that_needs_too_much_memory_costs_its_child(room: Room) -> None:
    vast = room.put("vast.png", encoded(Image.new("1", (16_000, 16_000)), "PNG"))
    async with opened(room, max_pixels=1_000_000_000) as converter:
        await converter.convert(room.small, room.target())
        before = converter.pids()
        with pytest.raises(ImageTooCostly, match="512 MiB") as refused:
            await converter.convert(vast, room.target())
        assert await converter.convert(room.small, room.target()) == SMALL
        assert converter.pids() != before

    assert "convert_images=false" in refused.value.hint


async def test_a_file_that_is_gone_is_no_fault_of_the_image(room: Room) -> None:
    async with opened(room) as converter:
        with pytest.raises(ImageConverterFailed, match="No such file"):
            await converter.convert(room.path / "gone", room.target())


async def test_who_is_late_is_ended_and_the_next_has_another(room: Room) -> None:
    async with opened(room, ConverterLimits(within_s=0.05)) as converter:
        with pytest.raises(ImageTooCostly, match=r"longer than 0\.05 s") as refused:
            await converter.convert(room.endless, room.target())
        assert converter.pids() == []
        assert "convert_images=false" in refused.value.hint


async def test_two_work_at_once_others_wait_and_too_many_are_told_when(room: Room) -> None:
    async with opened(room, ConverterLimits(within_s=LIMIT_S, waiting=3)) as converter:
        endless = await at_work(converter, room, CHILDREN)
        waiting = [asyncio.create_task(converter.convert(room.small, room.target())) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(TooMuchAtOnce) as refused:
            await converter.convert(room.small, room.target())
        assert refused.value.code == "UNAVAILABLE"
        assert refused.value.data["retry_after_s"] >= 1
        assert len(converter.pids()) == CHILDREN

        endless[0].cancel()

        assert await asyncio.gather(*waiting) == [SMALL] * 3
        assert len(converter.pids()) == CHILDREN
        endless[1].cancel()
        assert [type(end) for end in await asyncio.gather(*endless, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 2


async def test_who_fills_its_own_line_leaves_places_for_others(room: Room) -> None:
    async with opened(room, ConverterLimits(within_s=LIMIT_S, waiting=4, waiting_each=3)) as converter:
        endless = await at_work(converter, room, CHILDREN)
        many = [asyncio.create_task(converter.convert(room.small, room.target(), line="many")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(TooMuchAtOnce):
            await converter.convert(room.small, room.target(), line="many")
        one = asyncio.create_task(converter.convert(room.small, room.target(), line="one"))
        await asyncio.sleep(0)

        endless[0].cancel()

        assert await one == SMALL
        assert not all(task.done() for task in many)
        assert await asyncio.gather(*many) == [SMALL] * 3
        endless[1].cancel()
        await asyncio.gather(*endless, return_exceptions=True)


async def test_who_waits_too_long_is_told(room: Room) -> None:
    async with opened(room, ConverterLimits(within_s=LIMIT_S, wait_within_s=0.01)) as converter:
        endless = await at_work(converter, room, CHILDREN)
        with pytest.raises(TooMuchAtOnce):
            await converter.convert(room.small, room.target())
        for task in endless:
            task.cancel()
        await asyncio.gather(*endless, return_exceptions=True)


async def test_a_cancelled_caller_frees_its_place_and_its_child_ends(room: Room) -> None:
    async with opened(room) as converter:
        for _ in range(2 * CHILDREN):
            (task,) = await at_work(converter, room)
            (pid,) = converter.pids()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not is_there(pid)
            assert converter.pids() == []
        assert await converter.convert(room.small, room.target()) == SMALL


async def test_children_that_were_killed_while_idle_are_replaced(room: Room) -> None:
    async with opened(room) as converter:
        await asyncio.gather(*(converter.convert(room.small, room.target()) for _ in range(CHILDREN)))
        before = converter.pids()
        assert len(before) == CHILDREN
        for pid in before:
            os.kill(pid, signal.SIGKILL)

        assert await converter.convert(room.small, room.target()) == SMALL

        assert set(converter.pids()) - set(before)


def test_so_they_are_on_the_event_loop_of_the_server(room: Room) -> None:
    """uvloop refuses to write to a pipe that is closed, where asyncio takes it."""

    async def killed_while_idle() -> None:
        async with opened(room) as converter:
            await converter.convert(room.small, room.target())
            for pid in converter.pids():
                os.kill(pid, signal.SIGKILL)
            await until(lambda: converter.pids() == [])

            assert await converter.convert(room.small, room.target()) == SMALL

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(killed_while_idle())


async def test_an_image_is_tried_again_when_its_child_is_killed_but_not_for_ever(room: Room) -> None:
    async with opened(room) as converter:
        (task,) = await at_work(converter, room)
        (first,) = converter.pids()
        os.kill(first, signal.SIGKILL)
        await until(lambda: converter.busy() not in ([], [first]))
        (second,) = converter.pids()
        os.kill(second, signal.SIGKILL)

        with pytest.raises(ImageTooCostly, match="twice"):
            await task
        assert await converter.convert(room.small, room.target()) == SMALL


async def test_a_child_that_says_something_else_is_ended(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    command = list(images._COMMAND)
    babble = "print('ready', flush=True); input(); print('x' * 200_000, flush=True); input()"
    monkeypatch.setattr(images, "_COMMAND", (command[0], "-c", babble))
    async with opened(room) as converter:
        with pytest.raises(ImageTooCostly, match="twice"):
            await converter.convert(room.small, room.target())
        assert converter.pids() == []


@pytest.mark.parametrize(
    "command",
    [
        ("/gone/python",),
        ("/bin/false",),
        ("/bin/echo", "odd"),
        ("/bin/echo", "long" * 30_000),
        ("/bin/sleep", "1000", "--"),
    ],
)
async def test_a_child_that_does_not_start_is_told_and_tried_again(
    command: tuple[str, ...], room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits = ConverterLimits(start_within_s=0.05 if "sleep" in command[0] else LIMIT_S)
    async with opened(room, limits) as converter:
        with monkeypatch.context() as broken:
            broken.setattr(images, "_COMMAND", command)
            with pytest.raises(ImageConverterSilent, match="does not start") as refused:
                await converter.convert(room.small, room.target())
        assert refused.value.data["retry_after_s"] == 5
        assert "does not start" in caplog.text
        assert converter.pids() == []


async def test_an_idle_child_ends(room: Room) -> None:
    async with opened(room, ConverterLimits(within_s=LIMIT_S, idle_s=0.01)) as converter:
        await converter.convert(room.small, room.target())
        await until(lambda: converter.pids() == [])
        assert await converter.convert(room.small, room.target()) == SMALL


async def test_a_child_that_works_again_is_idle_no_more(room: Room) -> None:
    idle_s = 0.5
    loop = asyncio.get_running_loop()
    raised: list[object] = []
    loop.set_exception_handler(lambda _, context: raised.append(context))
    async with opened(room, ConverterLimits(within_s=LIMIT_S, idle_s=idle_s)) as converter:
        await converter.convert(room.small, room.target())
        pids = converter.pids()
        (task,) = await at_work(converter, room)
        assert converter.busy() == pids
        over = asyncio.Event()
        loop.call_later(idle_s, over.set)  # Later than the timer of the child that was idle.
        await over.wait()

        assert converter.busy() == pids
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert raised == []


async def test_a_stop_ends_who_works_and_refuses_who_comes(room: Room) -> None:
    async with opened(room) as converter:
        endless = await at_work(converter, room, CHILDREN)
        waiting = asyncio.create_task(converter.convert(room.small, room.target()))
        await asyncio.sleep(0)
        pids = converter.pids()

        await converter.aclose()

        assert [pid for pid in pids if is_there(pid)] == []
        for ended in await asyncio.gather(*endless, waiting, return_exceptions=True):
            assert isinstance(ended, ImageConverterFailed)
            assert "stopping" in str(ended)
        with pytest.raises(ImageConverterFailed, match="stopping"):
            await converter.convert(room.small, room.target())


async def test_the_children_know_no_secret(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_BEARER_TOKEN", "s3cret")
    async with opened(room) as converter:
        await converter.convert(room.small, room.target())
        (pid,) = converter.pids()
        environment, sockets = look_at(pid)

    assert b"PATH=" in environment
    assert b"s3cret" not in environment
    assert sockets == []


@pytest.mark.skipif(not AUTOGROUPS.exists() or AUTOGROUPS.read_text() != "1\n", reason="no groups of sessions here")
async def test_the_children_leave_the_processor_to_others_as_a_session_too(room: Room) -> None:
    async with opened(room) as converter:
        await converter.convert(room.small, room.target())
        assert [niceness_of(pid) for pid in converter.pids()] == [(10, 10)]


async def test_the_images_of_one_message_have_so_much_of_the_children_together(room: Room) -> None:
    async with opened(room) as converter:
        time = TimeOfMessage()
        await converter.convert(room.small, room.target(), time=time)
        assert 0 < time.left_s < MESSAGE_WITHIN_S
        time.left_s = 0.05
        with pytest.raises(ImageTooCostly, match="images of the message"):
            await converter.convert(room.endless, room.target(), time=time)
        with pytest.raises(ImageTooCostly, match="images of the message"):
            await converter.convert(room.small, room.target(), time=time)
