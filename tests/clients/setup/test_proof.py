from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.contract_wishes import wishes_of
from mcp_agent_mail.clients.setup.file_edit import put_into
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.proof import ProofOutcome, prove
from mcp_agent_mail.clients.setup.wishes import FileWish
from tests.clients.setup.conftest import Ground
from tests.clients.setup.homes import by_file


def written(ground: Ground, home: Path, client: str) -> list[FileWish]:
    wanted = wishes_of(client, ground.settings, Surroundings(home=home, environ={}), None)
    for path, wish in by_file(wanted).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(put_into(None, [wish]))
        path.chmod(0o755)
    return wanted


@pytest.mark.parametrize("client", CLIENTS)
def test_a_message_comes_out_of_what_is_installed(client: str, ground: Ground, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()

    entry, hook, *wake = prove(client, written(ground, tmp_path, client), ground.bench(project))

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
    wanted = written(ground, tmp_path, "claude")
    silent = tmp_path / "silent/am"
    silent.parent.mkdir()
    silent.write_text("#!/bin/sh\nexit 0\n")
    silent.chmod(0o755)
    wanted[1].path.write_text(wanted[1].path.read_text().replace(str(ground.am), str(silent)))

    _, hook, *_ = prove("claude", wanted, ground.bench(tmp_path))

    assert hook.outcome is ProofOutcome.FAILED
    assert "did not come out" in hook.note


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("am/am", "am/no-such/am", "ended with 127"),
        ("hook claude UserPromptSubmit", "hook claude Nothing", "has no hook"),
    ],
)
def test_a_command_that_is_not_there_is_said(old: str, new: str, said: str, ground: Ground, tmp_path: Path) -> None:
    wanted = written(ground, tmp_path, "claude")
    wanted[1].path.write_text(wanted[1].path.read_text().replace(old, new))

    _, hook, *_ = prove("claude", wanted, ground.bench(tmp_path))

    assert hook.outcome is ProofOutcome.FAILED
    assert said in hook.note


def test_a_watcher_that_wakes_nobody_is_not_proven(ground: Ground, tmp_path: Path) -> None:
    wanted = written(ground, tmp_path, "claude")
    wanted[1].path.write_text(wanted[1].path.read_text().replace(" Stop --wake", " Nothing --wake"))
    lost = prove("claude", wanted, ground.bench(tmp_path))[2]
    wanted = written(ground, tmp_path, "claude")
    silent = tmp_path / "silent/am"
    silent.parent.mkdir()
    silent.write_text("#!/bin/sh\nexit 0\n")
    silent.chmod(0o755)
    wanted[1].path.write_text(wanted[1].path.read_text().replace(str(ground.am), str(silent)))

    slept = prove("claude", wanted, ground.bench(tmp_path))[2]

    assert (lost.outcome, slept.outcome) == (ProofOutcome.FAILED, ProofOutcome.FAILED)
    assert "has no hook hook claude Stop --wake" in lost.note
    assert "ended with 0" in slept.note


def test_an_entry_that_leads_nowhere_is_not_proven(ground: Ground, tmp_path: Path) -> None:
    wanted = written(ground, tmp_path, "codex")
    wanted[0].path.write_text(wanted[0].path.read_text().replace(str(ground.server.port), "1"))

    entry, _ = prove("codex", wanted, ground.bench(tmp_path))

    assert entry.outcome is ProofOutcome.FAILED
    assert "does not answer" in entry.note
