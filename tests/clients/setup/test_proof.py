from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.contract_wishes import SetupSettings, wishes_of
from mcp_agent_mail.clients.setup.file_edit import put_into
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.proof import ProofOutcome, prove
from mcp_agent_mail.clients.setup.wishes import FileWish
from tests.clients.setup.conftest import Ground
from tests.clients.setup.homes import by_file


def written(
    ground: Ground, home: Path, client: str, *, settings: SetupSettings | None = None, am: Path | None = None
) -> list[FileWish]:
    settings = replace(settings or ground.settings, am=str(am or ground.am))
    wanted = wishes_of(client, settings, Surroundings(home=home, environ={}), None)
    for path, wish in by_file(wanted).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(put_into(None, [wish]))
        path.chmod(0o755)
    return wanted


@pytest.mark.parametrize("client", CLIENTS)
def test_a_message_comes_out_of_what_is_installed(client: str, ground: Ground, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()

    wanted = written(ground, tmp_path, client)

    entry, hook, *wake = prove(client, wanted, ground.bench(project, wanted))

    assert (entry.outcome, entry.note.endswith(ground.settings.url)) == (ProofOutcome.PROVEN, True)
    assert hook.outcome is (ProofOutcome.NOT_POSSIBLE if client == "windsurf" else ProofOutcome.PROVEN), hook.note
    watched = {"claude": "a message came out of Stop --wake", "opencode": "a message came out of idle --wake"}
    assert [(step.outcome, step.note.split(",")[0]) for step in wake] == [
        (ProofOutcome.PROVEN, said) for one, said in watched.items() if one == client
    ]
    if client == "windsurf":
        return
    with ground.server.connect() as connection:
        connection.open_session()
        agents = connection.read(f"resource://agents/{str(project).replace('/', '%2F')}?include_retired=true")["agents"]
    assert len([agent for agent in agents if agent["program"] == "am setup"]) == 2 + 2 * len(wake)
    assert all(agent["retired_at"] for agent in agents if agent["program"] == "am setup")


def test_a_command_that_says_nothing_is_not_proven_and_the_agents_retire_all_the_same(
    ground: Ground, tmp_path: Path
) -> None:
    silent = tmp_path / "silent/am"
    silent.parent.mkdir()
    silent.write_text("#!/bin/sh\nexit 0\n")
    silent.chmod(0o755)
    wanted = written(ground, tmp_path, "claude", am=silent)

    _, hook, wake = prove("claude", wanted, ground.bench(tmp_path, wanted, am=silent))

    assert (hook.outcome, wake.outcome) == (ProofOutcome.FAILED, ProofOutcome.FAILED)
    assert "did not come out" in hook.note
    assert "ended with 0" in wake.note


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("am/am", "am/no-such/am", "runs another command"),
        ("hook claude UserPromptSubmit", "hook claude Nothing", "has no hook"),
        ("'{am}' hook claude UserPromptSubmit", "touch {mark}; {am} hook claude UserPromptSubmit", "in other words"),
        ('"command": "\'{am}\' hook claude UserP', '"bash": "touch {mark}", "command": "{am} hook claude UserP', "no"),
    ],
)
def test_a_command_that_is_not_the_wished_one_is_said_and_not_run(
    old: str, new: str, said: str, ground: Ground, tmp_path: Path
) -> None:
    wanted = written(ground, tmp_path, "claude")
    mark = tmp_path / "run"
    old, new = (text.replace("{am}", str(ground.am)).replace("{mark}", str(mark)) for text in (old, new))
    assert old in wanted[1].path.read_text()
    wanted[1].path.write_text(wanted[1].path.read_text().replace(old, new))

    _, hook, *_ = prove("claude", wanted, ground.bench(tmp_path, wanted))

    assert hook.outcome is ProofOutcome.FAILED
    assert said in hook.note
    assert not mark.exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_of_files_that_were_left_alone_nothing_is_run_or_called(client: str, ground: Ground, tmp_path: Path) -> None:
    wanted = written(ground, tmp_path, client)
    mark = tmp_path / "run"
    for wish in wanted:
        if wish.is_executable:
            wish.path.write_text(f"#!/bin/sh\ntouch '{mark}'\n")

    steps = prove(client, wanted, ground.bench(tmp_path))

    assert {step.outcome for step in steps} <= {ProofOutcome.LEFT_OUT, ProofOutcome.NOT_POSSIBLE}
    assert "the file was left alone" in {step.note for step in steps}
    assert not mark.exists()


