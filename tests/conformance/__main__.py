"""`python -m tests.conformance inspector|scenarios`: run the testers, print figures, fail on what nobody expected."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.conformance import inspector, pages, scenarios
from tests.conformance.testers import NotInstalled, Testers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("what", choices=["inspector", "scenarios"])
    parser.add_argument("--npm", type=Path, default=Path(sys.prefix) / "npm", help="where the npm packages are")
    parser.add_argument("--write", action="store_true", help="write the figures into docs/reference/conformance.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            testers = Testers.installed(given.npm, folder)
        except NotInstalled as missing:
            sys.stderr.write(f"{missing}\n")
            return 2
        return _inspect(testers, folder) if given.what == "inspector" else _judge(testers, folder, write=given.write)


def _inspect(testers: Testers, folder: Path) -> int:
    outcomes = inspector.run(testers, folder)
    for outcome in outcomes:
        mark = "ok  " if outcome.passed else "FAIL"
        print(f"{mark}  {outcome.took_s:5.2f} s  {outcome.answer_bytes:6} bytes  {outcome.step.title}")
        if outcome.said:
            print(f"      {outcome.said}")
    passed = sum(outcome.passed for outcome in outcomes)
    print(f"MCP inspector: {passed} of {len(outcomes)} as expected")
    return 0 if passed == len(outcomes) else 1


def _judge(testers: Testers, folder: Path, *, write: bool) -> int:
    reports = scenarios.run(testers, folder)
    for report in reports:
        print(f"\n{report.run.title}")
        for scenario in report.scenarios:
            print(f"  {pages.mark(report, scenario):18} {pages.figures(scenario):34} {scenario.name}")
            for problem in scenario.problems:
                print(f"      {problem}")
        print(f"  {pages.summary(report)}")
        for surprise in report.surprises:
            print(f"  NOT EXPECTED: {surprise}")
    if write:
        pages.write(reports)
    return 1 if any(report.surprises for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
