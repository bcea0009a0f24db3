"""Random histories over all doors: each letter is consumed once, in order, through stops and kills; Git has all."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import system_clock
from tests.facades.histories import played
from tests.rebuild.histories import Played
from tests.rebuild.rebuilding import differing_lines, findings_of, rebuild
from tests.rebuild.records import differing_rows

SHORT, LONG = 60, 2_000


def _judge(root: Path, seed: int, length: int) -> None:
    with played(root, seed, length) as (history, served):
        verified = json.loads(served.am("doctor", "verify", "--json").stdout)
        served.stop()
        was = Played(root=served.root, now=system_clock(), succeeded=Counter(), refused=Counter())
        rebuilt = rebuild(was, root / "rebuilt")

        assert (verified["clean"], verified["findings"]) == (True, [])
        assert findings_of(was, rebuilt) == []
        assert differing_rows(was.database, rebuilt) == []
        assert differing_lines(was.database, rebuilt) == []
        assert min(history.steps["kills"], history.steps["restarts"]) >= 1


def test_a_short_history_loses_and_doubles_nothing_and_is_rebuilt_as_it_was(tmp_path: Path) -> None:
    _judge(tmp_path.resolve(), 1, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_long_histories_lose_and_double_nothing_and_are_rebuilt_as_they_were(tmp_path: Path, seed: int) -> None:
    _judge(tmp_path.resolve(), seed, LONG)
