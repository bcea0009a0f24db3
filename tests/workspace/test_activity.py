"""When a pattern's files were last worked on, in real repositories and without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.domain.staleness import NEVER, NO_WORKSPACE, UNKNOWN, Sighting, WorkspaceActivity
from mcp_agent_mail.workspace.activity import ActivityQuery, Bounds, find_activity
from tests.workspace.code_repository import EPOCH_S, begin, commit, git, write

NOW_S = EPOCH_S + 1_000_000


def activity(root: Path, pattern: str, *, ignore_case: bool = False, bounds: Bounds | None = None) -> WorkspaceActivity:
    query = ActivityQuery(root=root, pattern=stored_pattern(pattern, ignore_case=ignore_case))
    return find_activity(query, bounds or Bounds(), now_s=NOW_S)


def at(seconds: int) -> Sighting:
    return Sighting(last_ts=Micros(seconds * SECOND))


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository with `src/app.py` and `docs/page.md`, both of EPOCH_S."""
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    write(repository, "docs/page.md")
    write(repository, ".gitignore", content="*.log\n")
    commit(repository)
    return repository


def test_the_newest_file_that_a_pattern_covers_counts(code: Path) -> None:
    write(code, "src/app.py", at_s=EPOCH_S + 500)
    patterns = ("src/app.py", "src", "src/", "src/*", "src/**", "*.py", "src/*.py", "**/app.py", "sr*", "/sr*", "s*/")

    seen = {pattern: activity(code, pattern) for pattern in (*patterns, "s[r]c/app.p?")}

    expected = WorkspaceActivity(filesystem=at(EPOCH_S + 500), git=at(EPOCH_S), is_matched=True)
    assert seen == dict.fromkeys(seen, expected)


def test_files_that_a_pattern_does_not_cover_do_not_count(code: Path) -> None:
    write(code, "src/app.py", at_s=EPOCH_S + 500)

    seen = activity(code, "docs/*.md")

    assert seen.filesystem == at(EPOCH_S)


def test_a_new_file_counts_and_an_ignored_one_only_by_its_name(code: Path) -> None:
    write(code, "src/new.py", at_s=EPOCH_S + 700)
    write(code, "src/run.log", at_s=EPOCH_S + 900)

    by_folder = activity(code, "src/")
    by_name = activity(code, "src/run.log")

    assert by_folder.filesystem == at(EPOCH_S + 700)
    assert by_name.filesystem == at(EPOCH_S + 900)


def test_the_newest_commit_of_any_local_branch_counts(code: Path) -> None:
    git(code, "checkout", "--quiet", "-b", "feature")
    write(code, "src/app.py", content="longer\n")
    commit(code, at_s=EPOCH_S + 800)
    git(code, "checkout", "--quiet", "main")

    seen = activity(code, "src/app.py")
    other = activity(code, "docs/page.md")

    assert (seen.git, other.git) == (at(EPOCH_S + 800), at(EPOCH_S))


def test_a_deleted_file_is_known_by_its_commits(code: Path) -> None:
    git(code, "rm", "--quiet", "src/app.py")
    git(code, "commit", "--quiet", "-m", "gone", at_s=EPOCH_S + 50)

    seen = activity(code, "src/app.py")

    assert seen.is_matched
    assert (seen.filesystem, seen.git) == (NEVER, at(EPOCH_S + 50))


def test_names_that_look_like_patterns_or_options_are_files(code: Path) -> None:
    for name in ("app/[id]/page.tsx", ":(top)x", "-n", "!x", "b\\c"):
        write(code, name, at_s=EPOCH_S + 60)

    seen = [
        activity(code, name)
        for name in ("app/[id]/page.tsx", "app/[id]/**", "app/[id]/", ":(top)x", "-n", "!x", "b\\c")
    ]

    assert [one.filesystem for one in seen] == [at(EPOCH_S + 60)] * 7


def test_letter_case_is_ignored_where_the_repository_ignores_it(code: Path) -> None:
    seen = activity(code, "SRC/*.PY", ignore_case=True)
    strict = activity(code, "SRC/*.PY")

    assert (seen.is_matched, strict.is_matched) == (True, False)


def test_a_pattern_of_no_file_a_virtual_name_and_a_missing_workspace_tell_of_nothing(code: Path) -> None:

    assert activity(code, "lib/*.rb") == NO_WORKSPACE
    assert activity(code, "tool://deploy") == NO_WORKSPACE
    assert activity(code / "gone", "src/app.py") == NO_WORKSPACE


def test_a_workspace_without_git_is_walked(tmp_path: Path) -> None:
    write(tmp_path, "src/deep/app.py", at_s=EPOCH_S + 5)
    write(tmp_path, "src/page.md", at_s=EPOCH_S + 90)

    seen = activity(tmp_path, "*.py")

    assert (seen.filesystem, seen.git, seen.is_matched) == (at(EPOCH_S + 5), NEVER, True)


