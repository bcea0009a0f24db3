"""What every test needs: an environment that says nothing, and property tests without a clock."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from mcp_agent_mail.core.settings.names import KNOWN

# No test depends on how fast the machine is; a failure found once is found again.
settings.register_profile("agent-mail", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("agent-mail")

# Neither the settings of the person who runs the tests nor the repository they stand in reach the product.
for name in [name for name in os.environ if name in KNOWN or name.startswith("GIT_")]:
    del os.environ[name]

# Nor do the signals that a job in the background, or `nohup`, is told to ignore: what a test starts inherits that.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many cases tests of many asserted; what the crash rounds have to say (xdist keeps it to itself), summed."""
    cases = [
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == "cases"
    ]
    if cases:
        terminalreporter.write_line(f"{sum(cases)} cases asserted in {len(cases)} tests of many")
    reports = [report for report in terminalreporter.stats.get("passed", []) if "crash" in report.keywords]
    for report in reports:
        terminalreporter.write(report.capstdout)
    told = [pair for report in reports for pair in report.user_properties]
    kills, operations = (sum(value for name, value in told if name == what) for what in ("kills", "operations"))
    if kills:
        terminalreporter.write_line(f"{kills} kills in all, {operations} operations acknowledged")
