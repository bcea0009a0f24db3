"""The conformance suite against the running server with its fixtures, once per era, judged check by check."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.testers import Testers
from tests.mcp_way import WAY_SETTINGS
from tests.served import Served

EXPECTED = Path(__file__).with_name("expected_failures.toml")

_FAILED, _WARNED = "FAILURE", "WARNING"
_RESULTS = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One of the suite's versions at one of the protocol's: every scenario that it has for a server at that version.

    `scenarios`: how many these are. Those of protocol extensions are not among them: this server declares none.
    """

    title: str
    script: str
    arguments: tuple[str, ...]
    scenarios: int


RUNS = (
    Run(
        title="handshake 0.1.16",
        script="conformance-handshake/dist/index.js",
        arguments=("--suite", "all"),
        scenarios=32,
    ),
    Run(
        title="handshake 0.2.0-alpha.12",
        script="conformance-modern/dist/index.js",
        arguments=("--suite", "all", "--spec-version", "2025-11-25"),
        scenarios=33,
    ),
    Run(
        title="2026-07-28 0.2.0-alpha.12",
        script="conformance-modern/dist/index.js",
        arguments=("--suite", "all", "--spec-version", "2026-07-28"),
        scenarios=40,
    ),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """`counts`: checks by how they ended. `problems`: what failed or deserved a warning, in the tester's words."""

    name: str
    counts: Counter[str]
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.counts[_FAILED] > 0


@dataclass(frozen=True, slots=True)
class Report:
    run: Run
    scenarios: list[Scenario]
    expected: dict[str, str] = field(default_factory=dict)

    @property
    def surprises(self) -> list[str]:
        """What makes the run fail: failures that nobody expected, and expected ones that did not happen."""
        failed = {scenario.name for scenario in self.scenarios if scenario.failed}
        unknown = self.expected.keys() - {scenario.name for scenario in self.scenarios}
        return [
            *(f"{name} fails, which is not expected" for name in sorted(failed - self.expected.keys())),
            *(f"{name} passes: take it off the list" for name in sorted(self.expected.keys() - failed - unknown)),
            *(f"{name} is no scenario of this run: take it off the list" for name in sorted(unknown)),
            *self._missing,
        ]

    @property
    def _missing(self) -> list[str]:
        """A tester that breaks off says so nowhere else."""
        ran = len(self.scenarios)
        return [] if ran == self.run.scenarios else [f"{ran} scenarios were run instead of {self.run.scenarios}"]


def run(testers: Testers, folder: Path) -> list[Report]:
    expected = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))
    assert expected.keys() == {run.title for run in RUNS}, "expected_failures.toml has a table per run"
    with Served(folder / "store", port=None, TEST_FIXTURES_ENABLED="true", **WAY_SETTINGS) as server:
        return [_report(testers, server, each, folder, expected[each.title]) for each in RUNS]


def _report(testers: Testers, server: Served, each: Run, folder: Path, expected: dict[str, str]) -> Report:
    results = folder / each.title.replace(" ", "-")
    url = f"http://127.0.0.1:{server.port}/mcp"
    # Its exit code knows nothing of our list: the checks are read instead.
    testers.run(each.script, "server", "--url", url, *each.arguments, "--output-dir", str(results))
    return Report(each, list(read_results(results)), expected)


def read_results(results: Path) -> list[Scenario]:
    found = []
    for path in sorted(results.glob("server-*/checks.json"), key=lambda path: path.stat().st_mtime_ns):
        match = _RESULTS.fullmatch(path.parent.name)
        assert match, path
        checks = json.loads(path.read_text(encoding="utf-8"))
        problems = tuple(
            f"{check['status'].lower()}: {check['id']}: {check.get('errorMessage', '')[:300]}"
            for check in checks
            if check["status"] in (_FAILED, _WARNED)
        )
        found.append(Scenario(match["scenario"], Counter(check["status"] for check in checks), problems))
    return found
