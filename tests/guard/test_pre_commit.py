"""pre-commit as Git runs it, while no server runs: the snapshot on disk is the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.harness import MINUTE, GuardHarness


@pytest.fixture
def harness(tmp_path: Path) -> GuardHarness:
    harness = GuardHarness(tmp_path)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.hook_up()
    harness.write_snapshot()
    return harness


def test_a_path_that_another_agent_holds_is_refused_with_everything_one_needs(harness: GuardHarness) -> None:
    harness.hold("src/**", reason="the parser", for_s=23 * MINUTE + 30)

    code, said = harness.commit("src/app.py", "README.md")

    assert code == 1
    assert "commit refused: 1 path is held by another agent" in said
    assert "  src/app.py\n" in said
    assert "held by RedStone until " in said
    assert "(in 23 minutes) by src/**" in said
    assert 'says: "the parser"' in said
    assert "send_message(project_key=" in said
    assert "AGENT_MAIL_BYPASS=1 git commit" in said
    assert "README.md" not in said
    (event,) = harness.spooled()
    assert (event["action"], event["hook"], event["agent"]) == ("refused", "pre-commit", "BlueLake")
    assert [path["path"] for path in event["detail"]["paths"]] == ["src/app.py"]


def test_a_commit_of_all_and_a_partial_one_are_checked_as_what_they_commit(harness: GuardHarness) -> None:
    harness.hold("src/app.py")
    harness.write("src/app.py", "changed\n")
    harness.write("README.md", "changed\n")

    partial = harness.try_git("commit", "-qm", "part", "README.md", AGENT_NAME="BlueLake")
    everything = harness.try_git("commit", "-qam", "all", AGENT_NAME="BlueLake")

    assert (partial[0], everything[0]) == (0, 1), (partial, everything)


def test_a_rebase_stopped_by_a_conflict_goes_on_when_only_the_other_side_changed_what_is_held(
    harness: GuardHarness,
) -> None:
    harness.git("checkout", "-q", "-b", "mine")
    harness.commit("README.md")
    harness.git("checkout", "-q", "main")
    harness.commit("README.md", "src/app.py", AGENT_NAME="RedStone")
    harness.git("checkout", "-q", "mine")
    harness.hold("src/app.py")
    harness.try_git("rebase", "main", AGENT_NAME="BlueLake")
    harness.write("README.md", "resolved\n")
    harness.git("add", "README.md")

    done = harness.try_git("rebase", "--continue", AGENT_NAME="BlueLake", GIT_EDITOR="true")

    assert done[0] == 0, done
    assert harness.git("status", "--porcelain") == ""


def test_a_linked_worktree_means_the_same_project_and_paths(harness: GuardHarness) -> None:
    harness.git("config", "agent-mail.project", str(harness.code))
    tree = harness.root / "elsewhere"
    harness.git("worktree", "add", "-q", str(tree), "-b", "side")
    harness.hold("src/app.py")

    refused = harness.commit("src/app.py", cwd=tree)
    harness.git("reset", "-q", "--hard", cwd=tree)
    passed = harness.commit("README.md", cwd=tree)

    assert (refused[0], passed[0]) == (1, 0), (refused, passed)
