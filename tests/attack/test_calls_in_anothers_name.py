"""Somebody makes calls that name others, or that are refused: what is told of calls is who made them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.served_secrets import APP, LIB
from tests.served import Connection, Json, Served

AGENTS = {"Alice": APP, "Bob": APP, "Dave": APP, "Mallory": LIB}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "store", AGENT_AUTH="strict") as served:
        yield served


@pytest.fixture
def tokens(server: Served) -> dict[str, str]:
    made = {}
    with server.connect() as anyone:
        for name, project in AGENTS.items():
            anyone.call("ensure_project", human_key=project)
            profile = {"program": "tests", "model": "none"}
            made[name] = anyone.call("register_agent", project_key=project, name=name, **profile)["registration_token"]
    return made


def as_agent(server: Served, token: str) -> Connection:
    return server.connect(**{"X-Agent-Token": token})


def calls(connection: Connection, tool: str) -> list[Json]:
    entries = connection.call("read_resource", uri="resource://tooling/recent/3600")["entries"]
    return [(entry["agent"], entry["failed"]) for entry in entries if entry["tool"] == tool]


def test_refused_calls_are_nobodys_or_the_proven_callers(server: Served, tokens: dict[str, str]) -> None:
    letter = {"project_key": APP, "sender_name": "Alice", "to": ["Bob"], "subject": "x", "body_md": "x"}
    with server.connect() as anyone, as_agent(server, tokens["Mallory"]) as mallory:
        with as_agent(server, tokens["Dave"]) as dave:
            assert anyone.rpc("deregister_agent", {"project_key": APP, "agent_name": "Bob"}).status == 401
            assert mallory.rpc("send_message", letter).status == 403
            assert dave.rpc("send_message", letter).status == 403

            assert calls(dave, "deregister_agent") == [(None, True)]
            assert calls(dave, "send_message") == [("Dave", True)]
        assert calls(mallory, "send_message") == [("Mallory", True)]


def test_a_call_is_its_makers_whomever_it_names(server: Served, tokens: dict[str, str]) -> None:
    with as_agent(server, tokens["Alice"]) as alice, as_agent(server, tokens["Dave"]) as dave:
        alice.call("request_contact", project_key=APP, from_agent="Alice", to_agent="Dave", reason="x")
        dave.call("respond_contact", project_key=APP, to_agent="Dave", from_agent="Alice", accept=True)
        dave.call("whois", project_key=APP, agent_name="Alice")

        assert calls(dave, "respond_contact") == [("Dave", False)]
        assert calls(dave, "whois") == [("Dave", False)]


def test_figures_need_proof_and_count_no_acknowledgements(server: Served, tokens: dict[str, str]) -> None:
    with as_agent(server, tokens["Alice"]) as alice, as_agent(server, tokens["Bob"]) as bob:
        letter = {"bcc": ["Bob"], "subject": "x", "body_md": "x", "ack_required": True}
        sent = alice.call("send_message", project_key=APP, sender_name="Alice", **letter)
        message_id = sent["deliveries"][0]["payload"]["id"]
        bob.call("acknowledge_message", project_key=APP, agent_name="Bob", message_id=message_id)

        with server.connect() as anyone:
            refused = anyone.rpc("read_resource", {"uri": "resource://tooling/metrics"})
        figures = alice.call("read_resource", uri="resource://tooling/metrics")["tools"]

    assert refused.error_type == "AUTHENTICATION_REQUIRED"
    counted = {one["name"]: one["calls"] for one in figures}
    assert (counted["acknowledge_message"], counted["send_message"]) == (0, 1)


def test_what_git_says_of_a_directory_is_for_the_proven(server: Served, tokens: dict[str, str], tmp_path: Path) -> None:
    repository = tmp_path / "private"
    subprocess.run(["git", "init", "-q", "-b", "secret-branch", str(repository)], check=True)
    wanted = {"human_key": str(repository), "identity_mode": "git-toplevel"}

    with server.connect() as anyone, as_agent(server, tokens["Alice"]) as alice:
        refused = anyone.rpc("ensure_project", wanted)
        plain = anyone.call("ensure_project", human_key=str(repository))
        identity = anyone.rpc("read_resource", {"uri": f"resource://identity/{plain['slug']}"})
        told = alice.call("ensure_project", **wanted)

    assert (refused.error_type, identity.error_type) == ("AUTHENTICATION_REQUIRED",) * 2
    assert "secret-branch" in str(told)
