"""The rules for reservation patterns, as the contract writes them, one example each."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import Pattern, anchor, covers, overlap, parse_pattern

ROOT = "/code/app"


def meet(a: str, b: str, *, folder: bool = False, ignore_case: bool = False) -> bool:
    """Whether the patterns overlap, asked both ways; `folder`: the workspace has a folder of the first one's name."""
    one = parse_pattern(a, ignore_case=ignore_case).with_folder(folder)
    other = parse_pattern(b, ignore_case=ignore_case)
    answer = overlap(one, other, WorkBudget())
    assert overlap(other, one, WorkBudget()) is answer
    return answer


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("src/**", "src/app.py"),
        ("*.py", "src/*"),
        ("docs/", "docs/x/y.md"),
        ("src/a*", "src/*b"),
        ("*.py", "src/api/x.py"),
        ("src/**/*.py", "src/api/**"),
        ("src", "src/app.py"),
        ("src/a*", "src/api/x.py"),
        ("src/", "src"),
        ("src/*", "src"),
        ("**", "anything/at/all"),
        ("*", "a/b"),
        ("/*.py", "a*"),
        ("a?c", "x/abc"),
        ("[a-c]x", "d/bx"),
        ("[!a]x", "bx"),
        ("[^a]x", "bx"),
        ("[[:digit:]].md", "docs/[0-9].md"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b"),
        ("**/b", "b"),
        ("a***b", "axb"),
        ("src*/", "src1/x"),
        ("app/[id]/page.tsx", "app/\\[id\\]/page.tsx"),
        ("app/[id]/**", "app/\\[id\\]/page.tsx"),
        ("{a,b}", "{a,b}"),
        ("*.py", "old.py/inner.txt"),
        ("tool://deploy", "tool://deploy"),
        ("[[]x", "\\[x"),
    ],
)
def test_these_cover_a_path_in_common(a: str, b: str) -> None:
    assert meet(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("README.md", "package.json"),
        ("src", "docs"),
        ("*.py", "*.js"),
        ("src/app.py", "src/**/*.js"),
        ("README.md", "docs/README.md"),
        ("src/*.py", "src/api/x.py"),
        ("src", "*.py"),
        ("/*.py", "a/*.py"),
        ("a?c", "ac"),
        ("[a-c]x", "dx"),
        ("[!a]x", "ax"),
        ("[!a]", "[a]"),
        ("a**b", "a/b"),
        ("a/**/b", "ab"),
        ("srcs", "src/x"),
        ("{a,b}", "a"),
        ("src*/", "src1"),
        ("#x", "x"),
        ("!x", "x"),
        ("README.md", "readme.md"),
        ("tool://deploy", "tool://deploy/x"),
        ("tool://a", "**"),
        ("[z-a]", "**/x"),
        ("?", "\\?x"),
        ("[.a]", "[.b]"),
        (".?", "[.][.]"),
    ],
)
def test_these_have_no_path_in_common(a: str, b: str) -> None:
    assert not meet(a, b)


def test_a_path_without_wildcards_counts_as_a_folder_where_the_workspace_has_one() -> None:
    assert meet("src", "*.py", folder=True)
    assert not meet("src", "*.py", folder=False)
    assert not meet("src", "docs/*.py", folder=True)
    assert meet("a\\*", "*.py", folder=True)
    assert not meet("a*", "[b].py", folder=True)


def test_letter_case_is_ignored_where_the_repository_ignores_it() -> None:
    assert meet("README.md", "readme.md", ignore_case=True)
    assert meet("[A-Z].md", "x.MD", ignore_case=True)
    assert meet("\u00c9t\u00e9*", "\u00e9T\u00c9.txt", ignore_case=True)
    assert not meet("[!a]", "A", ignore_case=True)
    assert not meet("[!a]", "[A]", ignore_case=True)


def test_one_pattern_that_ignores_case_is_enough() -> None:
    assert overlap(parse_pattern("A", ignore_case=True), parse_pattern("a"), WorkBudget())
    assert overlap(parse_pattern("a"), parse_pattern("A", ignore_case=True), WorkBudget())


@pytest.mark.parametrize(
    ("text", "is_literal", "is_virtual", "at"),
    [
        ("src/app.py", True, False, "src/app.py"),
        ("src/", False, False, "src"),
        ("src/*", False, False, "src"),
        ("src/a*/b", False, False, "src"),
        ("*.py", False, False, ""),
        ("a/\\*b", True, False, "a"),
        ("app/[id]/x", False, False, "app"),
        ("tool://x", False, True, "tool://x"),
    ],
)
def test_a_pattern_tells_its_kind_and_its_anchor(text: str, *, is_literal: bool, is_virtual: bool, at: str) -> None:
    pattern = parse_pattern(text)

    assert (pattern.is_literal, pattern.is_virtual, anchor(pattern)) == (is_literal, is_virtual, at)


@pytest.mark.parametrize(
    ("text", "path", "covered"),
    [
        ("app/[id]/page.tsx", "app/[id]/page.tsx", True),
        ("app/[id]/page.tsx", "app/i/page.tsx", True),
        ("app/[id]", "app/[id]/page.tsx", True),
        ("app/[id]/", "app/[id]/page.tsx", True),
        ("*.py", "src/x.py", True),
        ("src", "src/x.py", True),
        ("src/x.py", "src", False),
        ("src/a*", "src/api/x.py", True),
        ("src/*.py", "src/api/x.py", False),
        ("tool://x", "tool://x", False),
        ("*.py", "src/\udcff.py", True),
        ("?.py", "\u00e9.py", True),
    ],
)
def test_a_checked_path_is_taken_letter_by_letter(text: str, path: str, *, covered: bool) -> None:
    assert covers(parse_pattern(text), path, WorkBudget()) is covered


def test_work_beyond_the_bound_is_refused_with_a_way_out() -> None:
    hard = parse_pattern("[ab]?[ab]*" * 60)

    with pytest.raises(PatternsTooHard) as refused:
        covers(hard, "a" * 1000, WorkBudget(50))

    assert "Narrow" in refused.value.hint


def test_patterns_with_the_same_text_and_look_are_equal() -> None:
    assert parse_pattern("a*") == parse_pattern("./a*")
    assert parse_pattern("a").with_folder(True) != parse_pattern("a")
    assert parse_pattern("a").with_folder(True).with_folder(False) == parse_pattern("a")
    assert isinstance(hash(parse_pattern("a*")), int)
    assert Pattern(text="a") == parse_pattern("a")
