from __future__ import annotations

import os
from pathlib import Path

import pytest
from decouple import RepositoryEnv
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.settings.env_file import ENCODING, read_env_file

_PIECES = st.sampled_from(["A", "B_1", "=", " ", "\t", "'", '"', "#", "export ", "x", "ü", "\ufeff", ",", "\\", "$A"])
_LINES = st.lists(st.lists(_PIECES, max_size=8).map("".join), max_size=8).map("\n".join)


def _written(folder: Path, text: str) -> Path:
    path = folder / ".env"
    path.write_text(text, encoding="utf-8")
    return path


@given(text=_LINES)
def test_values_are_what_decouple_reads(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = _written(tmp_path_factory.mktemp("env"), text)

    file = read_env_file(path)

    by_decouple = RepositoryEnv(str(path), encoding=ENCODING).data
    faulty = {fault.number for fault in file.faults}
    if not faulty:
        assert file.values() == by_decouple
    else:
        assert file.values().keys() <= by_decouple.keys()


def test_the_last_of_two_lines_counts_and_both_are_told(tmp_path: Path) -> None:
    path = _written(tmp_path, "A=1\n\n# comment\nB=2\nA=3\n")

    file = read_env_file(path)

    assert file.values() == {"A": "3", "B": "2"}
    assert file.place("A") == f"{path}:5"
    assert file.duplicates() == {"A": [1, 5]}


@pytest.mark.parametrize(
    ("line", "name", "hint"),
    [
        ("export HTTP_PORT=1", "HTTP_PORT", "Remove the word `export`."),
        ("HTTP_PORT=1 # the port", "HTTP_PORT", "Move the comment to a line of its own, or quote the whole value."),
        ("HTTP_PORT=1\t# x", "HTTP_PORT", "Move the comment to a line of its own, or quote the whole value."),
        ("HTTP_PORT=# x", "HTTP_PORT", "Move the comment to a line of its own, or quote the whole value."),
        ('A="1" # x', "A", "Move the comment to a line of its own, or quote the whole value."),
        ("HTTP_PORT 1", "HTTP_PORT", "Write a `=` between name and value."),
        ('STORAGE_ROOT="/x', "STORAGE_ROOT", 'Close the ", or leave it out.'),
    ],
)
def test_a_line_that_would_be_misread_is_a_fault(line: str, name: str, hint: str, tmp_path: Path) -> None:
    file = read_env_file(_written(tmp_path, f"\n{line}\n"))

    assert [(fault.number, fault.name, fault.hint) for fault in file.faults] == [(2, name, hint)]
    assert file.values() == {}


@pytest.mark.parametrize(
    ("line", "value"), [("A=b#c", "b#c"), ("A='b # c'", "b # c"), ("A=b=c", "b=c"), ("A=", ""), ("A = 'x' ", "x")]
)
def test_a_line_that_decouple_reads_right_is_no_fault(line: str, value: str, tmp_path: Path) -> None:
    file = read_env_file(_written(tmp_path, line))

    assert (file.values(), file.faults) == ({"A": value}, ())


@pytest.mark.timeout(30)
def test_what_is_no_file_is_refused_and_never_waited_for_and_the_null_device_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    for place in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError, match=r"no ordinary file|Is a directory"):
            read_env_file(place)

    assert read_env_file(Path(os.devnull)).lines == ()
