from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.journal import Journal
from tests.cli.shell import Shell
from tests.clients.setup.conftest import Ground, ground
from tests.clients.setup.homes import CASES, KINDS, Kind, made_up, snapshot

__all__ = ["ground"]

DONE, REFUSED, USAGE, NO_SERVER, BAD_SETTINGS = 0, 1, 2, 69, 78
NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def person(ground: Ground, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Somebody at home where the server of `ground` is named, and whose clients run its `am`."""
    monkeypatch.setattr("mcp_agent_mail.cli.setup.surroundings.path_of_am", lambda: str(ground.am))
    # No client of whoever runs the tests is among theirs.
    shell.set(AGENT_MAIL_URL=f"http://127.0.0.1:{ground.server.port}", PATH="/usr/bin:/bin")
    return shell


def named(*clients: str) -> list[str]:
    return [word for client in clients for word in ("--client", client)]


def outcomes(answer: Any) -> dict[str, list[str]]:
    return {client: [step["outcome"] for step in steps] for client, steps in answer["proof"].items()}


def test_all_clients_are_set_up_proven_and_taken_back(person: Shell, tmp_path: Path) -> None:
    for client in CLIENTS:
        made_up(tmp_path / client, client, KINDS[2])
    before = snapshot(person.home)

    shown = person.am("setup", *named(*CLIENTS), "--dry-run")
    assert snapshot(person.home) == before
    first = person.am("setup", *named(*CLIENTS), "--yes", "--json")
    between = snapshot(person.home)
    again = person.am("setup", *named(*CLIENTS), "--json")
    status = person.am("setup", *named(*CLIENTS), "--status", "--json")
    after = snapshot(person.home)
    back = person.am("setup", "--undo", "--yes", "--json")
    twice = person.am("setup", "--undo", "--yes")

    assert (shown.code, first.code, again.code, status.code, back.code, twice.code) == (DONE,) * 6
    assert shown.out.count("--- /dev/null") == len(first.json()["changed"]) == len(back.json()["changed"])
    assert (again.json()["changed"], first.json()["left_alone"]) == ([], [])
    assert outcomes(first.json()) == outcomes(again.json())
    assert {client for client, steps in outcomes(first.json()).items() if set(steps) == {"proven"}} == {*CLIENTS} - {
        "windsurf"
    }
    assert [client for client, steps in outcomes(first.json()).items() if len(steps) == 3] == ["claude", "opencode"]
    assert between == after
    assert {row["client"]: row["state"] for row in status.json()} == dict.fromkeys(CLIENTS, "installed")
    assert snapshot(person.home) == before
    assert "Nothing to do." in twice.out


def test_without_a_terminal_consent_is_given_in_the_command(person: Shell) -> None:
    before = snapshot(person.home)

    asked = person.am("setup", *named("claude"))

    person.am("setup", *named("claude"), "--yes")
    back = person.am("setup", "--undo")
    both = person.am("setup", "--undo", "--status")
    person.am("setup", "--undo", "--yes")

    assert (asked.code, back.code, both.code) == (USAGE, USAGE, USAGE)
    assert [said for said in (asked.err, back.err) if "then give --yes" not in said] == []
    assert "am setup --status, or with am setup --undo --dry-run" in both.err
    assert "Invalid value" not in asked.err + back.err + both.err
    assert snapshot(person.home) == before


@pytest.mark.parametrize(
    "words", [["--client", "emacs"], ["--project", "/no/such/folder"], ["--undo", "--status"]], ids=str
)
def test_what_cannot_be_meant_is_a_mistake_of_usage(words: list[str], person: Shell) -> None:
    assert person.am("setup", *words).code == USAGE


def test_without_a_server_nothing_is_written(person: Shell) -> None:
    person.set(AGENT_MAIL_URL=NOBODY)
    before = snapshot(person.home)

    ended = person.am("setup", *named("claude"), "--yes")

    assert ended.code == NO_SERVER
    assert snapshot(person.home) == before


def test_nobody_to_set_up_is_said(person: Shell) -> None:
    person.set(PATH="/nowhere")

    assert person.am("setup", "--yes").out.startswith("No agent command line was found")
    assert person.am("setup", "--json").json()["clients"] == []


def test_what_cannot_be_written_is_named_and_the_others_go_on(person: Shell) -> None:
    (person.home / ".cursor").mkdir()
    (person.home / ".cursor/mcp.json").write_text('{\n"a": 1,,\n}')
    (person.home / ".codex").mkdir()
    person.set(PATH="/nowhere")

    ended = person.am("setup", "--yes")

    assert ended.code == REFUSED
    left = [line for line in ended.lines() if line[0] == "left alone"]
    assert [line[1].split(": ")[0] for line in left] == [f"{person.home}/.cursor/mcp.json:2"]
    assert (person.home / ".codex/config.toml").exists()
    assert (person.home / ".cursor/hooks.json").exists()
    assert (person.home / ".cursor/mcp.json").read_text() == '{\n"a": 1,,\n}'


def test_a_project_gets_its_own_files_and_no_token(person: Shell, tmp_path: Path) -> None:
    project = tmp_path / "app"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    person.set(AGENT_MAIL_TOKEN="s3cret" * 8)

    # A token that this server does not ask for: it is the entry's own business.
    person.am("setup", *named("claude", "codex", "gemini"), "--project", str(project), "--yes")

    written = [path for path in project.rglob("*") if path.is_file() and ".git/" not in str(path)]
    assert {str(path.relative_to(project)) for path in written} == {
        ".mcp.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".gemini/settings.json",
    }
    assert all("s3cret" not in path.read_text() for path in written)
    assert "AGENT_MAIL_TOKEN" in (project / ".mcp.json").read_text()
    assert [path.name for path in person.home.iterdir() if path.name in (".claude", ".codex", ".gemini")] == []
    assert person.am("setup", "--undo", "--project", str(project), "--yes").code == DONE
    assert [path.name for path in project.iterdir()] == [".git"]


def test_drift_is_told_with_its_line_and_put_right(person: Shell) -> None:
    person.am("setup", *named("codex"), "--yes")
    path = person.home / ".codex/config.toml"
    path.write_text(path.read_text().replace("/mcp", "/elsewhere"))

    told = person.am("setup", *named("codex"), "--status")
    person.am("setup", *named("codex"), "--yes")
    mended = person.am("setup", *named("codex"), "--status")

    assert told.code == REFUSED
    assert "drifted: line 2 mcp_servers.agent-mail.url" in told.out
    assert "untrusted" in told.out
    assert mended.code == DONE


@pytest.mark.parametrize(("answer", "is_written"), [("y\n", True), ("n\n", False)])
def test_on_a_terminal_it_shows_the_diff_and_asks(
    answer: str, is_written: bool, ground: Ground, tmp_path: Path
) -> None:
    (tmp_path / ".cursor").mkdir()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_agent_mail", "setup", "--client", "cursor"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**ground.environment(), "HOME": str(tmp_path)},
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    said = process.communicate(timeout=60)[0].decode()
    os.close(ours)

    assert "+++ " in said
    assert "Write these changes?" in said
    assert (tmp_path / ".cursor/mcp.json").exists() is is_written
    assert process.returncode == (DONE if is_written else REFUSED)


@pytest.mark.slow
@pytest.mark.parametrize(("client", "kind"), CASES, ids=lambda value: getattr(value, "name", value))
def test_every_made_up_home_is_proven(client: str, kind: Kind, person: Shell) -> None:
    home = person.home / "of somebody"
    made_up(home, client, kind)
    person.set(HOME=str(home))
    before = snapshot(home)

    first = person.am("setup", *named(client), "--yes", "--json")
    again = person.am("setup", *named(client), "--yes", "--json")
    person.am("setup", "--undo", "--yes")

    assert first.code == again.code == (REFUSED if kind.is_refused else DONE)
    assert again.json()["changed"] == []
    if not kind.is_refused:
        assert set(outcomes(first.json())[client]) <= {"proven", "not possible"}
    assert snapshot(home) == before


def test_json_is_all_that_is_printed_when_asked_for(person: Shell) -> None:
    shown = json.loads(person.am("setup", *named("amp"), "--dry-run", "--json").out)

    assert shown["changed"]
    assert shown["notes"] == []


def test_nothing_that_a_repository_brought_along_is_run(person: Shell, tmp_path: Path) -> None:
    project, mark = tmp_path / "app", tmp_path / "run"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    evil.chmod(0o755)
    for path, text in (
        (".clinerules/hooks/UserPromptSubmit", evil.read_text()),
        (".opencode/plugins/agent-mail.js", f'const AM = "{evil}"\n'),
        (".claude/settings.json", json.dumps(hostile_hooks(f"touch '{mark}'; /usr/bin/am"))[:-1] + ', "x": NaN}'),
    ):
        (project / path).parent.mkdir(parents=True)
        (project / path).write_text(text)
        (project / path).chmod(0o755)
    (project / ".clinerules/hooks/PreToolUse").symlink_to(evil)

    asked = person.am("setup", *named("cline", "opencode", "claude"), "--project", str(project))
    ended = person.am("setup", *named("cline", "opencode", "claude"), "--project", str(project), "--yes", "--json")

    assert (asked.code, ended.code) == (USAGE, REFUSED)
    assert outcomes(ended.json()) == {
        "claude": ["proven", "left out", "left out"],
        "cline": ["not possible", "left out"],
        "opencode": ["proven", "left out", "left out"],
    }
    assert not mark.exists()


def hostile_hooks(program: str) -> dict[str, object]:
    events = ("UserPromptSubmit", "PostToolUse", "SessionStart")
    command = [{"type": "command", "command": f"{program} hook claude {event}"} for event in events]
    return {"hooks": {event: [{"hooks": [one]}] for event, one in zip(events, command, strict=True)}}


@pytest.mark.parametrize("odd", ['"url": "http://127.0.0.1:abc/mcp"', '"url": "http://[::1/mcp"', '"headers": ["x"]'])
def test_an_odd_entry_that_cannot_be_changed_does_not_end_the_report(odd: str, person: Shell) -> None:
    entry = f'"url": "{person.context().named_url()}/mcp", {odd}'
    (person.home / ".claude.json").write_text(f'{{"mcpServers": {{"agent-mail": {{"type": "http", {entry}}}}}}}')
    (person.home / ".claude.json").chmod(0o444)

    ended = person.am("setup", *named("claude", "gemini"), "--yes", "--json")

    assert ended.code == REFUSED
    assert (person.home / ".gemini/settings.json").exists()
    assert outcomes(ended.json())["claude"][0] != "proven"


def test_while_another_setup_is_at_work_this_one_refuses(person: Shell) -> None:
    with Journal(person.home).held():
        ended = person.am("setup", *named("claude"), "--yes")
        back = person.am("setup", "--undo", "--yes")

    assert (ended.code, back.code) == (REFUSED, REFUSED)
    assert "Another am setup of yours is at work." in ended.err
    assert not (person.home / ".claude.json").exists()


@pytest.mark.parametrize("words", [["--client", "amp", "--yes"], ["--undo", "--yes"]], ids=lambda words: words[0])
def test_agents_that_a_killed_proof_has_left_retire(words: list[str], person: Shell) -> None:
    person.am("setup", *named("amp"), "--yes")
    key = str(Journal(person.home).path.parent)
    left = [
        person.call("register_agent", project_key=key, program=program, model="none", task_description=task)["name"]
        for program, task in (("am setup", "proof: sender"), ("am setup", "mine"), ("codex", "proof: sender"))
    ]

    assert person.am("setup", *words).code == DONE

    there = [agent["name"] for agent in person.call("list_agents", project_key=key)["agents"]]
    assert sorted(there) == sorted(left[1:])


def test_a_password_in_the_servers_address_is_written_nowhere(person: Shell) -> None:
    person.set(AGENT_MAIL_URL="http://me:s3cret@127.0.0.1:1")
    before = snapshot(person.home)

    ended = person.am("setup", *named("claude"), "--yes")

    assert ended.code == REFUSED
    assert "Leave out what stands before the @" in ended.err
    assert "s3cret" not in ended.err
    assert snapshot(person.home) == before


def test_a_persons_timeout_in_our_entry_is_no_drift_and_stays(person: Shell) -> None:
    person.am("setup", *named("claude", "gemini"), "--yes")
    path, other = person.home / ".claude.json", person.home / ".gemini/settings.json"
    path.write_text(path.read_text().replace('"timeout": 60000', '"timeout": 1234'))
    other.write_text(other.read_text().replace('"trust": false', '"trust": true'))
    before = snapshot(person.home)

    status = person.am("setup", *named("claude", "gemini"), "--status", "--json")
    again = person.am("setup", *named("claude", "gemini"), "--json")

    assert {row["client"]: row["state"] for row in status.json()} == {"claude": "installed", "gemini": "installed"}
    assert (status.code, again.code, again.json()["changed"]) == (DONE, DONE, [])
    assert snapshot(person.home) == before


@pytest.mark.parametrize("is_json", [False, True])
def test_a_dry_run_says_that_the_named_server_is_not_there(is_json: bool, person: Shell) -> None:
    person.set(AGENT_MAIL_URL=NOBODY)

    shown = person.am("setup", *named("claude"), "--dry-run", *(["--json"] if is_json else []))

    assert shown.code == NO_SERVER
    notes = shown.json()["notes"] if is_json else [line[1] for line in shown.lines() if line[0] == "note"]
    said = f"write nothing, and end with 69: No server answers at {NOBODY}"
    assert [said in note for note in notes] == [True]
    assert is_json or "+++ " in shown.out


def test_without_a_terminal_each_diff_is_shown_before_it_is_written(person: Shell) -> None:
    first = person.am("setup", *named("cursor"), "--yes")
    back = person.am("setup", "--undo", "--yes")

    for ended, verb in ((first, "changed\t"), (back, "changed\t")):
        assert ended.code == DONE
        for name in ("mcp.json", "hooks.json"):
            at = ended.out.index(f" {person.home}/.cursor/{name}\n")
            assert at < ended.out.index(f"{verb}{person.home}/.cursor/{name}")
    assert f"+++ {person.home}/.cursor/mcp.json\n" in first.out
    assert f"--- {person.home}/.cursor/mcp.json\n" in back.out


def test_no_program_of_a_client_is_run_in_a_project(person: Shell, tmp_path: Path) -> None:
    project, mark, program = tmp_path / "app", tmp_path / "places", tmp_path / "bin/codex"
    for folder in (project, program.parent):
        folder.mkdir()
    program.write_text(f"#!/bin/sh\npwd >> '{mark}'\n")
    program.chmod(0o755)
    person.am("setup", *named("codex"), "--project", str(project), "--yes")
    person.am("setup", *named("codex"), "--yes")
    person.set(PATH=f"{program.parent}:/usr/bin:/bin")
    person.go_to(project)

    of_project = person.am("setup", *named("codex"), "--project", str(project), "--status")
    was_run = mark.exists()
    at_home = person.am("setup", *named("codex"), "--status")

    assert (of_project.code, at_home.code) == (DONE, DONE)
    assert not was_run
    assert "not asked of a project's hooks" in of_project.out
    (place,) = mark.read_text().splitlines()
    assert Path(place).name.startswith("am-setup-")


def test_an_address_that_is_none_is_a_bad_setting(person: Shell) -> None:
    person.set(AGENT_MAIL_URL="127.0.0.1:9")
    before = snapshot(person.home)

    ended = person.am("setup", *named("claude"), "--yes")

    assert ended.code == BAD_SETTINGS
    assert "78 bad configuration" in " ".join(person.am("setup", "--help").out.split())
    assert snapshot(person.home) == before
