"""`am guard install|uninstall|status`, with and without a server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import am
from tests.cli.shell import Shell
from tests.served import Served, git


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / ".mcp_agent_mail") as server:
        yield server


def _json(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def _problems(report: Any) -> list[str]:
    return [problem["problem"] for problem in report["problems"]]


def test_without_a_server_it_installs_and_says_what_it_could_not_compare(code: Path, tmp_path: Path) -> None:
    done = _json(am("guard", "install", "--json", home=tmp_path, cwd=code))

    assert done["hook"] == str(code / ".git" / "hooks" / "pre-commit")
    assert (done["status"], done["project"]) == ("installed", str(code))
    assert done["note"].startswith("not compared with the server's projects")
    assert git(code, "config", "agent-mail.project").strip() == str(code)


def test_it_says_what_it_will_and_will_not_catch_and_how_an_agent_names_itself(code: Path, at_stopped: Shell) -> None:
    done = at_stopped.am("guard", "install", str(code))

    told = dict(done.lines())
    assert "an agent's shell that does not say who it is" in told["refuses"]
    assert "git commit --no-verify" in told["does not see"]
    assert "AGENT_NAME=BlueLake" in told["names"]


def test_status_knows_an_agents_shell_without_a_name(code: Path, at_stopped: Shell) -> None:
    at_stopped.set(GEMINI_CLI="1")

    lines = at_stopped.am("guard", "status", str(code)).lines()

    assert ["who commits", "an agent that does not say who it is (GEMINI_CLI is set): set AGENT_NAME"] in lines


def test_with_a_store_that_nobody_serves_nobody_is_asked(code: Path, at_stopped: Shell) -> None:
    at_stopped.set(AGENT_MAIL_PROJECT="/code/app")

    done = at_stopped.am("guard", "install", str(code), "--json").json()

    assert done["project"] == "/code/app"
    assert done["note"] == "not compared with the server's projects: no server is running"


def test_a_linked_work_tree_means_the_main_one(code: Path, tmp_path: Path) -> None:
    git(code, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "-m", "one")
    git(code, "worktree", "add", "--quiet", "-b", "linked", str(tmp_path / "linked"))

    done = _json(am("guard", "install", "--json", home=tmp_path, cwd=tmp_path / "linked"))

    assert done["project"] == str(code)


def test_what_lies_in_the_repositorys_own_settings_does_not_count(code: Path, tmp_path: Path) -> None:
    (code / ".env").write_text("AGENT_MAIL_PROJECT=/code/evil\nSTORAGE_ROOT=/code/evil\n")

    assert _json(am("guard", "install", "--json", home=tmp_path, cwd=code))["project"] == str(code)


def test_a_slug_needs_a_server(code: Path, tmp_path: Path) -> None:
    done = am("guard", "install", "--project", "code-app", home=tmp_path, cwd=code)

    assert done.returncode == 1
    assert "only a server can tell" in done.stderr
    assert not (code / ".git" / "hooks" / "pre-commit").exists()


def test_status_names_the_next_step_of_everything_that_is_missing(code: Path, tmp_path: Path) -> None:
    before = am("guard", "status", "--json", home=tmp_path, cwd=code)
    am("guard", "install", home=tmp_path, cwd=code)
    after = am("guard", "status", "--json", home=tmp_path, cwd=code, AGENT_NAME="BlueLake")

    report = _json(before)
    assert before.returncode == 1
    assert _problems(report) == [
        "pre-commit is missing",
        "pre-push is missing",
        "the repository is recorded as no project's",
    ]
    assert {problem["next"] for problem in report["problems"]} == {"am guard install"}
    assert after.returncode == 0, after.stdout
    installed = _json(after)
    assert [hook["state"] for hook in installed["hooks"]] == ["installed", "installed"]
    assert installed["name"] == {"name": "BlueLake", "source": "AGENT_NAME", "mark": None}
    assert installed["server"]["reachable"] is False
    assert installed["guard"]["runnable"] is True


def test_status_is_told_to_people_too(code: Path, tmp_path: Path) -> None:
    done = am("guard", "status", home=tmp_path, cwd=code)

    assert "to do\tpre-commit is missing: am guard install" in done.stdout.splitlines()
    assert "who commits\ta person: no agent's name is set" in done.stdout.splitlines()


def test_uninstalling_names_what_it_left(code: Path, tmp_path: Path) -> None:
    am("guard", "install", home=tmp_path, cwd=code)
    hook = code / ".git" / "hooks" / "pre-push"
    hook.write_text(hook.read_text() + "# mine\n")

    done = am("guard", "uninstall", home=tmp_path, cwd=code)

    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "removed\tyes"
    assert str(hook) in done.stdout
    assert hook.exists()


def test_with_a_server_the_project_is_compared(code: Path, tmp_path: Path, server: Served) -> None:
    unknown = am("guard", "install", "--project", "/code/app", home=tmp_path, cwd=code)
    new = _json(am("guard", "install", "--json", home=tmp_path, cwd=code))
    with server.connect() as connection:
        slug = connection.call("ensure_project", human_key="/code/app")["slug"]
    other = am("guard", "install", "--project", slug, home=tmp_path, cwd=code)
    replaced = _json(am("guard", "install", "--project", slug, "--replace", "--json", home=tmp_path, cwd=code))
    report = _json(am("guard", "status", "--json", home=tmp_path, cwd=code))

    assert (unknown.returncode, other.returncode) == (1, 1)
    assert "The server knows no project /code/app" in unknown.stderr
    assert new["note"] == "no agent has used this project yet; the first ensure_project makes it"
    assert f"belongs to the project {code} already" in other.stderr
    assert (replaced["project"], replaced["note"]) == ("/code/app", None)
    assert report["project"] == {"human_key": "/code/app", "known": True}
    assert report["server"]["reachable"] is True
