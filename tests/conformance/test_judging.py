"""How the runs of the suite are judged. The runs themselves need Node: `make conformance`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.scenarios import Report, Run, Scenario, read_results

PASSED = Scenario("ping", Counter(SUCCESS=1))
FAILED = Scenario("resources-subscribe", Counter(SUCCESS=1, FAILURE=1))


def _report(scenarios: list[Scenario], expected: dict[str, str], *, planned: int | None = None) -> Report:
    planned = len(scenarios) if planned is None else planned
    return Report(Run(title="a run", script="-", arguments=(), scenarios=planned), scenarios, expected)


def test_what_fails_as_expected_is_no_surprise() -> None:
    assert _report([PASSED, FAILED], {"resources-subscribe": "not built"}).surprises == []


@pytest.mark.parametrize(
    ("scenarios", "expected", "surprise"),
    [
        ([PASSED, FAILED], {}, "resources-subscribe fails, which is not expected"),
        ([PASSED], {"ping": "never answered"}, "ping passes: take it off the list"),
        ([PASSED], {"pong": "mistyped"}, "pong is no scenario of this run: take it off the list"),
    ],
)
def test_everything_else_fails_the_run(scenarios: list[Scenario], expected: dict[str, str], surprise: str) -> None:
    assert _report(scenarios, expected).surprises == [surprise]


def test_a_tester_that_broke_off_fails_the_run() -> None:
    assert _report([PASSED], {}, planned=2).surprises == ["1 scenarios were run instead of 2"]


def test_results_are_read_from_what_the_tester_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "server-tools-list-2026-11-21T21-52-17-454Z"
    folder.mkdir()
    checks = [{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "FAILURE", "errorMessage": "No list."}]
    (folder / "checks.json").write_text(json.dumps(checks))

    (scenario,) = read_results(tmp_path)

    assert (scenario.name, scenario.failed, scenario.problems) == ("tools-list", True, ("failure: b: No list.",))
