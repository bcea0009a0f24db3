"""The figures as people read them: on the terminal and in docs/reference/conformance.md."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.scenarios import Report, Scenario

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
_WORDS = {"SUCCESS": "passed", "FAILURE": "failed", "WARNING": "warned", "SKIPPED": "skipped"}


def mark(report: Report, scenario: Scenario) -> str:
    if scenario.failed:
        return "expected failure" if scenario.name in report.expected else "FAILS"
    return "passes" if scenario.counts["SUCCESS"] else "does not apply"


def figures(scenario: Scenario) -> str:
    """`5 passed, 1 skipped`: the tester's own checks, its mere notes left out."""
    told = [f"{scenario.counts[status]} {word}" for status, word in _WORDS.items() if scenario.counts[status]]
    return ", ".join(told) or "no checks"


def summary(report: Report) -> str:
    marks = [mark(report, scenario) for scenario in report.scenarios]
    checks = sum((scenario.counts for scenario in report.scenarios), start=report.scenarios[0].counts.__class__())
    told = ", ".join(f"{marks.count(word)} {word}" for word in dict.fromkeys(marks))
    return f"{len(marks)} scenarios: {told}; checks: {checks['SUCCESS']} passed, {checks['FAILURE']} failed"


def write(reports: list[Report]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{''.join(_section(report) for report in reports)}\n{END}{after}", "utf-8")


def _section(report: Report) -> str:
    rows = "".join(
        f"| {scenario.name} | {mark(report, scenario)} | {figures(scenario)} |\n" for scenario in report.scenarios
    )
    return f"\n### {report.run.title}\n\n{summary(report)}.\n\n| scenario | outcome | checks |\n|---|---|---|\n{rows}"
