"""Mistakes that are dear to explain: names and paths that take thousands of times as long to compare as others do.

What is counted is work, not time: the stretches that `difflib` looks for, each in as many letters as both names have.
"""

from __future__ import annotations

import difflib
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.patterns import path_expansion
from mcp_agent_mail.domain.patterns.pattern import parse_pattern
from mcp_agent_mail.domain.reservations import RequestedPath
from mcp_agent_mail.features.reservations.path_guidance import find_warnings
from mcp_agent_mail.workspace.facts import Workspaces
from mcp_agent_mail.workspace.pattern_search import PatternSearch
from tests.features.messaging.harness import MessagingHarness, open_messaging, refused_send
from tests.seeded_store import add_agent, add_project

PAIRS = 1_000_000
"""Pairs of equal letters that the hints of one call may look at: a few hundredths of a second."""


@dataclass
class Work:
    pairs: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work()
    find = difflib.SequenceMatcher.find_longest_match

    def counted(matcher: Any, first: int, end: int, others_first: int, others_end: int) -> Any:
        others = Counter(matcher.b[others_first:others_end])
        done.pairs += sum(others[letter] for letter in matcher.a[first:end])
        return find(matcher, first, end, others_first, others_end)

    monkeypatch.setattr(difflib.SequenceMatcher, "find_longest_match", counted)
    return done


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[MessagingHarness]:
    async with open_messaging(tmp_path) as opened:
        yield opened


def like_names(count: int, length: int, seed: int) -> list[str]:
    chosen = random.Random(seed)
    return ["".join(chosen.choice("ab") for _ in range(length)) for _ in range(count)]


async def test_lists_of_names_that_are_all_alike_are_refused_with_little_work(
    harness: MessagingHarness, work: Work
) -> None:
    known = like_names(120, 64, seed=1)
    await harness.seeded.store.write(lambda tx: [add_agent(tx, harness.seeded.app, name) for name in known])
    lists = [",".join(like_names(10, 64, seed)) for seed in range(2, 7)]

    error = await refused_send(harness, to=lists)

    assert work.pairs < PAIRS
    assert error.data["unknown"] == lists


async def test_a_name_that_is_spelt_as_the_worst_ones_are_keeps_no_near_one_from_being_told(
    harness: MessagingHarness, work: Work
) -> None:
    known = ["aab" * 21, *("aab" * 20 + f"a{number}" for number in range(200))]
    await harness.seeded.store.write(lambda tx: [add_agent(tx, harness.seeded.app, name) for name in known])

    error = await refused_send(harness, to=[*("a" * number for number in range(61, 65)), "RedStome"])

    assert work.pairs < PAIRS
    assert error.data["nearest_by_recipient"]["RedStome"] == ["RedStone"]


async def test_addresses_in_projects_that_are_all_alike_are_refused_with_little_work(
    harness: MessagingHarness, work: Work
) -> None:
    paths = [f"/code/{name}" for name in like_names(30, 50, seed=7)]
    await harness.seeded.store.write(lambda tx: [add_project(tx, path) for path in paths])

    with pytest.raises(AgentMailError):
        await harness.send(to=[f"RedStone@/code/{slug}" for slug in like_names(40, 50, seed=8)])

    assert work.pairs < PAIRS


def test_folders_that_are_all_alike_are_compared_with_few_patterns(tmp_path: Path, work: Work) -> None:
    for name in like_names(100, 100, seed=9):
        (tmp_path / name).mkdir()
    search = PatternSearch(tmp_path, seconds=3_600)

    for name in like_names(40, 100, seed=10):
        search.nearest(parse_pattern(f"{name}/*.py"))

    assert work.pairs < PAIRS


def test_braces_of_many_paths_are_shown_with_little_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    class Counted:
        def search(self, text: str) -> Any:
            nonlocal looked_at
            looked_at += len(text)
            return braces.search(text)

    braces = path_expansion._BRACES
    monkeypatch.setattr(path_expansion, "_BRACES", Counted())
    texts = [f"{'{a,b}' * 11}{'z' * 800}{number}" for number in range(500)]
    wanted = [RequestedPath.of(text, parse_pattern(text), exclusive=True) for text in texts]

    warnings = find_warnings(Workspaces(), str(tmp_path), wanted)

    assert looked_at < 3_000_000
    assert [len(warning.did_you_mean) for warning in (warnings[0], warnings[-1])] == [path_expansion.MAX_EXPANDED, 0]
    assert len(warnings) == 500


def test_commas_behind_a_brace_that_is_never_shut_are_gone_through_once() -> None:
    # From each of them anew these would be ten thousand million steps.
    assert path_expansion.has_braces("{" + "," * 300_000 + "{a,b}")
