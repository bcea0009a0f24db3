"""Whether a pattern covers a file of the workspace, within a bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.patterns.pattern import Pattern, parse_pattern
from mcp_agent_mail.workspace.pattern_search import MAX_NEAREST, PatternSearch
from tests.workspace.code_repository import write


@pytest.fixture
def code(tmp_path: Path) -> Path:
    root = tmp_path / "code"
    for path in ("src/lexer/words.py", "docs/page.md", "app/[id]/page.tsx", ".git/config"):
        write(root, path)
    (root / "empty").mkdir()
    return root


def pattern(text: str, *, ignore_case: bool = False) -> Pattern:
    return parse_pattern(text, ignore_case=ignore_case)


@pytest.mark.parametrize(
    "text",
    [
        "*.py",
        "src/**",
        "src/*",
        "src/le*",
        "src/lexer/words.py/**",
        "**/words.*",
        "app/[id]/*",
        "/d*",
        "docs/page.md",
    ],
)
def test_a_pattern_that_fits_a_file_is_found_to(code: Path, text: str) -> None:
    assert PatternSearch(code).covers_some(pattern(text)) is True


@pytest.mark.parametrize("text", ["*.rs", "srk/**", "src/parser/*.py", "empty/**", "config", "**/config", "/words*"])
def test_a_pattern_that_fits_none_is_found_to(code: Path, text: str) -> None:
    assert PatternSearch(code).covers_some(pattern(text)) is False


@pytest.mark.parametrize("text", [".git/con*", ".git/**", ".git/config/**", "**/.git/con*"])
def test_of_what_lies_in_gits_own_folder_nothing_is_told(code: Path, text: str) -> None:
    """Whoever reserves `.git/con*` and is not warned would know what lies there."""
    search = PatternSearch(code)

    assert search.covers_some(pattern(text)) is False
    assert search.nearest(pattern(".git/confik/*")) is None


def test_letter_case_is_the_patterns(code: Path) -> None:
    assert PatternSearch(code).covers_some(pattern("SRC/*/*.PY", ignore_case=True)) is True
    assert PatternSearch(code).covers_some(pattern("SRC/*/*.PY")) is False


def test_a_link_that_leads_out_is_a_file_and_nothing_behind_it_is_looked_at(code: Path, tmp_path: Path) -> None:
    write(tmp_path, "secret/plan.rs")
    (code / "out").symlink_to(tmp_path / "secret")

    assert PatternSearch(code).covers_some(pattern("*.rs")) is False
    assert PatternSearch(code).covers_some(pattern("out/**")) is True
    assert PatternSearch(code).is_there("out/plan.rs") is False


def test_a_search_that_has_no_time_left_says_so(code: Path) -> None:
    for number in range(100):
        write(code, f"many/{number}.txt")
    seconds = iter(range(1_000))

    search = PatternSearch(code, elapsed=lambda: float(next(seconds)))

    assert search.covers_some(pattern("*.rs")) is None
    assert search.nearest(pattern("srcs/**")) is None


def test_a_search_that_is_too_much_work_says_so(code: Path) -> None:
    search = PatternSearch(code, max_steps=200)

    found = [search.covers_some(pattern("*.rs")) for _ in range(50)]

    assert (found[0], found[-1]) == (False, None)


def test_the_folder_that_was_meant_is_named(code: Path) -> None:
    search = PatternSearch(code)

    assert search.nearest(pattern("src/lexr/*.py")) == "src/lexer/*.py"
    assert search.nearest(pattern("srcs/**")) == "src/**"
    assert search.nearest(pattern("src/lexer/*.rs")) is None
    assert search.nearest(pattern("target/**")) is None
    assert search.nearest(pattern("*.rs")) is None


def test_no_folder_is_named_for_what_no_file_of_the_workspace_can_lie_in(code: Path) -> None:
    assert PatternSearch(code).nearest(pattern(".gitt/**")) is None


def test_where_letter_case_is_ignored_no_folder_is_named_as_the_disk_may_have_it_in_another(code: Path) -> None:
    assert PatternSearch(code).nearest(pattern("src/lexr/**", ignore_case=True)) is None


def test_where_nothing_may_be_looked_at_nothing_is_there_and_nothing_known(code: Path) -> None:
    search = PatternSearch(code, may_look=lambda: False)

    assert search.is_there("docs/page.md") is False
    assert search.covers_some(pattern("docs/*")) is None
    assert search.covers_some(pattern("*.rs")) is None


def test_of_many_patterns_the_first_are_told_what_was_meant(code: Path) -> None:
    search = PatternSearch(code, seconds=3_600.0)

    found = [search.nearest(pattern("srcs/**")) for _ in range(MAX_NEAREST + 2)]

    assert found == ["src/**"] * MAX_NEAREST + [None] * 2


def test_a_directory_that_is_not_there_is_no_workspace(tmp_path: Path) -> None:
    assert PatternSearch(tmp_path).has_workspace()
    assert not PatternSearch(tmp_path / "gone").has_workspace()
