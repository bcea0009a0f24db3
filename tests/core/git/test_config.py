from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_agent_mail.core.git.config import (
    MAX_LENGTH,
    MAX_STATEMENTS,
    MAX_WANTED,
    Entry,
    UnfitConfig,
    is_true,
    parse_config,
    quoted,
)

EVERYTHING = re.compile(r"(?s:.*)")

TEXT = """\
; a comment
[core]
\tbare = false # another
\thooksPath = "a path; with # signs"  ; and a comment
\tfsmonitor
[Remote "Or.igin \\"x\\""] url = https://example.org/a\\tb
[a.B]
\tkey = one \\
  two   three
\tempty =
[include]
\tpath = /somewhere
"""


def _git_says(text: str) -> list[Entry] | None:
    """What Git reads, or None where it refuses the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config")
        file.write_bytes(text.encode())
        done = subprocess.run(
            ["git", "config", "--file", str(file), "--no-includes", "--list", "-z"],
            capture_output=True,
            check=False,
            cwd=folder,
        )
    if done.returncode != 0:
        return None
    entries = (entry.decode().partition("\n") for entry in done.stdout.split(b"\0")[:-1])
    return [(name, value if separator else None) for name, separator, value in entries]


def test_names_and_values_are_read_and_nothing_is_followed() -> None:
    assert parse_config(TEXT, EVERYTHING) == [
        ("core.bare", "false"),
        ("core.hookspath", "a path; with # signs"),
        ("core.fsmonitor", None),
        ('remote.Or.igin "x".url', "https://example.org/a\tb"),
        ("a.b.key", "one   two   three"),
        ("a.b.empty", ""),
        ("include.path", "/somewhere"),
    ]
    assert parse_config(TEXT, EVERYTHING) == _git_says(TEXT)


@pytest.mark.parametrize(
    "text",
    ["[a\n", "[a]\n= 1\n", '[a]\nk = "open\n', "[a]\nk = \\x\n", '[a "b]\n', "[a]\n1k = 2\n", "[a] k k\n"],
)
def test_what_git_refuses_is_refused(text: str) -> None:
    assert _git_says(text) is None
    with pytest.raises(UnfitConfig):
        parse_config(text, EVERYTHING)


_PIECES = st.sampled_from(
    [
        "[a]",
        "[A.b]",
        '[a "B c"]',
        '[a "x\\"y"]',
        "\n",
        " ",
        "key",
        "= ",
        "value",
        '"',
        "\\\\",
        "\\n",
        "\\",
        "\\\n",
        "#",
        ";",
        "-",
        "1",
        "x y",
    ]
)


@pytest.mark.parametrize("value", ['x ""', '"" x', "x \\", " \\\n x", '" " x ', '"a\\\nb" ', '"open\\', "x # y", '\\"'])
def test_blanks_and_marks_around_a_value_are_gits(value: str) -> None:
    text = f"[a]\nk = {value}"

    try:
        ours: list[Entry] | None = parse_config(text, EVERYTHING)
    except UnfitConfig:
        ours = None

    assert ours == _git_says(text)


def test_only_what_is_wanted_is_kept() -> None:
    text = '[Remote "b.C"] URL = x\nfetch = y\n[remote] url = z\n[core] bare\n[core "a"] bare\n[remote.d] url = w\n'

    found = parse_config(text, re.compile(r"remote\.\*\.url|core\.bare"))

    assert found == [("remote.b.C.url", "x"), ("core.bare", None), ("remote.d.url", "w")]


@pytest.mark.parametrize(
    "text",
    [
        "[a]\n" * (MAX_STATEMENTS + 1),
        "[a]\n" + "k=\n" * MAX_STATEMENTS,
        "[a]\n" + "k=\n" * (MAX_WANTED + 1),
        f'[a "{"x" * MAX_LENGTH}"]\nk = v\n',
        f"[{'x' * (MAX_LENGTH + 1)}]\nk = v\n",
        f"[a]\nk = {'x' * MAX_LENGTH}y\n",
    ],
    ids=["sections", "settings", "wanted settings", "subsection", "section", "value"],
)
def test_more_than_the_bounds_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(UnfitConfig, match="more than") as refused:
        parse_config(text, EVERYTHING)

    assert "Take out of it" in refused.value.hint


def test_what_is_not_wanted_may_be_long() -> None:
    assert parse_config(f"[alias]\nlong = {'x' * 100_000}\n", re.compile("core\\.bare")) == []


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=14).map("".join))
def test_it_reads_what_git_reads(text: str) -> None:
    try:
        ours: list[Entry] | None = parse_config(text, EVERYTHING)
    except UnfitConfig:
        ours = None

    assert ours == _git_says(text)


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), max_size=20))
def test_a_quoted_value_is_read_as_it_was(value: str) -> None:
    assert (
        parse_config(f"[a] k = {quoted(value)}\n", EVERYTHING)
        == [("a.k", value)]
        == _git_says(f"[a] k = {quoted(value)}\n")
    )


def test_truth_is_gits() -> None:
    assert [is_true(value) for value in (None, "true", "YES", "on", "1", "7", "9" * 5_000)] == [True] * 7
    assert [is_true(value) for value in ("", "false", "no", "off", "0", "perhaps", "²")] == [False] * 7
