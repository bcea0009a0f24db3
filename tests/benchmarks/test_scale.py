"""How scale and soak judge what they measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import scale, soak
from benchmarks.report import Figure
from benchmarks.scale import AFTERWARDS, FLOOR, Asking, Question, questions
from benchmarks.soak import Block
from benchmarks.weights import Weight, file_handles, weigh

SMALL_SIZE, LARGE_SIZE, LARGEST_SIZE = 1_000, 100_000, 1_000_000


def _round(factor: float) -> scale.Round:
    measured = {"p50_ms": 2.0, "p95_ms": 5.0, "cpu_us": 100.0}
    slower = {name: value * factor for name, value in measured.items()}
    sizes = {FLOOR: measured, SMALL_SIZE: measured, LARGE_SIZE: slower, LARGEST_SIZE: slower}
    return {question.name: sizes for question in questions()}


def _scale_figures(factor: float) -> list[Figure]:
    start = {FLOOR: 1.0, SMALL_SIZE: 1.0, LARGE_SIZE: factor, LARGEST_SIZE: factor}
    return scale.figures([_round(factor)] * 3, [start] * 3, questions())


def _verdicts(figures: list[Figure]) -> set[str]:
    return {figure.verdict for figure in figures if figure.target is not None}


def test_stores_that_answer_alike_meet_every_target_of_scale() -> None:
    assert _verdicts(_scale_figures(1.2)) == {"met"}


def test_a_store_that_answers_slower_in_proportion_to_its_size_misses_them() -> None:
    assert _verdicts(_scale_figures(100.0)) == {"missed"}


def test_only_the_size_of_the_contract_has_targets() -> None:
    judged = [figure.name for figure in _scale_figures(1.0) if figure.target is not None]

    assert len(judged) == 6
    assert not [name for name in judged if "1,000,000" in name]


def test_a_question_takes_its_calls_in_turn() -> None:
    asking = Asking(Question("q", "tool", [{"a": 1}, {"a": 2}]))

    assert [asking.next()[2]["a"] for _ in range(3)] == [1, 2, 1]


def test_the_time_after_every_generated_message_is_asked_for() -> None:
    assert any(call.get("since_ts") == AFTERWARDS for question in questions() for call in question.calls)


def _block(sends: int, *, mib: float = 100.0, git_mib: float = 0.0, p50_ms: float = 4.0, handles: int = 30) -> Block:
    weight = Weight(
        pss_mib=mib + git_mib,
        server_pss_mib=mib,
        git_pss_mib=git_mib,
        anonymous_mib=mib,
        file_handles=handles,
        database_mib=1.0,
        wal_mib=1.0,
        packs=1,
        archive_mib=1.0,
    )
    return Block(
        sends=sends,
        p50_ms=p50_ms,
        p99_ms=2 * p50_ms,
        floor_p50_ms=2.0,
        per_second=100.0,
        server_cpu_us=400.0,
        drain_s=0.5,
        weight=weight,
    )


def _soak_verdicts(later: list[Block]) -> dict[str, str]:
    blocks = [*(_block(sends) for sends in range(1_000, 7_000, 1_000)), *later]
    figures = soak.figures(blocks, [{"none": 1.0, "full": 1.1}] * 3)
    return {figure.name.split(",")[0].split(" (")[0]: figure.verdict for figure in figures if figure.target is not None}


def test_a_soak_in_which_nothing_grows_meets_its_targets() -> None:
    assert set(_soak_verdicts([_block(7_000), _block(8_000)]).values()) == {"met"}


def test_growing_memory_latency_and_file_handles_are_each_told() -> None:
    growing = [_block(sends, mib=120.0, p50_ms=8.0, handles=31) for sends in range(7_000, 12_000, 1_000)]

    assert _soak_verdicts(growing) == {
        "memory": "missed",
        "send p50": "missed",
        "file handles": "missed",
        "first successful call": "met",
    }


def test_a_git_child_that_happens_to_run_is_no_growth() -> None:
    passing = [_block(sends, git_mib=60.0) for sends in range(7_000, 12_000, 1_000)]

    assert _soak_verdicts(passing)["memory"] == "met"


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="only Linux tells what a process weighs")
def test_a_process_is_weighed_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "archive" / "pack").mkdir(parents=True)
    (tmp_path / "archive" / "pack" / "pack-1.pack").write_bytes(b"x" * 5_000)
    (tmp_path / "mail.sqlite3-wal").write_bytes(b"x" * 2**20)
    before = file_handles(os.getpid())

    with (tmp_path / "open").open("w"):
        during = file_handles(os.getpid())
    weight = weigh(os.getpid(), tmp_path)

    assert during == before + 1
    assert (weight.packs, weight.wal_mib, weight.database_mib) == (1, 1.0, 0.0)
    assert 0 < weight.archive_mib < 1
    assert weight.pss_mib > 1
    assert weight.git_pss_mib == 0
