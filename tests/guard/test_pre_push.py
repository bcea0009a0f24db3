"""pre-push as Git runs it, between a bare repository and a clone of it."""

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


def push(harness: GuardHarness, *arguments: str, **settings: str) -> tuple[int, str]:
    return harness.try_git(
        "push", *(arguments or ("origin", "main")), cwd=None, **{"AGENT_NAME": "BlueLake", **settings}
    )


def test_commits_that_change_a_held_path_are_not_pushed(harness: GuardHarness) -> None:
    harness.commit("src/app.py")
    harness.hold("src/**")

    code, said = push(harness)

    assert code != 0
    assert "push refused: 1 path is held by another agent" in said
    assert "AGENT_MAIL_BYPASS=1 git push" in said
    assert [event["hook"] for event in harness.spooled()] == ["pre-push"]
    assert push(harness, AGENT_MAIL_BYPASS="1")[0] == 0


def test_deleting_a_branch_changes_no_file(harness: GuardHarness) -> None:
    harness.git("push", "-q", "--no-verify", "origin", "main:gone")
    harness.hold("**")

    assert push(harness, "origin", ":gone")[0] == 0
