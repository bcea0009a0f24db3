"""How `make scale-million` asks two stores in turn, and judges what they answered."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks.processes import Server
from benchmarks.report import Figure
from benchmarks.scale import FLOOR, Measured
from benchmarks.scale_million import (
    FEWEST_CALLS,
    PAGES,
    SEND,
    Ask,
    Round,
    check_store,
    copied,
    figures,
    in_turn,
    questions,
)
from benchmarks.store_maker import SMALLEST, make_store
from benchmarks.wire import Refused

SMALL, LARGE = 1_000, 1_000_000


def _measured(factor: float, refused: int = 0) -> dict[int, Measured]:
    small = {"p50_ms": 2.0, "cpu_us": 100.0, "calls": 40, "refused": 0}
    return {SMALL: small, LARGE: {**small, "p50_ms": 2.0 * factor, "cpu_us": 100.0 * factor, "refused": refused}}


def _figures(factor: float, refused: int = 0) -> list[Figure]:
    read: Round = {name: _measured(factor, refused) for name in (*(one.name for one in questions()), *PAGES)}
    starts = [{FLOOR: 1.0, SMALL: 1.0, LARGE: factor}] * 2
    return figures([read, read, {SEND: _measured(factor)}], starts, (SMALL, LARGE))


def _verdicts(found: list[Figure]) -> dict[str, str]:
    return {figure.name.split(":")[0]: figure.verdict for figure in found if figure.target is not None}


def test_a_million_that_answers_as_a_thousand_meets_every_target() -> None:
    verdicts = _verdicts(_figures(1.2))

    assert set(verdicts) == {*(question.name for question in questions()), "first successful call"}
    assert set(verdicts.values()) == {"met"}


def test_one_that_answers_slower_misses_them_and_pages_and_sends_are_told_beside() -> None:
    found = _figures(3.0)
    told = {figure.name for figure in found if figure.target is None}

    assert set(_verdicts(found).values()) == {"missed"}
    assert {f"{name}: p50 at 1,000,000 by 1,000" for name in (*PAGES, SEND)} <= told


def test_answers_that_were_refused_count_against_a_question() -> None:
    missed = [figure.name for figure in _figures(1.0, refused=2) if figure.verdict == "missed"]

    assert "search, rare words: refused at 1,000,000" in missed


def _server() -> Server:
    # Only whose time is asked for.
    process = cast("subprocess.Popen[bytes]", SimpleNamespace(pid=os.getpid()))
    return Server("ours", process, 0, 0.0)


def test_two_stores_are_asked_to_and_fro_and_the_first_answers_are_not_counted() -> None:
    asked: list[int] = []

    def of(size: int) -> Ask:
        def ask() -> float:
            asked.append(size)
            return float(size)

        return ask

    found = in_turn({1: of(1), 2: of(2)}, {1: _server(), 2: _server()}, calls=3)

    assert asked == [1, 2, 1, 2, 2, 1, 1, 2]
    assert {size: (one["p50_ms"], one["calls"]) for size, one in found.items()} == {1: (1.0, 3), 2: (2.0, 3)}


def test_a_refusal_is_counted_and_the_others_are_asked_on(capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> float:
        raise Refused("busy")

    found = in_turn({1: lambda: 1.0, 2: refused}, {1: _server(), 2: _server()}, calls=FEWEST_CALLS)

    assert (found[1]["refused"], found[2]["refused"]) == (0, 1 + FEWEST_CALLS)
    assert "2: busy" in capsys.readouterr().err


def test_a_copy_is_checked_and_a_finding_refuses_it(tmp_path: Path) -> None:
    make_store(tmp_path / "made" / "mail.sqlite3", SMALLEST)
    root = copied({SMALLEST: tmp_path / "made" / "mail.sqlite3"}, tmp_path)[SMALLEST].parent

    check = check_store(root)
    root.chmod(0o755)

    assert check["cpu_s"] > 0
    assert 5 < check["peak_mib"] < 150
    with pytest.raises(Refused, match="permissions"):
        check_store(root)