@pytest.mark.parametrize(
    ("client", "name"), [("cline", "UserPromptSubmit"), ("opencode", "agent-mail.js"), ("amp", "agent-mail.js")]
)
def test_a_whole_file_of_somebody_else_is_never_run(client: str, name: str, ground: Ground, tmp_path: Path) -> None:
    wanted = written(ground, tmp_path, client)
    mark = tmp_path / "run"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    evil.chmod(0o755)
    for wish in wanted:
        if wish.is_executable:
            wish.path.write_text(evil.read_text())
        elif wish.content is not None:
            wish.path.write_text(f'const AM = "{evil}"\n')

    _, hook, *_ = prove(client, wanted, ground.bench(tmp_path, wanted))

    assert hook.outcome is ProofOutcome.FAILED
    assert f"{name} is not what am setup writes" in hook.note
    assert not mark.exists()


def test_a_hook_sees_of_the_shells_variables_those_that_it_needs(ground: Ground, tmp_path: Path) -> None:
    spy = tmp_path / "spy/am"
    spy.parent.mkdir()
    spy.write_text(f"#!/bin/sh\nenv > '{tmp_path}/seen'\n")
    spy.chmod(0o755)
    wanted = written(ground, tmp_path, "claude", am=spy)
    bench = ground.bench(tmp_path, wanted, am=spy)

    prove("claude", wanted, replace(bench, environ={**bench.environ, "AWS_SECRET_ACCESS_KEY": "s3cret"}))

    seen = (tmp_path / "seen").read_text()
    assert "AGENT_MAIL_URL=" in seen
    assert "s3cret" not in seen


def test_a_hook_that_is_too_late_at_first_is_asked_again(ground: Ground, tmp_path: Path) -> None:
    late = tmp_path / "late/am"
    late.parent.mkdir()
    tries = tmp_path / "tries"
    late.write_text(f"#!/bin/sh\necho >> '{tries}'\n[ $(wc -l < '{tries}') -lt 3 ] || exec '{ground.am}' \"$@\"\n")
    late.chmod(0o755)
    wanted = written(ground, tmp_path, "gemini", am=late)

    _, hook = prove("gemini", wanted, ground.bench(tmp_path, wanted, am=late))

    assert hook.outcome is ProofOutcome.PROVEN, hook.note


def test_a_watcher_that_is_not_there_is_not_proven(ground: Ground, tmp_path: Path) -> None:
    wanted = written(ground, tmp_path, "claude")
    wanted[1].path.write_text(wanted[1].path.read_text().replace(" Stop --wake", " Nothing --wake"))

    lost = prove("claude", wanted, ground.bench(tmp_path, wanted))[2]

    assert lost.outcome is ProofOutcome.FAILED
    assert "has no hook hook claude Stop --wake" in lost.note


def test_an_entry_that_leads_elsewhere_is_not_called(ground: Ground, tmp_path: Path) -> None:
    wanted = written(ground, tmp_path, "codex")
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        port = elsewhere.getsockname()[1]
        wanted[0].path.write_text(wanted[0].path.read_text().replace(str(ground.server.port), str(port)))

        entry, _ = prove("codex", wanted, ground.bench(tmp_path, wanted))

        elsewhere.setblocking(False)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert entry.outcome is ProofOutcome.FAILED
    assert "leads elsewhere" in entry.note


def test_an_entry_that_nobody_answers_is_not_proven(ground: Ground, tmp_path: Path) -> None:
    settings = replace(ground.settings, url="http://127.0.0.1:1/mcp")
    wanted = written(ground, tmp_path, "codex", settings=settings)

    entry, _ = prove("codex", wanted, ground.bench(tmp_path, wanted))

    assert entry.outcome is ProofOutcome.FAILED
    assert "does not answer" in entry.note
