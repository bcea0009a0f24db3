"""The engine against enumeration: every pair of a pool of generated patterns, on every path of a small world.

`make test` compares 2,485 pairs; `make patterns` (the marker `slow`) compares 180,300.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import combinations_with_replacement, product

import pytest

from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.pattern import Pattern, covers, overlap, parse_pattern
from tests.domain.pattern_rules import Mark, folders_of, is_below, matches, paths, unescaped

# Rich names stand alone in a pattern, simple ones in paths: so that whatever two patterns have in common, they have
# within the world below.
SIMPLE = ["a", "b", "c", "*", "?", "??", "a*", "*b", "b*", "*a", "[ab]", "[!a]", "[^b]", "[a-b]", "\\a", "[[:alpha:]]"]
ATOMS = ["a", "b", "?", "[ab]", "[!ab]", "[a-c]", "\\b", "[[:alpha:]]"]
STRAY = ["[z-a]", "[]a]", "\\[a]", "[.a]", "[[:digit:]]", "a\\*", "#a", "!b", "{a,b}", "[a]b", ".a", "a[/]b", "[b/]"]
NAMES = ("a", "b", "c", "ab", "ba")
DEPTH = 5


def generate(chance: random.Random) -> Mark:
    """One pattern, and whether the workspace has a folder of its name."""
    kind = chance.random()
    if kind < 0.08:
        text = chance.choice(STRAY)
    elif kind < 0.3:
        atoms = [chance.choice(ATOMS) for _ in range(chance.randint(1, 2))]
        stars = ["*" if chance.random() < 0.5 else "" for _ in range(len(atoms) + 1)]
        text = "".join(star + atom for star, atom in zip(stars, [*atoms, ""], strict=True))
        text = ("/" if chance.random() < 0.25 and {"*", "?", "["} & set(text[:1]) else "") + text
    else:
        text = "/".join(_simple_path(chance))
    is_short = text.count("/") < 2
    if is_short and chance.random() < 0.3:
        text = text.removeprefix("/") + chance.choice(["/", "/*", "/**"])
    return parse_pattern(text).text, is_short and chance.random() < 0.4


def _simple_path(chance: random.Random) -> list[str]:
    literal = chance.random() < 0.45
    names = [chance.choice(NAMES if literal else SIMPLE) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.4:
        at = chance.randrange(len(names[:2]) + 1)
        names = [*names[:2][:at], chance.choice(["**", "**", "***"]), *names[:2][at:]]
    return names


def constructs(mark: Mark) -> list[str]:
    """The words under which a pattern is counted."""
    text, is_folder = mark
    found = {
        "*": "*" in text.replace("**", ""),
        "**": "**" in text,
        "?": "?" in text,
        "[...]": "[" in text,
        "[!...]": "[!" in text or "[^" in text,
        "[a-b]": "-" in text,
        "[[:class:]]": "[:" in text,
        "escape": "\\" in text,
        "leading /": text.startswith("/"),
        "final /": text.endswith("/"),
        "dir/* or dir/**": text.endswith(("/*", "/**")),
        "any depth": "/" not in text,
        "literal": not {"*", "?", "["} & set(text),
        "folder": is_folder,
        "# ! {": text[0] in "#!{",
    }
    return [word for word, is_there in found.items() if is_there]


def engine_pattern(mark: Mark) -> Pattern:
    return parse_pattern(mark[0]).with_folder(mark[1])


def below(folders: Iterable[str], names: Iterable[str]) -> set[str]:
    return {"/".join(pair) for pair in product(folders, names)}


def world_of(texts: Iterable[str]) -> list[str]:
    """Paths enough: of simple names, with a rich one first or last, and what the patterns themselves name."""
    simple, near = list(paths(NAMES, 3)), list(paths(NAMES, 2))
    rich = [path.replace("/", "") for path in paths("abc", 4)]
    short = [*(name for name in rich if len(name) < 3), "1", ".a", "]", "]]", "]a", "a]", "]b", "b]", "]c", "c]"]
    world = {*paths(NAMES, DEPTH), *rich, *short, *paths(short, 2)}
    world |= below(short, simple) | below(simple, short) | below(rich, near) | below(near, rich)
    for text in texts:
        name = text.strip("/")
        own = {name, name.rpartition("/")[0], unescaped(name)} - {""}
        world |= own | below(own, [*short, *simple] if set(text) - set("abc/*?") else short)
    return sorted(world)


class Enumeration:
    """What each pattern of a pool covers in the world; a set of paths is the bits of an integer."""

    def __init__(self, pool: list[Mark]) -> None:
        world = world_of(text for text, _ in pool)
        folders = {folder for text, _ in pool for folder in folders_of(text)}
        self.matched = {mark: _bits(matches(mark, path) for path in world) for mark in pool}
        self.below = {folder: _bits(is_below(path, folder) for path in world) for folder in folders}

    def covered(self, mark: Mark, folders: Iterable[str]) -> int:
        """Rule 4 on top of rules 1 to 3: what the pattern matches, and all below the folders that it matches."""
        found = self.matched[mark]
        for folder in folders:
            if matches(mark, folder):
                found |= self.below[folder]
        return found

    def overlap(self, one: Mark, other: Mark) -> bool:
        folders = folders_of(one[0], other[0])
        return self.covered(one, folders) & self.covered(other, folders) != 0


def _bits(flags: Iterable[bool]) -> int:
    return int("".join("1" if is_set else "0" for is_set in flags), 2)


def compare(count: int, seed: int) -> tuple[int, int, Counter[str]]:
    """Every pair of `count` patterns; answers with the pairs, those that overlap, and the constructs in them."""
    chance = random.Random(seed)
    pool: list[Mark] = [("#a", False), ("{a,b}", True), ("!b", False), ("/*b", False)]
    while len(pool) < count:
        if (mark := generate(chance)) not in pool:
            pool.append(mark)
    enumeration = Enumeration(pool)
    hits, seen = 0, Counter[str]()
    patterns = {mark: engine_pattern(mark) for mark in pool}
    for one, other in combinations_with_replacement(pool, 2):
        expected = enumeration.overlap(one, other)
        answers = {overlap(patterns[a], patterns[b], WorkBudget()) for a, b in ((one, other), (other, one))}
        assert answers == {expected}, (one, other, expected)
        hits += expected
        seen.update(constructs(one) + constructs(other))
    return count * (count + 1) // 2, hits, seen


@pytest.mark.parametrize(
    ("count", "seed"),
    [(70, 1), pytest.param(600, 2, marks=pytest.mark.slow)],
    ids=["2485-pairs", "180300-pairs"],
)
def test_generated_pairs_overlap_exactly_where_a_path_of_the_world_is_covered_by_both(count: int, seed: int) -> None:
    pairs, hits, seen = compare(count, seed)

    print(f"{pairs} pairs, {hits} overlap ({hits / pairs:.0%}): {dict(seen)}")  # noqa: T201 - the counts are the proof
    assert hits >= 0.3 * pairs
    assert len(seen) == 15
    assert min(seen.values()) > pairs / 100


def test_a_checked_path_is_covered_exactly_where_the_rules_say() -> None:
    chance = random.Random(3)
    marks = [generate(chance) for _ in range(300)]
    checked = [*paths(NAMES, 3), "[a]", "[a]/b", "a\\*", "#a", "!b/c", "{a,b}", "a[/]b", "[ab]/c/d"]

    for mark in marks:
        pattern = engine_pattern(mark)
        for path in checked:
            parts = path.split("/")
            lies_in = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
            expected = any(matches(mark, folder) for folder in lies_in)
            assert covers(pattern, path, WorkBudget()) is expected, (mark, path)
