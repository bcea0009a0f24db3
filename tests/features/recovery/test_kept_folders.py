from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.features.recovery.kept_folders import free_place
from mcp_agent_mail.features.recovery.numbered_names import oldest_first

NOW, BEFORE = Micros(1_800_000_000_000_000), Micros(1_700_000_000_000_000)


def test_what_is_kept_later_is_newer_whatever_the_clock_says_and_wherever_the_other_lies(tmp_path: Path) -> None:
    store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    first = free_place(store, elsewhere, lambda: NOW)
    first.mkdir(parents=True)
    second = free_place(elsewhere, store, lambda: BEFORE)

    assert (first.parent, second.parent, second.exists()) == (store / "kept", elsewhere / "kept", False)
    assert oldest_first([second, first]) == [first, second]
