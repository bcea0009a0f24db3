"""A code repository is a stranger's: its configuration, hooks, attributes, objects, links and devices.

Whatever way the server, the guard and the command line touch one, nothing that it names runs, nothing is written
outside of it, nothing hangs and nothing fills the memory. (The user's own `git commit` runs the user's own hooks: the
guard is run here as Git runs it, and not through a commit.)
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.attack.hostile_repository import ALIASES, HOOKS, SETTINGS, Hostile, hostile_repository, plain_repository
from tests.cli.command_line import am, environment
from tests.served import Served

DRIVER = Path(__file__).with_name("repository_driver.py")
HANGS_AFTER_S = 240.0
WAYS = ("facts", "identity", "guard", "status", "install", "uninstall")
CHANGES = ("install", "uninstall")


def drive(way: str, home: Path, *tops: Path) -> dict[str, str]:
    """What was refused of each repository, or nothing; a traceback, a hang or too much memory fails the test."""
    done = subprocess.run(
        [sys.executable, str(DRIVER), way, *map(str, tops)],
        env={**environment(home, AGENT_NAME="BlueLake"), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_AFTER_S,
    )
    assert done.returncode == 0, f"{way}: {done.stdout}\n{done.stderr}"
    assert "a fault of the guard itself" not in done.stderr, done.stderr
    lines = [line.split("\t", 1) for line in done.stdout.splitlines() if line.startswith("/")]
    return {Path(place).parent.name: refused for place, refused in lines}


def test_the_harness_is_armed(tmp_path: Path) -> None:
    hostile = hostile_repository(tmp_path)

    hostile.git("status", must=False)
    hostile.git("add", "-A", must=False)
    hostile.git("rev-list", "HEAD", "--", "src/app.py", must=False)
    hostile.git("diff", must=False)
    hostile.git("st", must=False)

    assert len(SETTINGS) + len(ALIASES) >= 20
    assert len(HOOKS) >= 5
    ran = hostile.ran()
    assert "config.worktree.fsmonitor" in ran
    assert "alias.st" in ran
    assert any(name.startswith("filter.evil") for name in ran)
    assert any(name.startswith(("remote.", "config.worktree.ssh", "core.ssh")) for name in ran)


@pytest.mark.parametrize("missing", ["HEAD~1:src", "HEAD:src"])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_runs_that_a_repository_names(way: str, missing: str, tmp_path: Path) -> None:
    hostile = hostile_repository(tmp_path, missing=missing)

    drive(way, hostile.home, hostile.top)

    assert hostile.ran() == []


def test_nothing_runs_in_a_push_or_in_the_command_line(tmp_path: Path) -> None:
    hostile = hostile_repository(tmp_path)
    tip = hostile.git("--no-pager", "-c", "alias.rev-parse=", "rev-parse", "HEAD")
    hostile.forget()

    def run(*arguments: str, **more: str) -> int:
        return am(*arguments, home=hostile.home, cwd=hostile.top, AGENT_NAME="BlueLake", **more).returncode

    pushed = am(
        *("guard", "hook", "pre-push", "origin", "ext::x"),
        home=hostile.home,
        cwd=hostile.top,
        stdin=f"refs/heads/main {tip} refs/heads/main {'0' * 40}\n",
        GIT_DIR=str(hostile.git_dir),
    )
    codes = [
        run("guard", "status"),
        run("guard", "check", "src/app.py"),
        run("guard", "install"),
        run("guard", "install"),
        run("guard", "hook", "pre-commit", GIT_INDEX_FILE=".git/index"),
        run("guard", "status"),
        run("guard", "uninstall"),
        run("projects", "mark-identity"),
        run("projects", "mark-identity", "--private"),
        run("projects", "discovery-init"),
        run("run", "--slot", "s", "--", "true"),
    ]

    assert hostile.ran() == []
    assert (pushed.returncode, codes[2:4]) == (0, [0, 0]), pushed


def test_a_hook_that_claims_to_be_ours_starts_nothing_of_its_own(tmp_path: Path) -> None:
    import hashlib

    hostile = plain_repository(tmp_path)
    body = (
        f"#!/bin/sh\n# `am guard install` wrote this file\npython={hostile.payload('recorded')}\npackages=/x\n".encode()
    )
    hook = hostile.git_dir / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(body + b"# agent-mail " + hashlib.sha256(body).hexdigest().encode() + b"\n")
    hook.chmod(0o755)

    drive("status", hostile.home, hostile.top)

    assert hostile.ran() == []


def test_a_planted_merge_head_is_no_option_of_git(tmp_path: Path) -> None:
    hostile = plain_repository(tmp_path)
    (hostile.git_dir / "MERGE_HEAD").write_text(f"--output={hostile.victim}/written\n")

    drive("guard", hostile.home, hostile.top)

    assert sorted(path.name for path in hostile.victim.iterdir()) == ["file", "hooks"]


# --- The server -------------------------------------------------------------------------------------------------------


def _touch_by_every_tool(server: Served, top: str) -> list[str]:
    """Every tool that looks at a workspace; what a refusal says is an answer too."""
    said: list[str] = []
    with server.connect() as connection:

        def call(tool: str, **arguments: Any) -> Any:
            answer = connection.rpc(tool, arguments)
            assert answer.error_type not in ("INTERNAL", "HTTP 500"), f"{tool}: {answer.value}"
            said.append(f"{tool} {answer.error_type}")
            return answer.value

        for mode in ("dir", "git-toplevel", "git-common-dir", "git-remote"):
            call("ensure_project", human_key=top, identity_mode=mode)
        here = {"project_key": top}
        for name in ("BlueLake", "RedStone"):
            call("register_agent", **here, program="p", model="m", name=name)
        blue, red = {**here, "agent_name": "BlueLake"}, {**here, "agent_name": "RedStone"}
        granted = call("file_reservation_paths", **blue, paths=["src/**", "src/app.py", "**/*.py"])
        call("check_file_reservation_conflicts", **red, paths=["src/app.py"])
        call("file_reservation_paths", **red, paths=["src/app.py"])
        call("force_release_file_reservation", **red, file_reservation_id=granted["granted"][0]["id"])
        call("acquire_build_slot", **blue, slot="build")
        call("macro_file_reservation_cycle", **red, paths=["docs/**"], auto_release=True)
        call("macro_start_session", human_key=top, program="p", model="m", agent_name="GreenHill")
        call("macro_prepare_thread", **here, thread_id="t", program="p", model="m", agent_name="GreenHill")
        call("whois", **blue, include_recent_commits=True)
        call("install_precommit_guard", **here, code_repo_path=top)
        call("install_precommit_guard", **here, code_repo_path=top)
        call("uninstall_precommit_guard", code_repo_path=top)
    return said


def test_no_tool_of_the_server_runs_anything_that_a_repository_names(tmp_path: Path) -> None:
    hostile = hostile_repository(tmp_path / "hostile")

    with Served(tmp_path / "store", HOME=str(hostile.home)) as server:
        said = _touch_by_every_tool(server, str(hostile.top))

    assert hostile.ran() == []
    assert "install_precommit_guard OK" in said, said


# --- Links, FIFOs, devices ----------------------------------------------------------------------------------------


PLACES = (
    *("config", "config.worktree", "HEAD", "index", "packed-refs", "shallow", "commondir", "config.lock"),
    *("refs", "refs/heads/main", "objects", "objects/info/alternates", "info", "info/exclude", "MERGE_HEAD"),
    *("hooks", "hooks/pre-commit", "hooks/pre-push", "hooks/pre-commit.before-agent-mail", "hooks/pre-commit.old"),
    *("hooks/pre-commit.agent-mail-new", "agent-mail", "agent-mail/hooks", "agent-mail/hooks.config"),
    *("agent-mail/hooks/pre-commit", "agent-mail/hooks/commit-msg"),
)


def _fifo(place: Path, _: Hostile) -> None:
    os.mkfifo(place)


def _endless(place: Path, _: Hostile) -> None:
    place.symlink_to("/dev/zero")


def _huge(place: Path, _: Hostile) -> None:
    with place.open("wb") as file:
        file.truncate(8 * 1024**3)


def _linked(place: Path, hostile: Hostile) -> None:
    """To a folder of the victim's where a folder belongs, else to a file of the victim's."""
    folders = ("refs", "objects", "info", "hooks", "agent-mail", "agent-mail/hooks")
    is_folder = str(place.relative_to(hostile.git_dir)) in folders
    place.symlink_to(hostile.victim / ("hooks" if is_folder else "file"))


def _unwritten(place: Path, hostile: Hostile) -> None:
    place.symlink_to(hostile.victim / "written")


KINDS = (_linked, _unwritten, *(pytest.param(plant, marks=pytest.mark.slow) for plant in (_fifo, _endless, _huge)))


def _name(plant: Callable[[Path, Hostile], None]) -> str:
    return plant.__name__.strip("_")


def _planted(folder: Path, place: str, plant: Callable[[Path, Hostile], None]) -> Hostile:
    hostile = plain_repository(folder / place.replace("/", "_"))
    if place.startswith("agent-mail/") or (place == "config.lock" and plant is _linked):
        hostile.git("config", "core.hooksPath", ".githooks")
    if place == "config.worktree":
        hostile.git("config", "extensions.worktreeConfig", "true")
    path = hostile.git_dir / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        path.rename(path.with_name(f"{path.name}.kept"))
    path.unlink(missing_ok=True)
    plant(path, hostile)
    return hostile


def _inventory(folder: Path) -> list[tuple[str, bytes]]:
    return sorted(
        (str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")
    )


@pytest.mark.parametrize("plant", KINDS, ids=_name)
def test_what_is_no_ordinary_file_neither_hangs_us_nor_leads_us_out(
    plant: Callable[[Path, Hostile], None], tmp_path: Path
) -> None:
    scenes = {place: _planted(tmp_path, place, plant) for place in PLACES}
    before = {place: _inventory(scene.victim) for place, scene in scenes.items()}

    for way in WAYS:
        drive(way, tmp_path, *(scene.top for scene in scenes.values()))

    assert {place: _inventory(scene.victim) for place, scene in scenes.items()} == before


@pytest.mark.parametrize("plant", [_linked, _fifo, _endless], ids=_name)
def test_an_installation_refuses_by_name_what_it_would_have_to_write_through(
    plant: Callable[[Path, Hostile], None], tmp_path: Path
) -> None:
    places = ("config", "agent-mail", "agent-mail/hooks")
    scenes = [_planted(tmp_path, place, plant) for place in places]

    refused = drive("install", tmp_path, *(scene.top for scene in scenes))

    for place, scene in zip(places, scenes, strict=True):
        assert str(scene.git_dir / place) in refused[place.replace("/", "_")], refused
        assert not (scene.git_dir / "hooks" / "pre-commit").exists()


def _into(top: Path, git_dir: Path) -> None:
    """A `.git` that leads to another's Git directory."""
    (top / ".git").rename(top / "git.kept")
    (top / ".git").write_text(f"gitdir: {git_dir}\n")


def _linked_git(top: Path, git_dir: Path) -> None:
    (top / ".git").rename(top / "git.kept")
    (top / ".git").symlink_to(git_dir)


def _shared(top: Path, git_dir: Path) -> None:
    (top / ".git" / "commondir").write_text(f"{git_dir}\n")


def _work_tree(top: Path, git_dir: Path) -> None:
    with (top / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tworktree = {git_dir.parent}\n")


@pytest.mark.parametrize("lead", [_into, _linked_git, _shared, _work_tree], ids=lambda lead: lead.__name__.strip("_"))
def test_a_git_directory_that_is_anothers_is_not_written_into(
    lead: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    hostile, other = plain_repository(tmp_path / "hostile"), plain_repository(tmp_path / "other")
    lead(hostile.top, other.git_dir)
    before = _inventory(other.top)

    refused = [drive(way, tmp_path, hostile.top)["hostile"] for way in CHANGES]
    marked = am("projects", "mark-identity", "--private", home=tmp_path, cwd=hostile.top)

    assert all(refused), refused
    assert marked.returncode != 0
    assert _inventory(other.top) == before
