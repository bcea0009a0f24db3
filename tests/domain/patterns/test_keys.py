"""Keys of leases are a necessary condition: what overlaps is found by them."""

from __future__ import annotations

import random

import pytest

from mcp_agent_mail.domain.leases import LeaseKeys
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.keys import TAIL_LENGTH, PathProbe, keys_of, probe_below, probe_of, probe_of_path
from mcp_agent_mail.domain.patterns.pattern import Pattern, covers, overlap, parse_pattern
from mcp_agent_mail.domain.patterns.syntax import UnreadablePattern

PAIRS = 20_000
SEGMENTS = [
    *("a", "b", "ab", "A", "src", "x.py", "y.py", "X.PY", "*.py", "*", "**", "?", "a*", "*b", "[ab]", "[Aa]b"),
    *("[a]x.py", "ü", "\u212a.py", "*.ü", "\\*", "#n", "!x", "k", "\u212a", "a\\", "{a,b}", "*" + "e" * 20),
]


def any_pattern(dice: random.Random) -> Pattern:
    while True:
        text = "/".join(dice.choice(SEGMENTS) for _ in range(dice.randint(1, 4)))
        text += "/" if dice.random() < 0.2 else ""
        try:
            return parse_pattern(text, ignore_case=dice.random() < 0.5).with_folder(dice.random() < 0.3)
        except UnreadablePattern:
            continue


def finds(wanted: Pattern, keys: LeaseKeys) -> bool:
    probe = probe_of(wanted)
    is_above = keys.anchor in probe.above and (probe.tails is None or keys.tail in probe.tails)
    return is_above or keys.anchor == probe.at or keys.anchor.startswith(f"{probe.at}/") or not probe.at


def test_every_lease_that_overlaps_is_found() -> None:
    dice = random.Random(20)
    overlapping = 0

    for _ in range(PAIRS):
        lease, wanted = any_pattern(dice), any_pattern(dice)
        if overlap(lease, wanted, WorkBudget(10**9)):
            overlapping += 1
            assert finds(wanted, keys_of(lease)), f"{lease} and {wanted}"

    assert overlapping > PAIRS // 10


def test_most_of_those_that_do_not_overlap_one_path_are_not_even_looked_at() -> None:
    leases = [f"**/*.e{number}" for number in range(100)] + [f"dir{number}/**" for number in range(100)]

    found = [text for text in leases if finds(parse_pattern("src/api/app.e7"), keys_of(parse_pattern(text)))]

    assert found == ["**/*.e7"]


@pytest.mark.parametrize(
    ("text", "anchor", "tail"),
    [
        ("README.md", "readme.md", ""),
        ("src/**", "src", ""),
        ("src/*.PY", "src", ".py"),
        ("**/*.tar.gz", "", ".tar.gz"),
        ("src/a*", "src", ""),
        ("src/ü/x.py", "src", ""),
        ("tool://Deploy", "tool://deploy", ""),
        ("*" + "e" * 20, "", "e" * TAIL_LENGTH),
    ],
)
def test_keys_are_small_and_plain(text: str, anchor: str, tail: str) -> None:
    assert keys_of(parse_pattern(text)) == LeaseKeys(anchor=anchor, tail=tail)


def reaches(probe: PathProbe, keys: LeaseKeys) -> bool:
    is_below = probe.folder is not None and (not probe.folder or keys.anchor.startswith(f"{probe.folder}/"))
    return is_below or keys.anchor in probe.anchors


def test_every_lease_that_covers_a_path_taken_by_its_letters_is_reached() -> None:
    dice = random.Random(21)
    covering = 0

    for _ in range(PAIRS):
        lease = any_pattern(dice)
        path = "/".join(dice.choice(SEGMENTS) for _ in range(dice.randint(1, 4)))
        if covers(lease, path, WorkBudget(10**9)):
            covering += 1
            assert reaches(probe_of_path(path), keys_of(lease)), f"{lease} and {path}"

    assert covering > PAIRS // 40


def test_every_lease_on_something_below_a_folder_is_reached() -> None:
    dice = random.Random(22)

    for _ in range(PAIRS // 4):
        lease, folder = any_pattern(dice), parse_pattern(f"{dice.choice(('a', 'src', 'a/src', 'A/b'))}/")
        if overlap(lease, folder, WorkBudget(10**9)):
            assert reaches(probe_below(folder), keys_of(lease)), f"{lease} and {folder}"
