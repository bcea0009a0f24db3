"""What a caller without a right could read, or count, before one function decided it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.served_secrets import APP, BLIND, THREAD, ServedSecrets, serve_secrets, words_in
from tests.served import Connection, Json, git


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSecrets]:
    with serve_secrets(tmp_path_factory.mktemp("strict") / "store", "strict") as opened:
        yield opened


def whois(connection: Connection, name: str) -> Json:
    return connection.call("whois", project_key=APP, agent_name=name, commit_limit=50)


def unread(connection: Connection) -> Json:
    agents = connection.call("list_agents", project_key=APP)["agents"]
    return {agent["name"]: agent["unread_count"] for agent in agents}


def archive_of(served: ServedSecrets) -> Path:
    (path,) = served.server.root.glob("projects/code-reading-app*/")
    return path


@pytest.mark.parametrize("caller", ["anonymous", "stranger"])
def test_commits_are_not_told_to_who_may_not_read_the_mail(served: ServedSecrets, caller: str) -> None:
    with served.connect(caller) as connection:
        told = whois(connection, "BlueLake")

    assert (told["name"], told["recent_commits"]) == ("BlueLake", [])


def test_commits_are_told_to_members(served: ServedSecrets) -> None:
    with served.connect("member") as connection:
        told = whois(connection, "BlueLake")

    assert "blind copy" in words_in(told)


@pytest.mark.parametrize("caller", ["anonymous", "stranger"])
def test_a_thread_is_not_told_to_who_may_not_read_it_and_nobody_is_registered(
    served: ServedSecrets, caller: str
) -> None:
    with served.connect(caller) as connection, served.connect("operator") as operator:
        before = unread(operator).keys()
        profile = {"program": "tests", "model": "none"}
        answer = connection.rpc("macro_prepare_thread", {"project_key": APP, "thread_id": THREAD, **profile})

        assert answer.error_type in ("AUTHENTICATION_REQUIRED", "PERMISSION_DENIED")
        assert words_in(answer.value) == []
        assert unread(operator).keys() == before


def test_a_blind_copy_and_what_comes_of_it_cannot_be_counted(served: ServedSecrets) -> None:
    with (
        served.connect("member") as member,
        served.connect("blind recipient") as blind,
        served.as_agent("BlueLake") as blue,
    ):

        def seen() -> Json:
            leases = member.call("read_resource", uri=f"resource://file_reservations/{APP}")
            agents = member.call("read_resource", uri=f"resource://agents/{APP}")["agents"]
            calls = member.call("read_resource", uri="resource://tooling/recent/3600")["entries"]
            return (
                unread(member)[BLIND],
                [agent["unread_count"] for agent in agents if agent["name"] == BLIND],
                whois(member, BLIND)["recent_commits"],
                [lease["last_mail_activity_ts"] for lease in leases if lease["agent"] == BLIND],
                [call for call in calls if call["tool"] == "acknowledge_message"],
            )

        blind.call("file_reservation_paths", project_key=APP, agent_name=BLIND, paths=["docs/x.md"])
        served.server.await_drained()
        before, own = seen(), unread(blind)[BLIND]
        letter = {"subject": "quiet", "body_md": "", "bcc": [BLIND], "ack_required": True}
        sent = blue.call("send_message", project_key=APP, sender_name="BlueLake", **letter)
        message_id = sent["deliveries"][0]["payload"]["id"]
        landed = seen()
        assert unread(blind)[BLIND] == own + 1
        blind.call("acknowledge_message", project_key=APP, agent_name=BLIND, message_id=message_id)
        served.server.await_drained()

        assert (landed, seen()) == (before, before)


def test_a_blind_recipients_acknowledgement_names_nobody_in_the_history(served: ServedSecrets) -> None:
    with served.connect("blind recipient") as blind:
        blind.call("acknowledge_message", project_key=APP, agent_name=BLIND, message_id=served.ids["blind copy"])
    served.server.await_drained()
    archive = archive_of(served)

    newest = git(archive, "log", "-1", "--format=%an%n%B", "main")
    told = [path for path in git(archive, "ls-tree", "-r", "--name-only", "main").splitlines() if "receipts/" in path]

    assert BLIND not in newest
    assert all(path.startswith(f"agents/{BLIND}/receipts/") for path in told)
    assert len(told) > 0
    verified = served.server.am("doctor", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
