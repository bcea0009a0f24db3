"""Which paths Git ignores: as Git says it, and Git is only asked where a line may mean such a path."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mcp_agent_mail.workspace import ignored_paths
from mcp_agent_mail.workspace.ignored_paths import KEEP_BYTES, MAX_FILES, IgnoredPaths, fits
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


def test_without_git_nothing_is_said(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert ignored(code, "src/app.py", "a.log") == set()


def test_a_list_that_has_changed_is_read_again_though_its_repository_is_remembered(code: Path) -> None:
    known = lists()
    assert known.doubtful(str(code), ["src/app.py", "a.log"]) == ["a.log"]

    write(code, "src/.gitignore", content="app.*\n")

    assert known.doubtful(str(code), ["src/app.py", "src/local.py"]) == ["src/app.py"]


def test_a_list_that_is_the_same_is_not_read_again(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = lists()
    write(code, "long/.gitignore", content="x\n" * KEEP_BYTES)
    known.doubtful(str(code), ["src/app.py", "long/app.py"])
    read: list[str] = []
    monkeypatch.setattr(ignored_paths, "read_plain", lambda path, *_, **__: read.append(path))

    assert known.doubtful(str(code), ["src/local.py", "long/app.py"]) == ["src/local.py"]
    assert read == [str(code / "long" / ".gitignore")], "a long one is not kept; gone by now, it says nothing"


def test_outside_of_a_repository_and_in_one_that_cannot_be_read_nothing_is_ignored(tmp_path: Path, code: Path) -> None:
    (code / ".git" / "config").write_text("[core")

    assert ignored(tmp_path, "a.log") == set()
    assert ignored(code, "a.log") == set()


def test_in_a_repository_that_has_gone_lately_nothing_is_ignored(code: Path) -> None:
    known = lists()
    assert known.find(str(code), ["a.log"], timeout_s=30.0) == {"a.log"}

    (code / ".git").rename(code / "no.git")

    assert known.doubtful(str(code), ["a.log"]) == ["a.log"], "where it lies is remembered"
    assert known.find(str(code), ["a.log"], timeout_s=30.0) == set()


def test_the_folder_itself_is_no_hidden_one(code: Path) -> None:
    write(code, ".gitignore", content=".*\n")

    assert lists().doubtful(str(code), ["src/app.py", ".env"]) == [".env"]


def test_no_list_behind_a_linked_folder_is_read(code: Path, tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/.gitignore", content="app.*\n")
    (code / "link").symlink_to(tmp_path / "elsewhere")

    assert lists().doubtful(str(code), ["link/app.py"]) == []


def test_a_list_that_is_no_ordinary_file_or_too_long_leaves_it_to_git(code: Path) -> None:
    write(code, "big/.gitignore", content="x\n" * 40_000 + "secret.txt\n")

    assert ignored(code, "big/secret.txt", "big/open.txt") == {"big/secret.txt"}


def test_beyond_the_bound_on_lists_git_is_asked(code: Path) -> None:
    paths = [f"f{number}/app.py" for number in range(MAX_FILES + 20)]
    for path in paths:
        (code / path).parent.mkdir()

    doubtful = lists().doubtful(str(code), [*paths, paths[0]])

    assert doubtful == paths[MAX_FILES - 1 :], "the top's is the first, and one that was read is known"


def test_a_list_behind_a_link_is_left_to_git_so_that_its_changes_are_seen(code: Path, tmp_path: Path) -> None:
    elsewhere = write(tmp_path, "elsewhere", content="nothing\n")
    exclude = code / ".git" / "info" / "exclude"
    exclude.unlink()
    exclude.symlink_to(elsewhere)
    known = lists()
    assert known.doubtful(str(code), ["src/app.py"]) == ["src/app.py"]

    elsewhere.write_text("app.*\n")

    assert known.doubtful(str(code), ["src/app.py"]) == ["src/app.py"]


@pytest.mark.parametrize(
    ("line", "path"),
    [("we\\*rd", "src/we*rd"), ("[[:digit:]]x", "src/7x"), ("x[[:alpha:]_]", "src/x_")],
)
def test_a_line_in_the_harder_forms_is_left_to_git(code: Path, line: str, path: str) -> None:
    write(code, "src/.gitignore", content=f"{line}\n")

    assert ignored(code, path, "src/app.py") == {path}


def test_a_name_longer_than_any_that_a_disk_holds_is_not_taken_apart(code: Path) -> None:
    # Brackets that are never closed: each would be looked for to the line's end.
    write(code, "src/.gitignore", content=f"{'[' * 60_000}\n")

    assert lists().doubtful(str(code), ["src/app.py", "app.py"]) == ["src/app.py"]


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
def git_says_what_it_is_asked(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For as long as the test runs, the repository was made by the real one. The file that tells that it was asked."""
    assert code.is_dir()
    git, asked = tmp_path / "bin" / "git", tmp_path / "asked"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\n: > '{asked}'\nexec cat\n")
    git.chmod(0o700)
    monkeypatch.setenv("PATH", f"{git.parent}:/usr/bin:/bin")
    return asked


def test_git_is_asked_only_where_a_line_may_mean_a_path(code: Path, git_says_what_it_is_asked: Path) -> None:
    assert ignored(code, "src/app.py", "README.md", "lib/") == set()
    assert not git_says_what_it_is_asked.exists()

    assert ignored(code, "src/app.py", "a.log") == {"a.log"}
    assert git_says_what_it_is_asked.exists()


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
