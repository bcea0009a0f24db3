"""Whatever strangers send is read or refused: a few thousand of the million inputs that `make fuzz` makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.making import Maker
from tests.fuzz.pure import read_inputs, shares
from tests.fuzz.sockets import send_inputs
from tests.fuzz.targets import TARGETS, Target

SEED = 1
INPUTS = 20_000
SENT = 150
Told = Callable[[str, object], None]


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_read_is_refused_in_words_or_understood_and_soon(name: str, record_property: Told) -> None:
    found = read_inputs(name, SEED, range(shares(INPUTS)[name]))

    record_property("cases", found.inputs)
    assert found.faults == []


async def test_what_is_sent_to_a_server_is_answered_soon_and_without_a_fault(
    tmp_path: Path, record_property: Told
) -> None:
    found = await send_inputs(tmp_path, SEED, SENT)

    record_property("cases", found.inputs)
    assert (found.inputs, found.faults) == (5 * SENT, [])


def test_the_same_number_is_the_same_input() -> None:
    for name, target in TARGETS.items():
        if name != "arguments":
            assert repr(target.make(Maker(f"7/{name}/3"))) == repr(target.make(Maker(f"7/{name}/3")))


def test_what_raises_anything_else_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: Any) -> None:
        assert "x" not in text

    broken = Target(make=lambda maker: maker.pick(("x", "y")), read=read)
    monkeypatch.setattr("tests.fuzz.pure.TARGETS", {"broken": broken})

    found = read_inputs("broken", SEED, range(1_000))

    assert len(found.faults) == 20
    assert found.faults[0].startswith(f"--seed {SEED} --target 'broken' --number ")
