"""What lets a request in at the door's ports, and what survives the server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.facades.claude_mailbox.mailbox_server import MailboxServer, open_mailboxes, ports_of

TOKEN = "a-token-of-the-whole-server"


def test_a_servers_token_is_needed_beside_the_header_but_for_health(tmp_path: Path) -> None:
    with open_mailboxes(tmp_path / "store", HTTP_BEARER_TOKEN=TOKEN) as server:
        proof = {"Authorization": f"Bearer {TOKEN}"}
        operator = {"Authorization": f"Bearer {(tmp_path / 'store' / 'operator.token').read_text().strip()}"}
        verdicts = {
            name: server.ask("GET", "/v1/list", name="alice", headers=headers).status
            for name, headers in {
                "none": {},
                "right": proof,
                "wrong": {"Authorization": "Bearer wrong"},
                "operator": operator,
                "host": {**proof, "Host": "evil.example"},
                "origin": {**proof, "Origin": "http://evil.example"},
            }.items()
        }
        health = server.ask("GET", "/health")

    assert verdicts == {"none": 401, "right": 200, "wrong": 401, "operator": 401, "host": 403, "origin": 403}
    assert health.status == 200


def test_under_strict_a_native_agent_is_not_spoken_as_and_a_mailbox_is(tmp_path: Path) -> None:
    project = tmp_path / "app"
    project.mkdir()
    with open_mailboxes(tmp_path / "store", AGENT_AUTH="strict", FACADES_PROJECT=str(project)) as server:
        with server.served.connect() as connection:
            connection.call("ensure_project", human_key=str(project))
            agent = connection.call("register_agent", project_key=str(project), program="p", model="m", name="BlueLake")
        as_agent = server.ask("POST", "/v1/check-inbox", name="BlueLake")
        to_agent = server.ask("POST", "/v1/send", name="alice", body={"to": "BlueLake", "body": "hi"})
        with server.served.connect(**{"X-Agent-Token": agent["registration_token"]}) as connection:
            inbox = connection.call("fetch_inbox", project_key=str(project), agent_name="BlueLake", include_bodies=True)
            sent = connection.call(
                "send_message",
                project_key=str(project),
                sender_name="BlueLake",
                to=["alice"],
                subject="Re",
                body_md="of the body",
            )
        got = server.check("alice")

    assert (as_agent.status, "am facade link BlueLake claude-mailbox" in as_agent.value["error"]) == (403, True)
    assert to_agent.status == 200
    assert [mail["body_md"] for mail in (inbox["messages"] if isinstance(inbox, dict) else inbox)] == ["hi"]
    assert sent
    assert [(one["from"], one["body"]) for one in got] == [("BlueLake", "Re\n\nof the body")]


def test_a_header_that_comes_twice_says_nobody(server: MailboxServer) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.ports[0], timeout=30)
    connection.putrequest("GET", "/v1/list")
    connection.putheader("X-Mailbox", "alice")
    connection.putheader("X-Mailbox", "bob")
    connection.endheaders()
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()

    assert (answer.status, said) == (400, {"detail": "X-Mailbox is there more than once."})


def test_what_was_taken_stays_taken_and_what_waits_waits_after_a_kill(tmp_path: Path) -> None:
    with open_mailboxes(tmp_path / "store") as server:
        sent, had = [], []
        for number in range(3):
            sent += [server.send("alice", "bob", f"{number}-{letter}")["id"] for letter in "abc"]
            had += [one["id"] for one in server.check("bob")]
            waits = server.send("alice", "bob", f"{number}-later")["id"]
            sent.append(waits)
            with server.served.connect() as connection:
                connection.call("health_check")  # What was written soon is written by now.
            server.served.kill()
            server.served.start()
            server.ports = ports_of(server.served)[-2:]
        had += [one["id"] for one in server.check("bob")]

    assert had == sent


def test_names_and_what_became_of_them_are_in_the_archive(tmp_path: Path) -> None:
    with open_mailboxes(tmp_path / "store") as server:
        server.send("alice", "bob", "1")
        server.check("bob")
        server.ask("POST", "/v1/rename", name="bob", body={"to": "Röbert"})
        server.send("alice", "bob", "for another bob")
        server.ask("DELETE", "/v1/mailbox", name="Röbert")
        server.served.await_drained()
        server.served.stop()
        verified = server.served.am("doctor", "verify")
        profiles = [
            json.loads(file.read_text()) for file in (tmp_path / "store").glob("projects/*/agents/*/profile.json")
        ]

    assert verified.returncode == 0, verified.stdout + verified.stderr
    names = {alias["name"] for profile in profiles for alias in profile.get("aliases", ())}
    assert names == {"alice", "bob", "Röbert"}
