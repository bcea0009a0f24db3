"""pre-push with real Git between a bare repository and clones of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """`code` has `origin`, and everything in it is pushed."""
    scene = Scene(tmp_path)
    scene.git("init", "-q", "--bare", "-b", "main", str(scene.root / "origin.git"))
    scene.base("src/app.py", "README.md")
    scene.git("remote", "add", "origin", str(scene.root / "origin.git"))
    scene.git("push", "-q", "-u", "origin", "main")
    scene.hook_up()
    scene.write_snapshot()
    return scene


def push(scene: Scene, *arguments: str, cwd: Path | None = None, **settings: str) -> tuple[int, str]:
    return scene.try_git("push", *(arguments or ("origin", "main")), cwd=cwd, **{"AGENT_NAME": "BlueLake", **settings})


def clone(scene: Scene, name: str, author: str) -> Path:
    path = scene.root / name
    scene.git("clone", "-q", str(scene.root / "origin.git"), str(path))
    scene.git("config", "user.name", author, cwd=path)
    scene.git("config", "user.email", f"{author.lower()}@example.com", cwd=path)
    scene.git("config", "agent-mail.project", str(scene.code), cwd=path)
    scene.hook_up(path)
    return path


def test_commits_that_change_a_held_path_are_not_pushed(scene: Scene) -> None:
    scene.commit("src/app.py")
    scene.hold("src/**")

    code, said = push(scene)

    assert code != 0
    assert "push refused: 1 path is held by another agent" in said
    assert "AGENT_MAIL_BYPASS=1 git push" in said
    assert [event["hook"] for event in scene.spooled()] == ["pre-push"]
    assert push(scene, AGENT_MAIL_BYPASS="1")[0] == 0


def test_what_the_remote_has_already_is_not_looked_at(scene: Scene) -> None:
    scene.commit("src/app.py")
    assert push(scene)[0] == 0
    scene.hold("src/**")
    scene.commit("README.md")

    assert push(scene)[0] == 0


def test_a_new_branch_is_compared_with_all_that_the_remote_has(scene: Scene) -> None:
    scene.git("checkout", "-q", "-b", "feature")
    scene.commit("README.md")
    scene.hold("src/app.py")
    assert push(scene, "origin", "feature")[0] == 0

    scene.commit("src/app.py", AGENT_MAIL_BYPASS="1")

    assert push(scene, "origin", "feature")[0] != 0


def test_deleting_a_branch_changes_no_file(scene: Scene) -> None:
    scene.git("push", "-q", "--no-verify", "origin", "main:gone")
    scene.hold("**")

    assert push(scene, "origin", ":gone")[0] == 0


def test_a_push_by_force_looks_at_what_is_new_in_it(scene: Scene) -> None:
    scene.commit("README.md")
    assert push(scene)[0] == 0
    scene.git("reset", "-q", "--hard", "HEAD~1")
    scene.commit("src/app.py")
    scene.hold("src/app.py")

    code, said = push(scene, "--force", "origin", "main")

    assert code != 0
    assert "src/app.py" in said
    assert "README.md" not in said


def test_a_push_to_an_address_without_a_name_is_checked(scene: Scene) -> None:
    scene.commit("src/app.py")
    scene.hold("src/app.py")

    assert push(scene, str(scene.root / "origin.git"), "main:elsewhere")[0] != 0


def test_tags_are_followed_to_their_commits(scene: Scene) -> None:
    scene.commit("src/app.py")
    scene.git("tag", "-a", "v1", "-m", "v1")
    scene.git("tag", "blob", scene.git("rev-parse", "HEAD:README.md").strip())
    scene.hold("src/app.py")

    assert push(scene, "origin", "blob")[0] == 0, "no commit, nothing to check"
    assert push(scene, "origin", "v1")[0] != 0


def test_anothers_commits_that_were_merged_are_theirs(scene: Scene) -> None:
    other = clone(scene, "other", "RedStone")
    scene.commit("src/app.py", cwd=other, AGENT_NAME="RedStone")
    scene.hold("src/app.py")
    scene.commit("README.md")
    scene.git("pull", "-q", "--no-rebase", "--no-edit", str(other), "main")

    code, said = push(scene)

    assert code == 0, said


def test_anothers_commits_that_were_rebased_are_theirs(scene: Scene) -> None:
    other = clone(scene, "other", "RedStone")
    scene.commit("src/app.py", cwd=other, AGENT_NAME="RedStone")
    scene.hold("src/app.py")
    scene.commit("README.md")
    scene.git("fetch", "-q", str(other), "main:theirs")
    scene.git("checkout", "-q", "theirs")
    scene.git("rebase", "-q", "main")

    code, said = push(scene, "origin", "theirs")

    assert code == 0, said


def test_one_git_author_for_all_agents_a_merged_branch_is_not_the_pushers(scene: Scene) -> None:
    scene.git("checkout", "-q", "-b", "theirs")
    scene.commit("src/app.py", AGENT_NAME="RedStone")
    scene.git("checkout", "-q", "main")
    scene.commit("README.md")
    scene.hold("src/app.py")
    scene.git("merge", "-q", "--no-edit", "theirs", AGENT_NAME="BlueLake")

    assert push(scene)[0] == 0


def test_a_clean_merge_that_was_given_another_content_is_the_mergers(scene: Scene) -> None:
    scene.git("checkout", "-q", "-b", "theirs")
    scene.commit("src/app.py", AGENT_NAME="RedStone")
    scene.git("checkout", "-q", "main")
    scene.commit("README.md")
    scene.git("merge", "-q", "--no-edit", "--no-commit", "theirs")
    scene.write("src/app.py", "neither side's\n")
    scene.git("add", "-A")
    scene.git("commit", "-qm", "evil merge", "--no-verify")
    scene.hold("src/app.py")

    code, said = push(scene)

    assert code != 0
    assert "src/app.py" in said


def test_an_agent_known_as_author_is_known_on_any_branch(scene: Scene) -> None:
    scene.git("checkout", "-q", "-b", "mine")
    scene.commit("src/app.py", GIT_AUTHOR_NAME="BlueLake")
    scene.git("checkout", "-q", "main")
    scene.commit("README.md")
    scene.git("merge", "-q", "--no-edit", "mine")
    scene.hold("src/app.py")

    assert push(scene)[0] != 0


def test_names_with_line_breaks_and_bytes_are_read(scene: Scene) -> None:
    scene.write(b"odd/li\nne\xe9 x")
    scene.git("add", "-A")
    scene.git("commit", "-qm", "odd", "--no-verify")
    scene.hold("odd/**")

    code, said = push(scene)

    assert code != 0
    assert "\\udce9" in said


def test_more_commits_than_are_looked_at_is_a_failure_that_is_said(scene: Scene) -> None:
    commits = "".join(
        f"commit refs/heads/main\ncommitter Grace <grace@example.com> {1_700_000_000 + number} +0000\ndata 1\nx\n"
        f"{'from refs/heads/main^0' + chr(10) if number == 0 else ''}M 100644 inline many.txt\ndata 1\n{number % 10}\n"
        for number in range(2_001)
    )
    done = scene.run("git", "fast-import", "--quiet", "--force", stdin=commits.encode())
    assert done.returncode == 0, done.stderr

    blocked = push(scene, "--force", "origin", "main", AGENT_MAIL_GUARD_ON_ERROR="block")
    warned = push(scene, "--force", "origin", "main")

    assert (blocked[0] != 0, warned[0]) == (True, 0)
    assert "more than 2000 new commits" in warned[1]
