from __future__ import annotations

import pytest

from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.workspace.pathspecs import literal_paths, pathspecs


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/app.py", ["src/app.py"]),
        ("src/", ["src"]),
        ("src/*", ["src"]),
        ("src/**", ["src"]),
        ("*.py", []),
        ("app/[id]/page.tsx", []),
        ("app/\\[id\\]/x", ["app/[id]/x", "app/\\[id\\]/x"]),
        ("a\\b/", []),
    ],
)
def test_a_pattern_without_wildcards_means_its_path_and_what_it_is_written_as(text: str, paths: list[str]) -> None:
    assert literal_paths(stored_pattern(text)) == paths


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("src/app.py", [":(literal)src/app.py"]),
        ("src/", [":(literal)src"]),
        ("*.py", [":(glob)**/*.py", ":(glob)**/*.py/**", ":(literal)*.py"]),
        ("/*.py", [":(glob)*.py", ":(glob)*.py/**", ":(literal)*.py"]),
        ("src/*.py", [":(glob)src/*.py", ":(glob)src/*.py/**", ":(literal)src/*.py"]),
        ("s*/", [":(glob)s*", ":(glob)s*/**", ":(literal)s*"]),
        ("app/[id]/*", [":(glob)app/[id]/*", ":(glob)app/[id]/*/**", ":(literal)app/[id]"]),
        ("a/\\*b", [":(glob)a/\\*b", ":(glob)a/\\*b/**", ":(literal)a/\\*b"]),
    ],
)
def test_git_is_asked_for_the_pattern_for_all_below_and_for_its_text_as_a_path(text: str, specs: list[str]) -> None:
    assert pathspecs(stored_pattern(text)) == specs


def test_git_ignores_letter_case_where_the_pattern_does() -> None:
    assert pathspecs(stored_pattern("src/a", ignore_case=True)) == [":(literal,icase)src/a"]
    assert pathspecs(stored_pattern("*.py", ignore_case=True))[0] == ":(glob,icase)**/*.py"
