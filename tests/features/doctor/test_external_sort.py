from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.features.doctor import external_sort
from mcp_agent_mail.features.doctor.external_sort import RUN_LINES, RUNS_MERGED, Spool


def test_more_lines_than_fit_in_memory_come_back_sorted(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    count = RUN_LINES * 2 + 7
    for number in range(count):
        spool.add(b"%08d" % (number * 7919 % count))

    lines = list(spool)

    assert len(list(tmp_path.iterdir())) == 3
    assert lines == [b"%08d" % number for number in range(count)]


def test_any_number_of_lines_needs_few_open_files_and_comes_back_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_sort, "RUN_LINES", 2)
    spool = Spool(tmp_path)
    count = 2 * RUNS_MERGED**2 + 2 * RUNS_MERGED + 3
    for number in range(count):
        spool.add(b"%08d" % (number * 7919 % count))

    lines = list(spool)

    assert len(list(tmp_path.iterdir())) == 4, "one of each length, and one for the last line"
    assert lines == [b"%08d" % number for number in range(count)]


def test_nothing_added_is_nothing_to_read(tmp_path: Path) -> None:
    assert list(Spool(tmp_path)) == []


@given(lines=st.lists(st.binary().filter(lambda line: b"\n" not in line)))
def test_any_lines_come_back_sorted(lines: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        spool = Spool(Path(folder))
        for line in lines:
            spool.add(line)

        assert list(spool) == sorted(lines)