def test_a_repository_without_commits_is_looked_at_all_the_same(tmp_path: Path) -> None:
    repository = begin(tmp_path / "code")
    write(repository, "app.py", at_s=EPOCH_S + 5)

    seen = activity(repository, "app.py")

    assert (seen.filesystem, seen.git) == (at(EPOCH_S + 5), NEVER)


@pytest.mark.parametrize("with_git", [True, False])
def test_more_files_than_are_looked_at_are_unknown_never_idle(tmp_path: Path, with_git: bool) -> None:
    if with_git:
        begin(tmp_path)
    for number in range(5):
        write(tmp_path, f"src/{number}.py")

    seen = activity(tmp_path, "src/", bounds=Bounds(files=3))

    assert not seen.filesystem.is_known
    assert seen.is_matched


def test_a_search_that_runs_out_of_time_is_unknown_never_idle(tmp_path: Path) -> None:
    write(tmp_path, "page.md")
    write(tmp_path, "src/app.py")

    seen = activity(tmp_path, "*.rb", bounds=Bounds(seconds=-1))

    assert (seen.filesystem, seen.is_matched) == (UNKNOWN, True)


def test_what_git_cannot_tell_is_unknown_never_idle(code: Path) -> None:
    (code / ".git" / "index").write_bytes(b"no index at all, but a file that is long enough")

    seen = activity(code, "docs/")

    assert not seen.filesystem.is_known


def test_a_file_behind_a_link_that_leads_out_is_not_looked_at(code: Path) -> None:
    outside = write(code.parent / "outside", "app.py", at_s=EPOCH_S + 900)
    (code / "src" / "app.py").unlink()
    (code / "src").rmdir()
    (code / "src").symlink_to(outside.parent)

    seen = activity(code, "src/app.py")

    assert seen.filesystem.last_ts is None


def test_without_git_a_path_is_one_file_or_all_below_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "src/app.py", at_s=EPOCH_S + 5)
    write(tmp_path, "src/deep/page.md", at_s=EPOCH_S + 9)

    seen = [activity(tmp_path, pattern) for pattern in ("src/app.py", "src", "src/*", "gone")]

    assert [(one.filesystem, one.is_matched) for one in seen] == [
        (at(EPOCH_S + 5), True),
        (at(EPOCH_S + 9), True),
        (at(EPOCH_S + 9), True),
        (NEVER, False),
    ]


def test_without_git_one_file_needs_no_search(tmp_path: Path) -> None:
    write(tmp_path, "src/app.py", at_s=EPOCH_S + 5)

    assert activity(tmp_path, "src/app.py", bounds=Bounds(seconds=-1)).filesystem == at(EPOCH_S + 5)


def test_a_virtual_name_is_no_path_even_where_a_file_has_it(code: Path) -> None:
    write(code, "tool:/deploy")

    assert activity(code, "tool://deploy") == NO_WORKSPACE


def test_without_git_no_link_is_walked_into(tmp_path: Path) -> None:
    write(tmp_path, "outside/app.py", at_s=EPOCH_S + 9)
    root = tmp_path / "code"
    write(root, "a.py", at_s=EPOCH_S)
    (root / "link").symlink_to(tmp_path / "outside")

    assert activity(root, "**/*.py").filesystem == at(EPOCH_S)


def test_a_repository_whose_settings_cannot_be_read_is_unknown_never_idle(code: Path) -> None:
    (code / ".git" / "config").write_text("[broken")

    assert activity(code, "src/") == WorkspaceActivity(filesystem=UNKNOWN, git=UNKNOWN, is_matched=True)


@pytest.mark.parametrize("with_git", [True, False])
def test_a_file_is_found_whose_name_is_written_with_escapes(tmp_path: Path, with_git: bool) -> None:
    if with_git:
        begin(tmp_path)
    write(tmp_path, ".gitignore", content="*.log\n")
    write(tmp_path, "app/[id]/page.tsx", at_s=EPOCH_S + 5)
    write(tmp_path, "app/[id]/run.log", at_s=EPOCH_S + 7)
    write(tmp_path, "app/\\*.py", at_s=EPOCH_S + 9)

    seen = [activity(tmp_path, path) for path in ("app/\\[id\\]/page.tsx", "app/\\[id\\]/run.log", "app/\\*.py")]

    assert [(one.filesystem, one.is_matched) for one in seen] == [(at(EPOCH_S + then), True) for then in (5, 7, 9)]
    assert activity(tmp_path, "app/\\[id\\]").filesystem.last_ts is not None


def test_a_folder_that_a_pattern_names_exactly_is_no_file_of_its_own(code: Path) -> None:
    os.utime(code / "src", (EPOCH_S + 900, EPOCH_S + 900))

    assert activity(code, "src").filesystem == at(EPOCH_S)
    assert activity(code, "empty") == NO_WORKSPACE
