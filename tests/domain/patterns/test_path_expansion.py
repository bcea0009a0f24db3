"""Several paths in one text: told from one path, and never guessed of a file that is there."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.path_expansion import MAX_EXPANDED, expanded_braces, has_braces, listed_paths


def nothing_there(_: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/a.py,src/b.py", ["src/a.py", "src/b.py"]),
        (" src/a.py, README.md ", ["src/a.py", "README.md"]),
        ("src/a.py src/b.py", ["src/a.py", "src/b.py"]),
        ("src/a.py\nsrc/b.py", ["src/a.py", "src/b.py"]),
        ("src/*.py tests/**", ["src/*.py", "tests/**"]),
        ("src/ docs/", ["src/", "docs/"]),
        (".env .gitignore", [".env", ".gitignore"]),
        ("src/api src/web", ["src/api", "src/web"]),
        ("tool://deploy,tool://test", ["tool://deploy", "tool://test"]),
        ("src/a.py src/b.py,docs/c.md", ["src/a.py", "src/b.py", "docs/c.md"]),
        ("src/{a,b}.py,src/c.py", ["src/{a,b}.py", "src/c.py"]),
    ],
)
def test_parts_that_look_like_paths_are_a_list(text: str, paths: list[str]) -> None:
    assert listed_paths(text, nothing_there) == paths


@pytest.mark.parametrize(
    "text",
    [
        "src/a.py",
        "src/{a,b}.py",
        "src/[a,b].py",
        "docs/release notes.md",
        "docs/my notes/today.md",
        "my file.txt",
        "a,b",
        "Makefile Dockerfile",
        "src/a\\,src/b.py",
        "src/a.py\\ src/b.py",
        ",",
        "",
    ],
)
def test_a_text_that_can_be_one_path_is_none(text: str) -> None:
    assert listed_paths(text, nothing_there) == []


def test_a_name_without_slash_and_ending_is_a_path_where_it_is_there() -> None:
    assert listed_paths("Makefile src/a.py", {"Makefile"}.__contains__) == ["Makefile", "src/a.py"]
    assert listed_paths("Makefile,Dockerfile", {"Makefile", "Dockerfile"}.__contains__) == ["Makefile", "Dockerfile"]
    assert listed_paths("Makefile,Dockerfile", {"Makefile"}.__contains__) == []


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/{a,b}.py", ["src/a.py", "src/b.py"]),
        ("src/{a, b}.py", ["src/a.py", "src/b.py"]),
        ("{src,tests}/{x,y}", ["src/x", "src/y", "tests/x", "tests/y"]),
        ("{a,{b,c}}", ["a", "b", "c"]),
        ("app/{id}/page.py", []),
        ("src/\\{a,b}.py", []),
        ("src/a.py", []),
    ],
)
def test_braces_stand_for_what_a_shell_makes_of_them(text: str, paths: list[str]) -> None:
    assert sorted(expanded_braces(text, WorkBudget())) == paths
    assert has_braces(text) is bool(paths)


def test_many_braces_are_shown_as_a_few_paths() -> None:
    assert len(expanded_braces("{a,b}" * 10, WorkBudget())) == MAX_EXPANDED
    assert expanded_braces("{a,a,a,b}", WorkBudget()) == ["a", "b"]


def test_more_braces_than_people_write_are_shown_as_none() -> None:
    assert expanded_braces("{a,b}" * 200, WorkBudget()) == []
    assert has_braces("{a,b}" * 200)


def test_the_work_of_showing_what_braces_stand_for_is_counted() -> None:
    work = WorkBudget(100)

    with pytest.raises(PatternsTooHard):
        [expanded_braces("{a,b}" * 10, work) for _ in range(10)]
