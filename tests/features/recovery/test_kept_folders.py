from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.features.recovery.kept_folders import KEPT_MOST, free_place, remove_oldest_databases
from mcp_agent_mail.features.recovery.numbered_names import oldest_first

NOW, BEFORE = Micros(1_800_000_000_000_000), Micros(1_700_000_000_000_000)


def test_what_is_kept_later_is_newer_whatever_the_clock_says_and_wherever_the_other_lies(tmp_path: Path) -> None:
    store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    first = free_place(store, elsewhere, lambda: NOW)
    first.mkdir(parents=True)
    second = free_place(elsewhere, store, lambda: BEFORE)

    assert (first.parent, second.parent, second.exists()) == (store / "kept", elsewhere / "kept", False)
    assert oldest_first([second, first]) == [first, second]


def test_the_oldest_databases_beyond_those_that_stay_are_removed_and_named_and_archives_stay(tmp_path: Path) -> None:
    kept = [tmp_path / f"2026-01-01T00-00-00Z-n{number}" for number in range(1, KEPT_MOST + 3)]
    for folder in (*kept, tmp_path / "mine"):
        (folder / "projects").mkdir(parents=True)
        for name in ("mail.db", "mail.db-wal", "other.db"):
            (folder / name).touch()

    removed = remove_oldest_databases(tmp_path, "mail.db", new=kept[1])

    assert removed == (kept[0] / "mail.db",)
    assert {path.name for path in kept[0].iterdir()} == {"projects", "other.db"}
    assert all((folder / "mail.db-wal").exists() for folder in (*kept[1:], tmp_path / "mine"))
