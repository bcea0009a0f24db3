"""What a commit or a push changes by its maker's own hand, over real repositories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.guard import changes
from mcp_agent_mail.guard.changes import (
    PushedRef,
    Pusher,
    author_of,
    pushed_paths,
    read_refs,
    staged_paths,
)
from mcp_agent_mail.guard.git import Git, GitRefused, open_git
from mcp_agent_mail.guard.repository import CheckoutLayout, look_at_repository
from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


@contextmanager
def _asked(harness: GuardInProcess, **settings: str) -> Iterator[tuple[Git, CheckoutLayout]]:
    environment = harness.environment(**settings)
    repository = look_at_repository(environment, str(harness.code))
    with open_git(environment, repository.foreign, str(harness.code)) as git:
        yield git, repository


# --- Commits ----------------------------------------------------------------------------------------------------------


def test_both_names_of_a_rename_are_looked_at(harness: GuardInProcess) -> None:
    harness.hold("src/old.py")
    harness.git("mv", "src/old.py", "lib.py")

    code, said = harness.commit()

    assert code == 1
    assert "src/old.py" in said


def test_a_deletion_is_a_change(harness: GuardInProcess) -> None:
    harness.hold("README.md")
    harness.git("rm", "-q", "README.md")

    assert harness.commit()[0] == 1


def test_a_submodule_is_a_path(harness: GuardInProcess) -> None:
    harness.init(harness.root / "lib")
    harness.write("x", cwd=harness.root / "lib")
    harness.git("add", "-A", cwd=harness.root / "lib")
    harness.git("commit", "-qm", "x", cwd=harness.root / "lib")
    harness.hold("vendor/lib")
    harness.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(harness.root / "lib"), "vendor/lib"
    )

    code, said = harness.commit()

    assert code == 1
    assert "  vendor/lib\n" in said


def test_the_first_commit_of_a_repository_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.hold("src/app.py")

    assert harness.commit("src/app.py")[0] == 1
    assert harness.commit("README.md")[0] == 1, "both are staged now"


def test_a_merge_is_not_stopped_by_what_only_came_from_the_other_side(harness: GuardInProcess) -> None:
    harness.git("checkout", "-q", "-b", "other")
    harness.commit("src/app.py", "README.md", AGENT_NAME="RedStone")
    harness.git("checkout", "-q", "main")
    harness.commit("README.md")
    harness.hold("src/app.py")
    harness.try_git("merge", "other", AGENT_NAME="BlueLake")
    harness.write("README.md", "resolved\n")
    harness.git("add", "README.md")

    passes = harness.commit()

    assert passes[0] == 0, passes


def test_a_merge_that_changes_a_held_path_by_hand_is_stopped(harness: GuardInProcess) -> None:
    harness.git("checkout", "-q", "-b", "other")
    harness.commit("src/app.py", "README.md", AGENT_NAME="RedStone")
    harness.git("checkout", "-q", "main")
    harness.commit("README.md")
    harness.hold("src/app.py")
    harness.try_git("merge", "other", AGENT_NAME="BlueLake")
    harness.write("README.md", "resolved\n")
    harness.write("src/app.py", "and something of my own\n")
    harness.git("add", "-A")

    assert harness.commit()[0] == 1


def test_a_picked_change_of_another_is_not_the_pickers(harness: GuardInProcess) -> None:
    harness.git("checkout", "-q", "-b", "other")
    harness.commit("src/app.py", "README.md", AGENT_NAME="RedStone")
    harness.git("checkout", "-q", "main")
    harness.commit("README.md")
    harness.hold("src/app.py")
    harness.try_git("cherry-pick", "other", AGENT_NAME="BlueLake")
    harness.write("README.md", "resolved\n")
    harness.git("add", "README.md")

    done = harness.commit()

    assert done[0] == 0, done


@pytest.mark.parametrize(
    ("content", "why"), [("--output=x\n", "holds something that is no commit"), (f"{'1' * 40}\n", "git diff-index: ")]
)
def test_a_merge_with_what_is_no_commit_here_cannot_be_told(harness: GuardInProcess, content: str, why: str) -> None:
    harness.write("README.md", "changed\n")
    harness.git("add", "-A")
    harness.write(".git/MERGE_HEAD", content)

    with _asked(harness) as (git, repository), pytest.raises(GitRefused, match=why):
        staged_paths(git, repository)


@pytest.mark.parametrize(("folder", "left"), [("rebase-merge", []), ("rebase-apply", []), ("elsewhere", ["README.md"])])
def test_what_a_rebase_brings_counts_while_one_is_under_way(
    harness: GuardInProcess, folder: str, left: list[str]
) -> None:
    harness.git("checkout", "-q", "-b", "other")
    harness.commit("README.md")
    harness.git("checkout", "-q", "main")
    harness.git("checkout", "other", "--", "README.md")
    harness.write(".git/REBASE_HEAD", harness.git("rev-parse", "other"))
    (harness.code / ".git" / folder).mkdir()

    with _asked(harness) as (git, repository):
        assert staged_paths(git, repository) == left


# --- Pushes -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pushing(harness: GuardInProcess) -> GuardInProcess:
    """`code` has `origin`, and everything in it is pushed."""
    harness.git("init", "-q", "--bare", "-b", "main", str(harness.root / "origin.git"))
    harness.git("remote", "add", "origin", str(harness.root / "origin.git"))
    harness.git("push", "-q", "-u", "origin", "main")
    return harness


def clone(harness: GuardInProcess, name: str, author: str) -> Path:
    path = harness.root / name
    harness.git("clone", "-q", str(harness.root / "origin.git"), str(path))
    harness.git("config", "user.name", author, cwd=path)
    harness.git("config", "user.email", f"{author.lower()}@example.com", cwd=path)
    harness.git("config", "agent-mail.project", str(harness.code), cwd=path)
    return path


def test_what_the_remote_has_already_is_not_looked_at(pushing: GuardInProcess) -> None:
    pushing.commit("src/app.py")
    assert pushing.push("origin", "main")[0] == 0
    pushing.hold("src/**")
    pushing.commit("README.md")

    assert pushing.push("origin", "main")[0] == 0


def test_a_new_branch_is_compared_with_all_that_the_remote_has(pushing: GuardInProcess) -> None:
    pushing.git("checkout", "-q", "-b", "feature")
    pushing.commit("README.md")
    pushing.hold("src/app.py")
    assert pushing.push("origin", "feature")[0] == 0

    pushing.commit("src/app.py", AGENT_MAIL_BYPASS="1")

    assert pushing.push("origin", "feature")[0] != 0


def test_a_push_by_force_looks_at_what_is_new_in_it(pushing: GuardInProcess) -> None:
    pushing.commit("README.md")
    assert pushing.push("origin", "main")[0] == 0
    pushing.git("reset", "-q", "--hard", "HEAD~1")
    pushing.commit("src/app.py")
    pushing.hold("src/app.py")

    code, said = pushing.push("--force", "origin", "main")

    assert code != 0
    assert "src/app.py" in said
    assert "README.md" not in said


def test_a_push_to_an_address_without_a_name_is_checked(pushing: GuardInProcess) -> None:
    pushing.commit("src/app.py")
    pushing.hold("src/app.py")

    assert pushing.push(str(pushing.root / "origin.git"), "main:elsewhere")[0] != 0


def test_tags_are_followed_to_their_commits(pushing: GuardInProcess) -> None:
    pushing.commit("src/app.py")
    pushing.git("tag", "-a", "v1", "-m", "v1")
    pushing.git("tag", "blob", pushing.git("rev-parse", "HEAD:README.md").strip())
    pushing.hold("src/app.py")

    assert pushing.push("origin", "blob")[0] == 0, "no commit, nothing to check"
    assert pushing.push("origin", "v1")[0] != 0


def test_anothers_commits_that_were_merged_are_theirs(pushing: GuardInProcess) -> None:
    other = clone(pushing, "other", "RedStone")
    pushing.commit("src/app.py", cwd=other, AGENT_NAME="RedStone")
    pushing.hold("src/app.py")
    pushing.commit("README.md")
    pushing.git("pull", "-q", "--no-rebase", "--no-edit", str(other), "main")

    code, said = pushing.push("origin", "main")

    assert code == 0, said


def test_anothers_commits_that_were_rebased_are_theirs(pushing: GuardInProcess) -> None:
    other = clone(pushing, "other", "RedStone")
    pushing.commit("src/app.py", cwd=other, AGENT_NAME="RedStone")
    pushing.hold("src/app.py")
    pushing.commit("README.md")
    pushing.git("fetch", "-q", str(other), "main:theirs")
    pushing.git("checkout", "-q", "theirs")
    pushing.git("rebase", "-q", "main")

    code, said = pushing.push("origin", "theirs")

    assert code == 0, said


def test_one_git_author_for_all_agents_a_merged_branch_is_not_the_pushers(pushing: GuardInProcess) -> None:
    pushing.git("checkout", "-q", "-b", "theirs")
    pushing.commit("src/app.py", AGENT_NAME="RedStone")
    pushing.git("checkout", "-q", "main")
    pushing.commit("README.md")
    pushing.hold("src/app.py")
    pushing.git("merge", "-q", "--no-edit", "theirs", AGENT_NAME="BlueLake")

    assert pushing.push("origin", "main")[0] == 0


def test_a_clean_merge_that_was_given_another_content_is_the_mergers(pushing: GuardInProcess) -> None:
    pushing.git("checkout", "-q", "-b", "theirs")
    pushing.commit("src/app.py", AGENT_NAME="RedStone")
    pushing.git("checkout", "-q", "main")
    pushing.commit("README.md")
    pushing.git("merge", "-q", "--no-edit", "--no-commit", "theirs")
    pushing.write("src/app.py", "neither side's\n")
    pushing.git("add", "-A")
    pushing.git("commit", "-qm", "evil merge", "--no-verify")
    pushing.hold("src/app.py")

    code, said = pushing.push("origin", "main")

    assert code != 0
    assert "src/app.py" in said


def test_an_agent_known_as_author_is_known_on_any_branch(pushing: GuardInProcess) -> None:
    pushing.git("checkout", "-q", "-b", "mine")
    pushing.commit("src/app.py", GIT_AUTHOR_NAME="BlueLake")
    pushing.git("checkout", "-q", "main")
    pushing.commit("README.md")
    pushing.git("merge", "-q", "--no-edit", "mine")
    pushing.hold("src/app.py")

    assert pushing.push("origin", "main")[0] != 0


def test_names_with_line_breaks_and_bytes_are_read(pushing: GuardInProcess) -> None:
    pushing.write(b"odd/li\nne\xe9 x")
    pushing.git("add", "-A")
    pushing.git("commit", "-qm", "odd", "--no-verify")
    pushing.hold("odd/**")

    code, said = pushing.push("origin", "main")

    assert code != 0
    assert "\\udce9" in said


@pytest.mark.parametrize(
    "line", [b"refs/heads/main", b"a b c --all", b"main HEAD main " + b"0" * 40, b"main " + b"0" * 40 + b" main HEAD"]
)
def test_what_git_does_not_tell_pre_push_is_refused(line: bytes) -> None:
    with pytest.raises(GitRefused, match="no list of refs"):
        read_refs(line)


def test_a_ref_that_goes_changes_nothing_and_a_new_one_is_told_as_such() -> None:
    one, none = "1" * 40, "0" * 40
    told = f"(delete) {none} refs/heads/gone {one}\nrefs/heads/a b {one} refs/heads/a {none}\n"

    (ref,) = read_refs(told.encode())

    assert (ref, ref.is_new) == (PushedRef(local_id=one, remote_id=none), True)


def test_more_commits_than_are_looked_at_are_a_failure(
    pushing: GuardInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_COMMITS", 2)
    for _ in range(3):
        pushing.commit("README.md")

    code, said = pushing.push("origin", "main", AGENT_MAIL_GUARD_ON_ERROR="block")

    assert code == 1
    assert "the push holds more than 2 new commits" in said


def test_each_path_of_a_push_is_told_once_and_without_tips_there_are_none(pushing: GuardInProcess) -> None:
    base = pushing.git("rev-parse", "HEAD").strip()
    pushing.commit("README.md", "src/app.py")
    pushing.git("commit", "-q", "--allow-empty", "-m", "nothing")
    pushing.commit("README.md")
    tip = pushing.git("rev-parse", "HEAD").strip()
    blob = pushing.git("rev-parse", "HEAD:README.md").strip()
    nobody = Pusher(agent=None, author=None)

    with _asked(pushing) as (git, _):
        paths = pushed_paths(git, [PushedRef(local_id=tip, remote_id=base)], "origin", nobody)
        none = pushed_paths(git, [PushedRef(local_id=blob, remote_id="0" * 40)], "origin", nobody)

    assert (sorted(paths), none) == (["README.md", "src/app.py"], [])


def test_what_another_remote_has_is_new_to_this_one(pushing: GuardInProcess) -> None:
    fork = str(pushing.root / "fork.git")
    pushing.git("init", "-q", "--bare", "-b", "main", fork)
    pushing.git("remote", "add", "fork", fork)
    pushing.commit("src/app.py")
    pushing.git("push", "-q", "--no-verify", "fork", "main")
    pushing.hold("src/app.py")

    assert pushing.push("origin", "main")[0] == 1


def test_names_that_begin_with_a_line_break_keep_it(pushing: GuardInProcess) -> None:
    pushing.commit("\tfirst", "\nsecond")
    tip = pushing.git("rev-parse", "HEAD").strip()

    with _asked(pushing) as (git, _):
        new = [PushedRef(local_id=tip, remote_id="0" * 40)]
        paths = pushed_paths(git, new, "origin", Pusher(agent=None, author=None))

    assert paths == ["\tfirst", "\nsecond"]


def test_the_author_of_a_commit_made_now_is_gits(harness: GuardInProcess) -> None:
    with _asked(harness) as (git, _):
        configured = author_of(git)
    harness.git("config", "--unset", "user.name")
    harness.git("config", "--unset", "user.email")
    harness.git("config", "--global", "user.useConfigOnly", "true")

    with _asked(harness, GIT_AUTHOR_NAME="Ann") as (git, _):
        unknown = author_of(git)

    assert (configured, unknown) == (("Grace", "grace@example.com"), None)
