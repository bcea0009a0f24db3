"""The files that say which project a repository is, written by `am` beside a running server and without one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.project_identity import DISCOVERY_FILE, MARKER_FILE, PRIVATE_MARKER
from tests.cli.scripted_server import ScriptedServer, answer
from tests.cli.shell import Shell
from tests.served import Served
from tests.workspace.code_repository import begin, commit, git, write


@pytest.fixture
def code(tmp_path: Path) -> Path:
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    commit(repository)
    return repository


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "store", HOME=str(tmp_path)) as served:
        yield served


def marked(server: Served, *arguments: str) -> dict[str, Any]:
    done = server.am("projects", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_committed_marker_makes_clones_one_project_and_is_written_once(server: Served, code: Path) -> None:
    first = marked(server, "mark-identity", str(code / "src"))
    text = (code / MARKER_FILE).read_text()
    again = marked(server, "mark-identity", str(code))
    commit(code)
    git(code.parent, "clone", "--quiet", str(code), "clone")
    server.stop()

    clone = marked(server, "mark-identity", str(code.parent / "clone"))

    assert first == {**again, "written": True}
    assert (code / MARKER_FILE).read_text() == text
    assert first["human_key"] == str(code)
    assert clone == {**again, "file": str(code.parent / "clone" / MARKER_FILE)}


def test_marker_private_marker_and_discovery_file_say_the_same(server: Served, code: Path) -> None:
    private = marked(server, "mark-identity", "--private", str(code))
    discovery = marked(server, "discovery-init", str(code))
    committed = marked(server, "mark-identity", str(code))

    assert private["file"] == str(code / ".git" / PRIVATE_MARKER)
    assert discovery["file"] == str(code / DISCOVERY_FILE)
    assert private["project_uid"] == discovery["project_uid"] == committed["project_uid"]
    assert git(code, "status", "--porcelain").split() == ["??", MARKER_FILE, "??", DISCOVERY_FILE]


def test_a_folder_without_a_repository_and_a_file_in_the_way_are_refused(server: Served, code: Path) -> None:
    (code / MARKER_FILE).write_text("not a uid\n")

    outside = server.am("projects", "mark-identity", str(code.parent))
    taken = server.am("projects", "mark-identity", str(code))

    assert (outside.returncode, taken.returncode) == (1, 1)
    assert "is in no Git work tree" in outside.stderr
    assert "no marker can be read from it" in taken.stderr
    assert (code / MARKER_FILE).read_text() == "not a uid\n"


def test_nothing_is_written_into_the_git_directory_of_another_work_tree(server: Served, code: Path) -> None:
    planted = code.parent / "planted"
    write(planted, ".git", content=f"gitdir: {code / '.git'}\n")

    done = server.am("projects", "mark-identity", "--private", str(planted))

    assert done.returncode == 1
    assert "does not name this work tree" in done.stderr
    assert not (code / ".git" / PRIVATE_MARKER).exists()


def test_a_folder_that_is_a_project_of_its_own_is_marked_and_not_the_repository(server: Served, code: Path) -> None:
    with server.connect() as connection:
        connection.call("ensure_project", human_key=str(code / "src"))

    told = marked(server, "mark-identity", str(code / "src"))

    assert (told["human_key"], told["file"]) == (str(code / "src"), str(code / "src" / MARKER_FILE))
    assert not (code / MARKER_FILE).exists()


def test_a_folder_that_belongs_to_another_folders_project_marks_the_repository_as_that_one(
    server: Served, code: Path
) -> None:
    write(code, "lib/app.py")
    with server.connect() as connection:
        for name in ("lib", "src"):
            connection.call("ensure_project", human_key=str(code / name), identity_mode="git-toplevel")

    told = marked(server, "mark-identity", str(code / "src"))

    assert (told["human_key"], told["file"]) == (str(code / "lib"), str(code / MARKER_FILE))


def test_a_server_that_does_not_say_whose_the_directory_is_leaves_it_unmarked(shell: Shell, code: Path) -> None:
    refusal = answer({"error": {"type": "PERMISSION_DENIED", "message": "No."}}, status=403)
    found = answer({"project_uid": "u", "slug": "code", "human_key": str(code)})
    with ScriptedServer(refusal, found) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("projects", "mark-identity", str(code))

    assert (done.code, done.err) == (1, "Error (PERMISSION_DENIED): No.\n")
    assert len(server.asked) == 1
    assert not (code / MARKER_FILE).exists()
