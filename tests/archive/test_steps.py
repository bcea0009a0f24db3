"""Work in steps: one after the other, each result handed on, and an end at any of them."""

from __future__ import annotations

import threading

import pytest

from mcp_agent_mail.archive.steps import InSteps, Steps, Syncing
from mcp_agent_mail.core.git.process import GitFailed

LONG_S = 60.0


class Ready:
    """A step that has ended when it begins."""

    def __init__(self, given: bytes, failure: GitFailed | None = None) -> None:
        self._given = given
        self._failure = failure

    def is_running(self) -> bool:
        return False

    def wait(self, timeout_s: float) -> None:
        """Nothing to wait for."""

    def result(self) -> bytes:
        if self._failure is not None:
            raise self._failure
        return self._given

    def kill(self) -> None:
        """Nothing to end."""


class Endless(Ready):
    """A step that runs until it is ended."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.was_killed = False

    def is_running(self) -> bool:
        return not self.was_killed

    def wait(self, timeout_s: float) -> None:
        threading.Event().wait(min(timeout_s, 0.01))

    def kill(self) -> None:
        self.was_killed = True


def test_each_step_gives_its_result_to_the_work() -> None:
    heard: list[bytes] = []

    def work() -> Steps[None]:
        heard.append((yield Ready(b"one")))
        heard.append((yield Ready(b"two")))

    InSteps("count", work(), step_limit_s=LONG_S).finish(LONG_S)

    assert heard == [b"one", b"two"]


def test_a_step_that_fails_fails_the_work_unless_it_makes_something_of_it() -> None:
    heard: list[str] = []

    def work() -> Steps[None]:
        try:
            yield Ready(b"", GitFailed("first"))
        except GitFailed as failed:
            heard.append(failed.message)
        yield Ready(b"", GitFailed("second"))

    with pytest.raises(GitFailed, match="second"):
        InSteps("count", work(), step_limit_s=LONG_S).finish(LONG_S)
    assert heard == ["first"]


def test_time_over_ends_the_step_and_lets_the_work_tidy_up() -> None:
    step, tidied = Endless(), []

    def work() -> Steps[None]:
        try:
            yield step
        finally:
            tidied.append(True)

    with pytest.raises(GitFailed, match="cannot count: it was ended after 0 s"):
        InSteps("count", work(), step_limit_s=LONG_S).finish(0.0)
    assert (step.was_killed, tidied) == (True, [True])


def test_a_step_that_takes_too_long_is_ended_by_whoever_looks_next() -> None:
    step = Endless()

    def work() -> Steps[None]:
        yield step

    work_in_steps = InSteps("count", work(), step_limit_s=0.0)

    assert not work_in_steps.is_running()
    assert step.was_killed
    with pytest.raises(GitFailed, match="took longer than"):
        work_in_steps.finish(LONG_S)


def test_a_disk_that_refuses_to_sync_fails_the_work() -> None:
    def refuse() -> None:
        raise OSError(5, "Input/output error")

    def work() -> Steps[None]:
        yield Syncing(refuse)

    with pytest.raises(OSError, match="Input/output error"):
        InSteps("count", work(), step_limit_s=LONG_S).finish(LONG_S)
