"""Which paths Git ignores: as Git says it, and Git is only asked where a line may mean such a path."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mcp_agent_mail.workspace import ignored_paths
from mcp_agent_mail.workspace.ignored_paths import IgnoredPaths, fits
from tests.workspace.code_repository import begin, commit, git, write

IGNORED = "# no.md\n*.log\ncore.*\n*~\n*.s?p\nq*y\n/build/\nnode_modules\n*.py[cod]\n!keep.log\ndocs/*.tmp\n**/cache/\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    repository = begin(tmp_path / "code")
    write(repository, ".gitignore", content=IGNORED)
    write(repository, "src/.gitignore", content="local.*\n")
    write(repository, ".git/info/exclude", content="mine\n")
    write(repository, "tracked.log")
    git(repository, "add", "-f", "tracked.log")
    commit(repository)
    return repository


def ignored(root: Path, *paths: str) -> set[str]:
    return lists().find(str(root), paths, timeout_s=30.0)


def lists() -> IgnoredPaths:
    return IgnoredPaths(time.monotonic, keep_s=10.0)


def test_what_a_line_of_any_list_ignores_is_told_as_it_was_written(code: Path) -> None:
    yes = ["a.log", "src/x.log", "build/", "build/x.js", "src/node_modules/", "x.pyc", "mine", "src/local.py"]
    yes += ["docs/x.tmp", "a/b/cache/", "core.1", "a.py~", "a.swp", "qay", ":(x).log", "-a.log"]
    no = [
        "a.py",
        "no.md",
        "keep.log",
        "src/build/",
        "local.py",
        "docs/deep/x.tmp",
        ":(glob)**",
        "score.1",
        "axy",
        "y.sp",
    ]

    assert ignored(code, *yes, *no) == set(yes)


def test_a_tracked_file_is_not_ignored_whatever_a_line_says(code: Path) -> None:
    assert ignored(code, "tracked.log") == set()


def test_a_project_below_the_top_goes_by_the_lists_above_it(code: Path) -> None:
    assert ignored(code / "src", "x.log", "local.py", "x.py") == {"x.log", "local.py"}


def test_git_is_not_asked_of_paths_that_no_line_may_mean(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert ignored(code, "src/app.py", "README.md", "lib/") == set()
    assert ignored(code, "a.log") == set(), "without Git nothing is said"


def test_a_list_that_has_changed_is_read_again_though_its_repository_is_remembered(code: Path) -> None:
    known = lists()
    assert known.doubtful(str(code), ["src/app.py", "a.log"]) == ["a.log"]

    write(code, "src/.gitignore", content="app.*\n")

    assert known.doubtful(str(code), ["src/app.py", "src/local.py"]) == ["src/app.py"]


def test_a_list_that_is_the_same_is_not_read_again(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = lists()
    known.doubtful(str(code), ["src/app.py"])
    read: list[str] = []
    monkeypatch.setattr(ignored_paths, "read_plain", lambda path, *_, **__: read.append(path))

    assert known.doubtful(str(code), ["src/local.py"]) == ["src/local.py"]
    assert read == []


def test_outside_of_a_repository_and_in_one_that_cannot_be_read_nothing_is_ignored(tmp_path: Path, code: Path) -> None:
    (code / ".git" / "config").write_text("[core")

    assert ignored(tmp_path, "a.log") == set()
    assert ignored(code, "a.log") == set()


def test_a_list_that_is_no_ordinary_file_or_too_long_leaves_it_to_git(code: Path) -> None:
    write(code, "big/.gitignore", content="x\n" * 40_000 + "secret.txt\n")

    assert ignored(code, "big/secret.txt", "big/open.txt") == {"big/secret.txt"}


@pytest.mark.parametrize(
    ("glob", "name", "is_fit"),
    [
        ("*.log", "a.log", True),
        ("a*b*c", "axxbyyc", True),
        ("a*b*c", "axxbyy", False),
        ("?.py", "a.py", True),
        ("?.py", "ab.py", False),
        ("*", "", True),
        ("a", "", False),
        ("*a", "ba", True),
    ],
)
def test_stars_and_question_marks_fit_names(glob: str, name: str, is_fit: bool) -> None:
    assert fits(glob, name) is is_fit


@pytest.fixture
def git_says_what_it_is_asked(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as the test runs, the repository was made by the real one."""
    assert code.is_dir()
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text("#!/bin/sh\nexec cat\n")
    git.chmod(0o700)
    monkeypatch.setenv("PATH", f"{git.parent}:/usr/bin:/bin")


@pytest.mark.usefixtures("git_says_what_it_is_asked")
def test_beyond_the_bound_on_comparing_git_is_asked_of_every_path(code: Path) -> None:
    write(code, "hard/.gitignore", content="\n".join(f"{'ab' * 100}*{number}*z" for number in range(300)))

    assert ignored(code, "src/app.py", "a.log") == {"a.log"}
    assert ignored(code, "src/app.py", f"hard/{'a' * 200}", "src/x.py") == {f"hard/{'a' * 200}", "src/x.py"}


@pytest.mark.usefixtures("git_says_what_it_is_asked")
@pytest.mark.parametrize("line", ["*z{}", "z{}*"])
def test_endings_and_beginnings_by_the_thousand_are_work_too(code: Path, line: str) -> None:
    write(code, "hard/.gitignore", content="\n".join(line.format(number) for number in range(9_000)))
    deep = "/".join(["hard", *["a"] * 600])

    assert ignored(code, "src/app.py", "hard/a", "a.log") == {"a.log"}
    assert ignored(code, "src/app.py", deep, "src/x.py") == {deep, "src/x.py"}


def test_a_hard_glob_takes_no_longer_than_its_length_times_the_names() -> None:
    assert not fits("*a" * 100 + "b", "a" * 250)
