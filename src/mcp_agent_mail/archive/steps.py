"""Work that is done beside commits, one Git process or one wait for the disk after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import GitFailed

T = TypeVar("T")


class Step(Protocol):
    """One piece of work under way, such as a Git process. `result` is asked once it has ended: what it gave, or its
    failure raised.
    """

    def is_running(self) -> bool: ...

    def wait(self, timeout_s: float) -> None: ...

    def result(self) -> bytes: ...

    def kill(self) -> None: ...


Steps = Generator[Step, bytes, T]
"""Yields one step, is sent what it gave, and so on. Between two steps nothing else changes the archive."""


class InSteps:
    """Runs a generator of steps, one after the other. The next step begins only when `is_running` or `finish` is
    called: there is no thread behind it.
    """

    def __init__(self, what: str, steps: Steps[None], *, step_limit_s: float) -> None:
        self.what = what
        self._steps = steps
        self._step_limit_s = step_limit_s
        self._step: Step | None = None
        self._ends_at = 0.0
        self._failure: Exception | None = None
        self._begin(partial(next, steps))

    def is_running(self) -> bool:
        """Begins what comes next when a step has ended, and ends one that takes too long."""
        while self._step is not None and not self._step.is_running():
            self._go_on(self._step)
        if self._step is not None and time.monotonic() >= self._ends_at:
            self.kill(f"one step took longer than {self._step_limit_s:.0f} s")
        return self._step is not None

    def finish(self, timeout_s: float) -> None:
        """Wait `timeout_s` seconds for the last step, then end it. Raises the failure that stopped the steps."""
        deadline = time.monotonic() + timeout_s
        while self.is_running():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self.kill(f"it was ended after {timeout_s:.0f} s")
            elif self._step is not None:
                self._step.wait(min(left_s, max(0.0, self._ends_at - time.monotonic())))
        if self._failure is not None:
            raise self._failure

    def kill(self, why: str) -> None:
        """End it here. What it has not reached is as if it had not begun."""
        if self._step is not None:
            self._step.kill()
            self._step = None
            self._steps.close()
            self._failure = GitFailed(f"cannot {self.what}: {why}")

    def _go_on(self, ended: Step) -> None:
        try:
            given = ended.result()
        except (GitFailed, OSError) as failed:
            self._begin(partial(self._steps.throw, failed))
        else:
            self._begin(partial(self._steps.send, given))

    def _begin(self, following: Callable[[], Step]) -> None:
        self._step = None
        try:
            self._step = following()
            self._ends_at = time.monotonic() + self._step_limit_s
        except StopIteration:
            pass
        except Exception as failure:  # noqa: BLE001  # `finish` raises it
            self._failure = failure


class Syncing:
    """Puts files and names on disk, in a thread: one wait for the disk must not hold up the next commit."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._failure: OSError | None = None
        # A daemon: it changes nothing, so a stop need not wait for it.
        self._thread = threading.Thread(target=self._run, name="syncing", daemon=True)
        self._thread.start()

    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def result(self) -> bytes:
        """Wait for the disk, however long it takes; empty, since nothing is printed. Raises the OSError that syncing
        ended with.
        """
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return b""

    def kill(self) -> None:
        """Do nothing: the thread ends by itself, and nobody relies on what it synced without asking for its result."""

    def _run(self) -> None:
        try:
            self._work()
        except OSError as failure:
            self._failure = failure


def sync_each(paths: Iterable[Path]) -> None:
    """Files, or the names in folders; what a person has removed meanwhile is left out."""
    for path in paths:
        try:
            sync_path(path)
        except FileNotFoundError:
            continue
