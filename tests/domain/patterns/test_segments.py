"""One segment of a pattern, and whether two of them can be one name."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.charsets import ANY
from mcp_agent_mail.domain.patterns.segments import EVERY_NAME, Glob, Name, has_special, names_meet, read_name


def name(text: str, *, ignore_case: bool = False) -> Name:
    return read_name(text, ignore_case=ignore_case)


def glob(text: str, *, ignore_case: bool = False) -> Glob:
    return Glob(text, ignore_case=ignore_case)


def meet(a: Name, b: Name) -> bool:
    answer = names_meet(a, b, WorkBudget())
    assert names_meet(b, a, WorkBudget()) is answer
    return answer


def cost(a: Name, b: Name) -> int:
    """Of a first comparison: what was read is remembered."""
    work = WorkBudget()
    names_meet(a, b, work)
    return work.spent


@pytest.mark.parametrize(
    ("text", "plain"), [("app.py", "app.py"), ("a\\*b", "a*b"), ("\\[id\\]", "[id]"), ("\\\\", "\\"), ("A", "A")]
)
def test_what_stands_for_one_name_is_that_name(text: str, plain: str) -> None:
    assert name(text) == plain


@pytest.mark.parametrize("text", ["*", "a?", "[ab]", "\\a*", "\\*[b]"])
def test_what_stands_for_many_names_is_a_glob(text: str) -> None:
    assert isinstance(name(text), Glob)
    assert has_special(text)


def test_names_are_folded_where_letter_case_is_ignored() -> None:
    assert name("READ\\ME", ignore_case=True) == "readme"
    assert name("README", ignore_case=True) == "readme"
    assert not has_special("README")


@pytest.mark.parametrize(
    ("text", "prefix", "suffix"),
    [("a*b", "a", "b"), ("*", "", ""), ("a?b*c", "a", "c"), ("a[b]c", "a", ""), ("a\\*b*", "a", "")],
)
def test_the_plain_ends_of_a_glob_are_told(text: str, prefix: str, suffix: str) -> None:
    assert (glob(text).prefix, glob(text).suffix) == (prefix, suffix)


def test_a_glob_is_read_into_what_stands_between_its_stars() -> None:
    work = WorkBudget()

    assert glob("a*b**c").pieces(work) == ("a", "b", "c")
    assert glob("a?*").pieces(work) == (("a", ANY), "")
    assert glob("\\a*[bd]").pieces(work) == ("a", (((98, 98), (100, 100)),))
    assert glob("A*B", ignore_case=True).pieces(work) == ("a", "b")
    assert glob("\\A*B", ignore_case=True).pieces(work) == ("a", "b")


def test_a_glob_is_read_once() -> None:
    work, read = WorkBudget(), glob("a*b")
    first = read.pieces(work)
    spent = work.spent

    assert read.pieces(work) is first
    assert work.spent == spent


def test_wide_ranges_cost_more_where_letter_case_is_ignored() -> None:
    ascii_only, unicode = WorkBudget(), WorkBudget()

    glob("[a-z]*", ignore_case=True).pieces(ascii_only)
    glob("[\u00e4-\u00fc]*", ignore_case=True).pieces(unicode)

    assert unicode.spent > 1_000 > ascii_only.spent


@pytest.mark.parametrize(
    ("text", "is_void"),
    [("[z-a]", True), ("a[z-a]b", True), ("[.]", True), ("[.][.]", True), ("[.]?", False), ("a*", False)],
)
def test_a_glob_that_no_name_fits_is_void(text: str, *, is_void: bool) -> None:
    work, asked = WorkBudget(), glob(text)

    assert asked.is_void(work) is is_void
    assert asked.is_void(work) is is_void


def test_stars_alone_stand_for_every_name_and_two_for_any_depth() -> None:
    assert [(glob(text).is_every(), glob(text).is_any_depth()) for text in ("*", "**", "***", "a*", "a**")] == [
        (True, False),
        (True, True),
        (True, True),
        (False, False),
        (False, False),
    ]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("x", "x"),
        ("*.py", "x.py"),
        ("[b]c", "bc"),
        ("a*", "*b"),
        ("a*b", "a?b"),
        ("?", "[ab]"),
        ("a?c", "[a]b*"),
        ("[ab]?", "ac"),
        ("*", "..."),
        ("\\**", "\\*x"),
    ],
)
def test_these_can_be_one_name(a: str, b: str) -> None:
    assert meet(name(a), name(b))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("x", "y"),
        ("*.py", "x.js"),
        ("a*", "b*"),
        ("*a", "*b"),
        ("a?", "a"),
        ("[ab]", "[cd]"),
        (".?", "*."),
        ("[.a]", "[.b]"),
        ("a*", "[b]*"),
    ],
)
def test_these_are_never_one_name(a: str, b: str) -> None:
    assert not meet(name(a), name(b))


def test_letter_case_is_ignored_where_it_was_read_so() -> None:
    assert meet(name("A*B", ignore_case=True), name("aXb", ignore_case=True))
    assert meet(name("A[B]", ignore_case=True), name("ab", ignore_case=True))
    assert meet(name("A?B?", ignore_case=True), name("aXbC", ignore_case=True))


@pytest.mark.parametrize(("text", "other"), [("a*[x-z]", "b*[x-z]"), ("a*b", "c*a"), ("a*b", "xb"), ("a*b", "ax")])
def test_ends_that_disagree_decide_without_anything_being_read(text: str, other: str) -> None:
    one, reading = glob(text), WorkBudget()

    assert not meet(one, glob(other) if has_special(other) else other)

    one.pieces(reading)
    assert reading.spent > 0


def test_sets_cost_more_to_compare_than_letters_and_large_ones_more_than_small_ones() -> None:
    letter, small, large = (glob(text) for text in ("?\\a", "?[ab]", "?[acegikmoqsuwy]"))
    for read in (letter, small, large):
        read.pieces(WorkBudget(10**6))

    assert cost(letter, letter) < cost(letter, small) <= cost(letter, large) < cost(large, large)
    assert cost(small, small) < cost(small, large) < cost(large, large)
    assert cost(letter, large) == cost(large, letter)


def test_the_star_meets_whatever_is_a_name() -> None:
    assert meet(EVERY_NAME, name("x"))
    assert meet(EVERY_NAME, name("[.]?"))
