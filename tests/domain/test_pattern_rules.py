"""The engine against enumeration: every pair of a pool of generated patterns, on every path of a small world.

`make test` compares 3,240 pairs; `make patterns` (the marker `slow`) compares 180,300.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from mcp_agent_mail.domain.patterns import Pattern, Work, covers, overlap, parse_pattern
from tests.domain.pattern_rules import folders_of, is_below, matches, paths, unescaped

# Rich names stand alone in a pattern, simple ones in paths: so that whatever two patterns have in common, they have
# within the world below.
SIMPLE = ["a", "b", "c", "*", "?", "??", "a*", "*b", "b*", "*a", "[ab]", "[!a]", "[^b]", "[a-b]", "\\a", "[[:alpha:]]"]
ATOMS = ["a", "b", "?", "[ab]", "[!ab]", "[a-c]", "\\b", "[[:alpha:]]"]
STRAY = ["[z-a]", "[]a]", "\\[a]", "[.a]", "[[:digit:]]", "a\\*", "#a", "!b", "{a,b}", "[a]b", ".a", "a[/]b", "[b/]"]
NAMES = ("a", "b", "c", "ab", "ba")
DEPTH = 5


def generate(chance: random.Random) -> tuple[str, bool]:
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


def constructs(mark: tuple[str, bool]) -> list[str]:
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


def engine_pattern(mark: tuple[str, bool]) -> Pattern:
    return parse_pattern(mark[0]).with_folder(mark[1])


def world_of(texts: Iterable[str]) -> set[str]:
    """Paths enough: of simple names, with a rich one first or last, and what the patterns themselves name."""
    simple = list(paths(NAMES, 3))
    rich = {"".join(path.split("/")) for path in paths("abc", 4)}
    short = {name for name in rich if len(name) < 3} | {"1", ".a", "]", "]]", "]a", "a]", "]b", "b]", "]c", "c]"}
    world = {*paths(NAMES, DEPTH), *rich, *short, *paths(short, 2)}
    world |= {f"{first}/{path}" for first in short for path in simple}
    world |= {f"{path}/{last}" for last in short for path in simple}
    world |= {f"{first}/{path}" for first in rich for path in paths(NAMES, 2)}
    world |= {f"{path}/{last}" for path in paths(NAMES, 2) for last in rich}
    for text in texts:
        name = text.strip("/")
        own = {name, name.rpartition("/")[0], unescaped(name)} - {""}
        below = {*short, *simple} if set(text) - set("abc/*?") else short
        world |= own | {f"{path}/{name}" for path in own for name in below}
    return world


def compare(count: int, seed: int) -> tuple[int, int, Counter[str]]:
    """Every pair of `count` patterns; answers with the pairs, those that overlap, and the constructs in them."""
    chance = random.Random(seed)
    pool: list[tuple[str, bool]] = []
    while len(pool) < count:
        if (mark := generate(chance)) not in pool:
            pool.append(mark)
    number = {path: index for index, path in enumerate(sorted(world_of(text for text, _ in pool)))}
    matched = {mark: sum(1 << at for path, at in number.items() if matches(mark, path)) for mark in pool}
    every_folder = {folder for text, _ in pool for folder in folders_of(text)}
    below = {folder: sum(1 << at for path, at in number.items() if is_below(path, folder)) for folder in every_folder}
    patterns = [engine_pattern(mark) for mark in pool]
    hits, seen = 0, Counter[str]()
    for i, one in enumerate(pool):
        for j, other in enumerate(pool[: i + 1]):
            folders = folders_of(one[0], other[0])
            covered = []
            for mark in (one, other):
                trees = [below[folder] for folder in folders if matches(mark, folder)]
                covered.append(matched[mark])
                for tree in trees:
                    covered[-1] |= tree
            expected = covered[0] & covered[1] != 0
            answers = {overlap(patterns[i], patterns[j], Work()), overlap(patterns[j], patterns[i], Work())}
            assert answers == {expected}, (one, other, expected)
            hits += expected
            for mark in (one, other):
                seen.update(constructs(mark))
    return count * (count + 1) // 2, hits, seen


@pytest.mark.parametrize(
    ("count", "seed"),
    [(80, 1), pytest.param(600, 2, marks=pytest.mark.slow)],
    ids=["3240-pairs", "180300-pairs"],
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
            assert covers(pattern, path, Work()) is expected, (mark, path)
