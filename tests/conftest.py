"""What every test needs: an environment that says nothing, and property tests without a clock."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from mcp_agent_mail.core.settings.names import KNOWN
from mcp_agent_mail.domain.guard.agent_marks import AGENT_MARKS
from tests.ladder.tally import LADDER, summed
from tests.long_tests import long_tests

# No test depends on how fast the machine is; a failure found once is found again.
settings.register_profile("agent-mail", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("agent-mail")

# Who runs the tests, in what repository, with what settings: nothing of that reaches the product.
_MARKS = {mark.variable for mark in AGENT_MARKS}
for name in [name for name in os.environ if name in KNOWN | _MARKS or name.startswith("GIT_")]:
    del os.environ[name]

# Nor do the signals that a job in the background, or `nohup`, is told to ignore: what a test starts inherits that.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(autouse=True)
def logs_end_with_their_test() -> Iterator[None]:
    """What a test called in its own process may send all logs to that test's stderr: the next one has another."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in [handler for handler in root.handlers if handler not in handlers]:
        root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture(autouse=True)
def nobody_is_led_elsewhere() -> Iterator[None]:
    """What the next test starts begins in the working directory that the one before it left."""
    before = os.getcwd()  # noqa: PTH109  # asked for each of thousands of tests
    yield
    after = os.getcwd()  # noqa: PTH109
    if after != before:
        os.chdir(before)
        pytest.fail(f"it leaves the working directory at {after}")


_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


@pytest.fixture(autouse=True)
def signals_end_with_their_test() -> Iterator[None]:
    """What a test called in its own process may ignore or block signals to its end: what the next one starts would
    inherit that.
    """
    before = {number: signal.getsignal(number) for number in _HANDLED}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest chooses by marks."""
    named = long_tests()
    for item in items:
        if item.nodeid.partition("[")[0] in named:
            item.add_marker(pytest.mark.long)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many cases tests of many asserted; what the crash rounds have to say (xdist keeps it to itself), summed."""
    passed = terminalreporter.stats.get("passed", [])
    if cases := _told(passed, "cases"):
        terminalreporter.write_line(f"{sum(cases)} cases asserted in {len(cases)} tests of many")
    if cells := sum(_told(passed, "cells")):
        terminalreporter.write_line(f"{cells:,} cells of who may do what asked, all as they are written")
    rounds = [report for report in passed if "crash" in report.keywords]
    for report in rounds:
        terminalreporter.write(report.capstdout)
    if ladders := [value for report in passed for name, value in report.user_properties if name == LADDER]:
        terminalreporter.write_line(f"the ladder: {summed([str(told) for told in ladders])}")
    if kills := sum(_told(rounds, "kills")):
        operations = sum(_told(rounds, "operations"))
        terminalreporter.write_line(f"{kills} kills in all, {operations} operations acknowledged")


def _told(reports: list[pytest.TestReport], what: str) -> list[int]:
    """What tests recorded under this name."""
    pairs = [pair for report in reports for pair in report.user_properties]
    return [value for name, value in pairs if name == what and isinstance(value, int)]
