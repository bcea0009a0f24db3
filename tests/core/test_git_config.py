from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_agent_mail.core.git_config import Entry, UnfitConfig, is_true, parse_config, quoted

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
    assert parse_config(TEXT) == [
        ("core.bare", "false"),
        ("core.hookspath", "a path; with # signs"),
        ("core.fsmonitor", None),
        ('remote.Or.igin "x".url', "https://example.org/a\tb"),
        ("a.b.key", "one   two   three"),
        ("a.b.empty", ""),
        ("include.path", "/somewhere"),
    ]
    assert parse_config(TEXT) == _git_says(TEXT)


@pytest.mark.parametrize(
    "text",
    ["[a\n", "[a]\n= 1\n", '[a]\nk = "open\n', "[a]\nk = \\x\n", '[a "b]\n', "[a]\n1k = 2\n", "[a] k k\n"],
)
def test_what_git_refuses_is_refused(text: str) -> None:
    assert _git_says(text) is None
    with pytest.raises(UnfitConfig):
        parse_config(text)


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
        "\\\n",
        "#",
        ";",
        "-",
        "1",
        "x y",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=14).map("".join))
def test_it_reads_what_git_reads(text: str) -> None:
    try:
        ours: list[Entry] | None = parse_config(text)
    except UnfitConfig:
        ours = None

    assert ours == _git_says(text)


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), max_size=20))
def test_a_quoted_value_is_read_as_it_was(value: str) -> None:
    assert parse_config(f"[a] k = {quoted(value)}\n") == [("a.k", value)] == _git_says(f"[a] k = {quoted(value)}\n")


def test_truth_is_gits() -> None:
    assert [is_true(value) for value in (None, "true", "YES", "on", "1", "7")] == [True] * 6
    assert [is_true(value) for value in ("", "false", "no", "off", "0", "perhaps")] == [False] * 6
