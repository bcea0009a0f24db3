"""pre-push with real Git between a bare repository and clones of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.harness import GuardHarness


@pytest.fixture
def harness(tmp_path: Path) -> GuardHarness:
    """`code` has `origin`, and everything in it is pushed."""
    harness = GuardHarness(tmp_path)
    harness.git("init", "-q", "--bare", "-b", "main", str(harness.root / "origin.git"))
    harness.base("src/app.py", "README.md")
    harness.git("remote", "add", "origin", str(harness.root / "origin.git"))
    harness.git("push", "-q", "-u", "origin", "main")
    harness.hook_up()
    harness.write_snapshot()
    return harness


def push(harness: GuardHarness, *arguments: str, cwd: Path | None = None, **settings: str) -> tuple[int, str]:
    return harness.try_git(
        "push", *(arguments or ("origin", "main")), cwd=cwd, **{"AGENT_NAME": "BlueLake", **settings}
    )


def clone(harness: GuardHarness, name: str, author: str) -> Path:
    path = harness.root / name
    harness.git("clone", "-q", str(harness.root / "origin.git"), str(path))
    harness.git("config", "user.name", author, cwd=path)
    harness.git("config", "user.email", f"{author.lower()}@example.com", cwd=path)
    harness.git("config", "agent-mail.project", str(harness.code), cwd=path)
    harness.hook_up(path)
    return path


def test_commits_that_change_a_held_path_are_not_pushed(harness: GuardHarness) -> None:
    harness.commit("src/app.py")
    harness.hold("src/**")

    code, said = push(harness)

    assert code != 0
    assert "push refused: 1 path is held by another agent" in said
    assert "AGENT_MAIL_BYPASS=1 git push" in said
    assert [event["hook"] for event in harness.spooled()] == ["pre-push"]
    assert push(harness, AGENT_MAIL_BYPASS="1")[0] == 0


def test_what_the_remote_has_already_is_not_looked_at(harness: GuardHarness) -> None:
    harness.commit("src/app.py")
    assert push(harness)[0] == 0
    harness.hold("src/**")
    harness.commit("README.md")

    assert push(harness)[0] == 0


def test_a_new_branch_is_compared_with_all_that_the_remote_has(harness: GuardHarness) -> None:
    harness.git("checkout", "-q", "-b", "feature")
    harness.commit("README.md")
    harness.hold("src/app.py")
    assert push(harness, "origin", "feature")[0] == 0

    harness.commit("src/app.py", AGENT_MAIL_BYPASS="1")

    assert push(harness, "origin", "feature")[0] != 0


def test_deleting_a_branch_changes_no_file(harness: GuardHarness) -> None:
    harness.git("push", "-q", "--no-verify", "origin", "main:gone")
    harness.hold("**")

    assert push(harness, "origin", ":gone")[0] == 0


def test_a_push_by_force_looks_at_what_is_new_in_it(harness: GuardHarness) -> None:
    harness.commit("README.md")
    assert push(harness)[0] == 0
    harness.git("reset", "-q", "--hard", "HEAD~1")
    harness.commit("src/app.py")
    harness.hold("src/app.py")

    code, said = push(harness, "--force", "origin", "main")

    assert code != 0
    assert "src/app.py" in said
    assert "README.md" not in said


def test_a_push_to_an_address_without_a_name_is_checked(harness: GuardHarness) -> None:
    harness.commit("src/app.py")
    harness.hold("src/app.py")

    assert push(harness, str(harness.root / "origin.git"), "main:elsewhere")[0] != 0


def test_tags_are_followed_to_their_commits(harness: GuardHarness) -> None:
    harness.commit("src/app.py")
    harness.git("tag", "-a", "v1", "-m", "v1")
    harness.git("tag", "blob", harness.git("rev-parse", "HEAD:README.md").strip())
    harness.hold("src/app.py")

    assert push(harness, "origin", "blob")[0] == 0, "no commit, nothing to check"
    assert push(harness, "origin", "v1")[0] != 0


def test_anothers_commits_that_were_merged_are_theirs(harness: GuardHarness) -> None:
    other = clone(harness, "other", "RedStone")
    harness.commit("src/app.py", cwd=other, AGENT_NAME="RedStone")
    harness.hold("src/app.py")
    harness.commit("README.md")
    harness.git("pull", "-q", "--no-rebase", "--no-edit", str(other), "main")

    code, said = push(harness)

    assert code == 0, said


def test_anothers_commits_that_were_rebased_are_theirs(harness: GuardHarness) -> None:
    other = clone(harness, "other", "RedStone")
    harness.commit("src/app.py", cwd=other, AGENT_NAME="RedStone")
    harness.hold("src/app.py")
    harness.commit("README.md")
    harness.git("fetch", "-q", str(other), "main:theirs")
    harness.git("checkout", "-q", "theirs")
    harness.git("rebase", "-q", "main")

    code, said = push(harness, "origin", "theirs")

    assert code == 0, said


def test_one_git_author_for_all_agents_a_merged_branch_is_not_the_pushers(harness: GuardHarness) -> None:
    harness.git("checkout", "-q", "-b", "theirs")
    harness.commit("src/app.py", AGENT_NAME="RedStone")
    harness.git("checkout", "-q", "main")
    harness.commit("README.md")
    harness.hold("src/app.py")
    harness.git("merge", "-q", "--no-edit", "theirs", AGENT_NAME="BlueLake")

    assert push(harness)[0] == 0


def test_a_clean_merge_that_was_given_another_content_is_the_mergers(harness: GuardHarness) -> None:
    harness.git("checkout", "-q", "-b", "theirs")
    harness.commit("src/app.py", AGENT_NAME="RedStone")
    harness.git("checkout", "-q", "main")
    harness.commit("README.md")
    harness.git("merge", "-q", "--no-edit", "--no-commit", "theirs")
    harness.write("src/app.py", "neither side's\n")
    harness.git("add", "-A")
    harness.git("commit", "-qm", "evil merge", "--no-verify")
    harness.hold("src/app.py")

    code, said = push(harness)

    assert code != 0
    assert "src/app.py" in said


def test_an_agent_known_as_author_is_known_on_any_branch(harness: GuardHarness) -> None:
    harness.git("checkout", "-q", "-b", "mine")
    harness.commit("src/app.py", GIT_AUTHOR_NAME="BlueLake")
    harness.git("checkout", "-q", "main")
    harness.commit("README.md")
    harness.git("merge", "-q", "--no-edit", "mine")
    harness.hold("src/app.py")

    assert push(harness)[0] != 0


def test_names_with_line_breaks_and_bytes_are_read(harness: GuardHarness) -> None:
    harness.write(b"odd/li\nne\xe9 x")
    harness.git("add", "-A")
    harness.git("commit", "-qm", "odd", "--no-verify")
    harness.hold("odd/**")

    code, said = push(harness)

    assert code != 0
    assert "\\udce9" in said


def test_more_commits_than_are_looked_at_is_a_failure_that_is_said(harness: GuardHarness) -> None:
    commits = "".join(
        f"commit refs/heads/main\ncommitter Grace <grace@example.com> {1_700_000_000 + number} +0000\ndata 1\nx\n"
        f"{'from refs/heads/main^0' + chr(10) if number == 0 else ''}M 100644 inline many.txt\ndata 1\n{number % 10}\n"
        for number in range(2_001)
    )
    done = harness.run("git", "fast-import", "--quiet", "--force", stdin=commits.encode())
    assert done.returncode == 0, done.stderr

    blocked = push(harness, "--force", "origin", "main", AGENT_MAIL_GUARD_ON_ERROR="block")
    warned = push(harness, "--force", "origin", "main")

    assert (blocked[0] != 0, warned[0]) == (True, 0)
    assert "more than 2000 new commits" in warned[1]
