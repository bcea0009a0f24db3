"""Images become WebP in child processes, of which there are two at most: started at need, ended when idle.

A child is one that a hostile image may fill, hold up, kill or take over, so nothing hangs on it: whoever is late or
out of memory is ended, and the next image has another.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.child_process import plain_environment
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.errors import Busy, InvalidInput, Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.attachments.image_protocol import (
    READY,
    WITHIN_S,
    ConversionAnswer,
    ConversionJob,
    ConvertedImage,
    ImageFlaw,
    RefusedImage,
    from_line,
)
from mcp_agent_mail.features.attachments.requests import AS_IT_IS

logger = logging.getLogger("mcp_agent_mail.attachments")

_COMMAND = (sys.executable, "-P", "-m", "mcp_agent_mail.image_converter")
_ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""Arenas count as address space, and one thread needs one."""

CHILDREN = 2
_DISK_AFTER_S = 30
_BACK_AFTER_S = 5
MESSAGE_WITHIN_S = 60.0
"""Of the children's time, for all images of one message."""
_TRIES = 2
"""A child may be ended from outside, and no image is blamed for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConverterLimits:
    """Seconds for one image, a child's start, a child without work, a caller's wait. `waiting` counts callers, and
    `waiting_each` those of one line.
    """

    within_s: float = WITHIN_S
    start_within_s: float = 30.0
    idle_s: float = 60.0
    waiting: int = 64
    waiting_each: int = 16
    wait_within_s: float = 60.0


@dataclass(slots=True)
class TimeOfMessage:
    """What converting all images of one message may still take of the children, in seconds."""

    left_s: float = MESSAGE_WITHIN_S


class UnfitImage(InvalidInput):
    """An image that is not converted. Without conversion its bytes can be stored."""

    def __init__(self, fact: str) -> None:
        super().__init__(
            fact,
            hint=f"Send it {AS_IT_IS}: its bytes are stored as they are then.",
            data={"parameter": "convert_images"},
        )


class ImageUndecodable(UnfitImage):
    """It begins like an image, and is none, or a damaged one."""


class ImageTooLarge(UnfitImage):
    """More pixels, in all frames together, than IMAGE_MAX_PIXELS; or a longer side than WebP has."""


class ImageTooCostly(UnfitImage):
    """Converting it takes more time or memory than one image may take, or more time than all of its message may."""


class ImageConverterFailed(Busy):
    """No fault of the image: a file cannot be read or written, or the server is stopping."""


class ImageConverterSilent(Busy):
    """A child process does not start just now."""


_REFUSALS = {
    ImageFlaw.UNDECODABLE: ImageUndecodable,
    ImageFlaw.PIXELS: ImageTooLarge,
    ImageFlaw.SIDE: ImageTooLarge,
    ImageFlaw.MEMORY: ImageTooCostly,
}


class ImageConverter:
    """For one event loop. `scratch` is a folder of the store's where the children work: they make it.

    `await aclose()` before the loop ends.
    """

    def __init__(self, max_pixels: int, scratch: Path, *, limits: ConverterLimits | None = None) -> None:
        self._max_pixels = max_pixels
        self._scratch = scratch.absolute()
        self._limits = limits or ConverterLimits()
        self._turns = Turns(
            "conversions of images",
            TurnBounds(
                places=CHILDREN,
                places_each=CHILDREN,
                waiting_each=self._limits.waiting_each,
                waiting=self._limits.waiting,
                within_s=self._limits.wait_within_s,
            ),
        )
        self._idle: list[_Child] = []
        self._alive: set[_Child] = set()
        self._is_closed = False

    def pids(self) -> list[int]:
        """The process ids of the children that there are now."""
        return [child.process.pid for child in self._alive if child.process.returncode is None]

    def busy(self) -> list[int]:
        """The ids of those that have an image in hand."""
        return [child.process.pid for child in self._alive if child.is_busy]

    async def convert(
        self, source: Path, target: Path, *, line: str = "", time: TimeOfMessage | None = None
    ) -> ConvertedImage:
        """Write what `source` shows to `target`, as WebP without metadata, mode 0600 and not synced. Places go to
        the lines in rotation: who waits in a long `line` waits for those of its own. What it takes of a child, and no
        waiting, is taken from `time`, the message's own.

        Raises UnfitImage for an image that is not converted, TooMuchAtOnce when too many wait, ImageConverterFailed
        and ImageConverterSilent; then what lies at `target`, if anything, is of no use. Cancelled, the child ends.
        """
        async with self._turns.turn(line):
            answer = await self._answer(self._job(source, target), time or TimeOfMessage())
        if isinstance(answer, ConvertedImage):
            return answer
        if answer.flaw is ImageFlaw.UNTOUCHED:
            raise ImageConverterFailed(
                answer.fact, first="See whether the server's disk is full or failing.", retry_after_s=_DISK_AFTER_S
            )
        raise _REFUSALS[answer.flaw](answer.fact)

    async def aclose(self) -> None:
        """End the children, also those at work: their callers are told that the server is stopping."""
        self._is_closed = True
        while self._alive:
            await self._end(next(iter(self._alive)))

    def _job(self, source: Path, target: Path) -> ConversionJob:
        """The child has a working directory of its own."""
        return ConversionJob(source=str(source.absolute()), target=str(target.absolute()), max_pixels=self._max_pixels)

    async def _answer(self, job: ConversionJob, time: TimeOfMessage) -> ConversionAnswer:
        for tried in range(_TRIES):
            if time.left_s <= 0:
                raise _message_too_costly()
            child = self._idle.pop() if self._idle and not tried else await self._start()
            try:
                return await self._ask(child, job, time)
            except _ChildEnded as ended:
                logger.warning(
                    "an image converter ended at work", extra={"facts": {"pid": child.process.pid, "why": str(ended)}}
                )
        raise ImageTooCostly("The image cannot be converted: twice the process that tried it ended.")

    async def _ask(self, child: _Child, job: ConversionJob, time: TimeOfMessage) -> ConversionAnswer:
        child.keep()
        child.is_busy = True
        is_well = False
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(self._limits.within_s, time.left_s)):
                answer = await child.ask(job)
            # Who was out of memory once may have little left for others.
            is_well = not isinstance(answer, RefusedImage) or answer.flaw is not ImageFlaw.MEMORY
            return answer
        except TimeoutError:
            if time.left_s < self._limits.within_s:
                raise _message_too_costly() from None
            raise ImageTooCostly(f"The image takes longer than {self._limits.within_s:g} s to be converted.") from None
        finally:
            time.left_s -= asyncio.get_running_loop().time() - began
            child.is_busy = False
            if is_well and not self._is_closed:
                self._idle.append(child)
                child.rest(self._limits.idle_s, self._retire)
            else:
                await self._end(child)

    async def _start(self) -> _Child:
        if self._is_closed:
            raise _stopping()
        self._alive = {child for child in self._alive if child.process.returncode is None}
        try:
            # A session of its own: Ctrl-C at the terminal stops the server, and the server its children.
            process = await asyncio.create_subprocess_exec(
                *_COMMAND,
                str(self._scratch),
                stdin=PIPE,
                stdout=PIPE,
                env=plain_environment() | _ONE_ARENA,
                start_new_session=True,
            )
        except OSError as error:
            raise self._silent(str(error)) from None
        child = _Child(process)
        self._alive.add(child)
        try:
            if self._is_closed:  # It was, while the child began.
                raise _stopping()
            async with asyncio.timeout(self._limits.start_within_s):
                await child.begin()
        except (TimeoutError, _ChildEnded) as error:
            await self._end(child)
            raise self._silent(repr(error)) from None
        except BaseException:
            await self._end(child)
            raise
        return child

    def _silent(self, why: str) -> Unavailable:
        if self._is_closed:
            return _stopping()
        logger.warning("an image converter does not start", extra={"facts": {"why": why}})
        return ImageConverterSilent(
            "No image can be converted just now: the process for it does not start.",
            retry_after_s=5,
            first="The server's log says why.",
            otherwise=f", or send it {AS_IT_IS}",
        )

    def _retire(self, child: _Child) -> None:
        """It had nothing to do for a while. The loop collects its end."""
        self._idle.remove(child)
        child.kill()

    async def _end(self, child: _Child) -> None:
        child.keep()
        child.kill()
        if child in self._idle:
            self._idle.remove(child)
        await child.process.wait()
        self._alive.discard(child)


def _message_too_costly() -> ImageTooCostly:
    return ImageTooCostly(f"The images of the message take longer than {MESSAGE_WITHIN_S:g} s together.")


def _stopping() -> ImageConverterFailed:
    return ImageConverterFailed("The server is stopping.", retry_after_s=_BACK_AFTER_S)


class _ChildEnded(Exception):
    """It ended, or said what no converter says."""


class _Child:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.is_busy = False
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self) -> None:
        if await self._line() != READY:
            raise _ChildEnded

    async def ask(self, job: ConversionJob) -> ConversionAnswer:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(job.to_line())
            await self.process.stdin.drain()
            return from_line(await self._line())
        except (ConnectionError, ValueError) as error:
            raise _ChildEnded from error
        except RuntimeError as error:  # uvloop's, for a pipe that is closed since its reader was killed.
            if self.process.stdin.is_closing():
                raise _ChildEnded from error
            raise

    async def _line(self) -> bytes:
        assert self.process.stdout is not None
        try:
            return await self.process.stdout.readline()
        except ValueError as error:  # Longer than any line of a converter.
            raise _ChildEnded from error

    def rest(self, idle_s: float, retire: Callable[[_Child], None]) -> None:
        """Call `retire` after so long, unless `keep` comes first."""
        self._timer = asyncio.get_running_loop().call_later(idle_s, retire, self)

    def keep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
