"""The last line of a run says which programs read what setup wrote, and which this machine has not got."""

from __future__ import annotations

import pytest

READ = "real client that read"
"""The property of a test in which a program read what setup wrote."""
NOT_HAD = "real client not had"


def pytest_unconfigure(config: pytest.Config) -> None:
    """After pytest's own last line. A worker of xdist has no terminal, and says nothing."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    reports = [report for name in ("passed", "skipped") for report in reporter.stats.get(name, [])]
    read, not_had = _told(reports, READ), _told(reports, NOT_HAD)
    if read or not_had:
        for client in not_had:
            reporter.write_line(f"skipped: {client}")
        reporter.write_line(
            f"real programs that read what setup wrote: {len(read)} ({', '.join(read)}); skipped: {len(not_had)}"
        )


def _told(reports: list[pytest.TestReport], what: str) -> list[str]:
    told = [str(value) for report in reports for name, value in report.user_properties if name == what]
    return list(dict.fromkeys(told))
