from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.features.recovery.numbered_names import next_name, number_in, oldest_first


def test_what_comes_later_is_newer_whatever_the_clock_said() -> None:
    first = next_name("2026-11-26T00-00-00Z", ["2026-12-01T00-00-00Z-aaaa", "mine"])
    second = next_name("2020-01-01T00-00-00Z", ["2026-12-01T00-00-00Z-aaaa", first])

    found = oldest_first(Path(name) for name in (second, first, "2026-12-01T00-00-00Z-aaaa"))
    assert [path.name for path in found] == ["2026-12-01T00-00-00Z-aaaa", first, second]


def test_a_name_without_a_number_is_older_than_all_with_one() -> None:
    assert [number_in(name) for name in ("2026-11-26T00-00-00Z-1234", "2026-11-26T00-00-00Z-2", "x-n12")] == [0, 0, 12]
