from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.staleness import NEVER, NO_WORKSPACE, UNKNOWN, Sighting
from mcp_agent_mail.workspace.activity import Bounds
from mcp_agent_mail.workspace.facts import KEEP_S, Workspaces
from tests.workspace.code_repository import EPOCH_S, begin, commit, git, write

NOW_S = EPOCH_S + 1_000_000


@dataclass
class Stopwatch:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def workspaces(watch: Stopwatch | None = None, **bounds: float) -> Workspaces:
    limits = Bounds(**bounds)  # type: ignore[arg-type]  # counts and seconds alike
    return Workspaces(bounds=limits, clock=lambda: Micros(NOW_S * SECOND), elapsed=watch or Stopwatch())


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


# --- Facts of the repository ---------------------------------------------------------------------


def test_letter_case_is_what_the_repository_says(code: Path) -> None:
    git(code, "config", "core.ignorecase", "true")

    assert workspaces().ignore_case(str(code)) is True


def test_letter_case_matters_where_nothing_says_otherwise(tmp_path: Path) -> None:
    assert workspaces().ignore_case(str(tmp_path)) is False
    assert workspaces().ignore_case(str(tmp_path / "gone")) is False


def test_the_branch_is_the_one_checked_out_even_before_its_first_commit(tmp_path: Path) -> None:
    repository = begin(tmp_path / "code")
    git(repository, "checkout", "--quiet", "-b", "feature/x")

    assert workspaces().branch(str(repository)) == "feature/x"


def test_there_is_no_branch_when_detached_or_without_a_repository(code: Path, tmp_path: Path) -> None:
    git(code, "checkout", "--quiet", "--detach")

    assert workspaces().branch(str(code)) is None
    assert workspaces().branch(str(tmp_path / "gone")) is None


def test_a_fact_is_remembered_for_some_seconds_and_looked_up_again_after(code: Path) -> None:
    watch = Stopwatch()
    spaces = workspaces(watch)
    spaces.branch(str(code))
    git(code, "checkout", "--quiet", "-b", "other")

    watch.seconds = KEEP_S
    remembered = spaces.branch(str(code))
    watch.seconds = KEEP_S + 0.1
    looked_up = spaces.branch(str(code))

    assert (remembered, looked_up) == ("main", "other")


# --- Folders -------------------------------------------------------------------------------------


def test_a_folder_is_one_and_a_file_or_nothing_is_not(code: Path) -> None:
    spaces = workspaces()

    found = {path: spaces.is_folder(str(code), path) for path in ("src", "src/", "src/app.py", "gone", "")}

    assert found == {"src": True, "src/": True, "src/app.py": False, "gone": False, "": False}


@pytest.mark.parametrize("path", ["..", "../outside", "src/../../outside", "/etc", "a\0b"])
def test_a_path_out_of_the_workspace_is_no_folder(code: Path, path: str) -> None:
    (code.parent / "outside").mkdir()

    assert workspaces().is_folder(str(code), path) is False


def test_no_symbolic_link_leads_out_of_the_workspace(code: Path) -> None:
    (code.parent / "outside" / "deep").mkdir(parents=True)
    (code / "out").symlink_to(code.parent / "outside")
    (code / "in").symlink_to(code / "src")

    found = [workspaces().is_folder(str(code), path) for path in ("out", "out/deep", "in")]

    assert found == [False, False, False]


# --- Activity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "src/app.py",
        "src",
        "src/",
        "src/*",
        "src/**",
        "*.py",
        "src/*.py",
        "**/app.py",
        "sr*",
        "s[r]c/app.p?",
        "/sr*",
        "s*/",
    ],
)
def test_the_newest_file_that_a_pattern_covers_counts(code: Path, pattern: str) -> None:
    write(code, "src/app.py", at_s=EPOCH_S + 500)

    seen = workspaces().activity(str(code), pattern, ignore_case=False)

    assert seen.filesystem == at(EPOCH_S + 500)
    assert seen.git == at(EPOCH_S)
    assert seen.is_matched


def test_files_that_a_pattern_does_not_cover_do_not_count(code: Path) -> None:
    write(code, "src/app.py", at_s=EPOCH_S + 500)

    seen = workspaces().activity(str(code), "docs/*.md", ignore_case=False)

    assert seen.filesystem == at(EPOCH_S)


def test_a_new_file_counts_and_an_ignored_one_only_by_its_name(code: Path) -> None:
    write(code, "src/new.py", at_s=EPOCH_S + 700)
    write(code, "src/run.log", at_s=EPOCH_S + 900)
    spaces = workspaces()

    by_folder = spaces.activity(str(code), "src/", ignore_case=False)
    by_name = spaces.activity(str(code), "src/run.log", ignore_case=False)

    assert by_folder.filesystem == at(EPOCH_S + 700)
    assert by_name.filesystem == at(EPOCH_S + 900)


def test_the_newest_commit_of_any_local_branch_counts(code: Path) -> None:
    git(code, "checkout", "--quiet", "-b", "feature")
    write(code, "src/app.py", content="longer\n")
    commit(code, at_s=EPOCH_S + 800)
    git(code, "checkout", "--quiet", "main")

    seen = workspaces().activity(str(code), "src/app.py", ignore_case=False)
    other = workspaces().activity(str(code), "docs/page.md", ignore_case=False)

    assert (seen.git, other.git) == (at(EPOCH_S + 800), at(EPOCH_S))


