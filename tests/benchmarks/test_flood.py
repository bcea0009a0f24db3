"""`make flood`: what is missed is told as that, and a short flood at a real server leaves others answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.flood.__main__ import SHORT, Run, figures, run
from benchmarks.flood.others import Felt
from benchmarks.stand import Stand

EACH_S = 0.01


def _felt(count: int, *, begin: float, took_ms: float, seconds: float = 1.0, most_mib: float = 0.0) -> Felt:
    answered = [(begin + number * EACH_S, took_ms) for number in range(count)]
    return Felt(seconds=seconds, answered=answered, liveness_ms=[took_ms] * count, most_mib=most_mib)


GOOD = Run(
    sustainable=1_000.0,
    alone=_felt(100, begin=0.0, took_ms=5.0),
    beside=_felt(90, begin=1.0, took_ms=40.0, most_mib=149.0),
    after=_felt(300, begin=2.0, took_ms=5.0, seconds=3.0),
    ended=2.0,
    before_mib=100.0,
    pressers={"offered": 10_000, "sent": 9_000},
)


def _verdicts(seen: Run) -> list[str]:
    return [figure.verdict for figure in figures(seen) if figure.verdict]


def test_each_target_is_met_or_missed_by_itself() -> None:
    slow = _felt(300, begin=2.0, took_ms=80.0, seconds=3.0)
    late = replace(GOOD, after=replace(GOOD.after, answered=slow.answered[:210] + GOOD.after.answered[210:]))

    assert _verdicts(GOOD) == ["met"] * 5
    assert _verdicts(replace(GOOD, beside=replace(GOOD.beside, answered=GOOD.beside.answered[:79])))[0] == "missed"
    assert _verdicts(replace(GOOD, before_mib=98.0))[1] == "missed"
    assert _verdicts(replace(GOOD, beside=replace(GOOD.beside, liveness_ms=[251.0])))[2] == "missed"
    assert _verdicts(late)[3] == "missed"
    assert _verdicts(replace(GOOD, beside=replace(GOOD.beside, unanswered=1)))[4] == "missed"


def test_normal_is_the_first_half_second_with_as_many_answers_that_come_as_soon() -> None:
    silent = replace(GOOD, after=Felt(seconds=3.0))

    assert GOOD.normal_after_s() == 0.5
    assert silent.normal_after_s() == float("inf")


def test_beside_a_short_flood_at_a_real_server_everybody_else_is_answered(tmp_path: Path) -> None:
    size = replace(SHORT, seconds=1.5, alone_s=0.5, after_s=1.0)
    with Stand(tmp_path, is_bound=False) as stand:
        seen = run(stand, size)

    assert (seen.beside.failures, seen.after.failures, seen.beside.unanswered) == (0, 0, 0), seen.beside.first_failure
    assert seen.beside.answered
    assert seen.after.answered
    assert seen.pressers["sent"] > 0
    assert seen.pressers["held"] == {"flooding": 16, "idle": 100, "half": 30, "slow": 5}
    assert seen.beside.most_mib > seen.before_mib / 2