def test_a_deleted_file_is_known_by_its_commits(code: Path) -> None:
    git(code, "rm", "--quiet", "src/app.py")
    git(code, "commit", "--quiet", "-m", "gone", at_s=EPOCH_S + 50)

    seen = workspaces().activity(str(code), "src/app.py", ignore_case=False)

    assert seen.is_matched
    assert (seen.filesystem, seen.git) == (NEVER, at(EPOCH_S + 50))


def test_names_that_look_like_patterns_or_options_are_files(code: Path) -> None:
    for name in ("app/[id]/page.tsx", ":(top)x", "-n", "!x", "b\\c"):
        write(code, name, at_s=EPOCH_S + 60)

    seen = [
        workspaces().activity(str(code), name, ignore_case=False)
        for name in ("app/[id]/page.tsx", "app/[id]/**", "app/[id]/", ":(top)x", "-n", "!x", "b\\c")
    ]

    assert [one.filesystem for one in seen] == [at(EPOCH_S + 60)] * 7


def test_letter_case_is_ignored_where_the_repository_ignores_it(code: Path) -> None:
    seen = workspaces().activity(str(code), "SRC/*.PY", ignore_case=True)
    strict = workspaces().activity(str(code), "SRC/*.PY", ignore_case=False)

    assert (seen.is_matched, strict.is_matched) == (True, False)


def test_a_pattern_of_no_file_a_virtual_name_and_a_missing_workspace_tell_of_nothing(code: Path) -> None:
    spaces = workspaces()

    assert spaces.activity(str(code), "lib/*.rb", ignore_case=False) == NO_WORKSPACE
    assert spaces.activity(str(code), "tool://deploy", ignore_case=False) == NO_WORKSPACE
    assert spaces.activity(str(code / "gone"), "src/app.py", ignore_case=False) == NO_WORKSPACE


def test_a_workspace_without_git_is_walked(tmp_path: Path) -> None:
    write(tmp_path, "src/deep/app.py", at_s=EPOCH_S + 5)
    write(tmp_path, "src/page.md", at_s=EPOCH_S + 90)

    seen = workspaces().activity(str(tmp_path), "*.py", ignore_case=False)

    assert (seen.filesystem, seen.git, seen.is_matched) == (at(EPOCH_S + 5), NEVER, True)


def test_a_repository_without_commits_is_looked_at_all_the_same(tmp_path: Path) -> None:
    repository = begin(tmp_path / "code")
    write(repository, "app.py", at_s=EPOCH_S + 5)

    seen = workspaces().activity(str(repository), "app.py", ignore_case=False)

    assert (seen.filesystem, seen.git) == (at(EPOCH_S + 5), NEVER)


@pytest.mark.parametrize("with_git", [True, False])
def test_more_files_than_are_looked_at_are_unknown_never_idle(tmp_path: Path, with_git: bool) -> None:
    if with_git:
        begin(tmp_path)
    for number in range(5):
        write(tmp_path, f"src/{number}.py")

    seen = workspaces(files=3).activity(str(tmp_path), "src/", ignore_case=False)

    assert not seen.filesystem.is_known
    assert seen.is_matched


def test_a_search_that_runs_out_of_time_is_unknown_never_idle(tmp_path: Path) -> None:
    write(tmp_path, "page.md")
    write(tmp_path, "src/app.py")

    seen = workspaces(seconds=-1).activity(str(tmp_path), "*.rb", ignore_case=False)

    assert (seen.filesystem, seen.is_matched) == (UNKNOWN, True)


def test_what_git_cannot_tell_is_unknown_never_idle(code: Path) -> None:
    (code / ".git" / "index").write_bytes(b"no index at all, but a file that is long enough")

    seen = workspaces().activity(str(code), "docs/", ignore_case=False)

    assert not seen.filesystem.is_known


def test_a_file_behind_a_link_that_leads_out_is_not_looked_at(code: Path) -> None:
    outside = write(code.parent / "outside", "app.py", at_s=EPOCH_S + 900)
    (code / "src" / "app.py").unlink()
    (code / "src").rmdir()
    (code / "src").symlink_to(outside.parent)

    seen = workspaces().activity(str(code), "src/app.py", ignore_case=False)

    assert seen.filesystem.last_ts is None


def test_nothing_that_the_repositorys_own_settings_name_is_run(code: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {told}\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "gpg.program", "core.pager", "core.sshCommand", "diff.external"):
        git(code, "config", name, str(program))
    git(code, "config", "log.showSignature", "true")
    spaces = workspaces()

    spaces.activity(str(code), "src/", ignore_case=False)
    spaces.branch(str(code))
    spaces.ignore_case(str(code))

    assert not told.exists()


def test_evidence_gathered_anew_does_not_come_from_memory(code: Path) -> None:
    spaces = workspaces()
    spaces.activity(str(code), "src/app.py", ignore_case=False)
    write(code, "src/app.py", at_s=EPOCH_S + 77)

    remembered = spaces.activity(str(code), "src/app.py", ignore_case=False)
    anew = spaces.activity(str(code), "src/app.py", ignore_case=False, anew=True)

    assert (remembered.filesystem, anew.filesystem) == (at(EPOCH_S), at(EPOCH_S + 77))
