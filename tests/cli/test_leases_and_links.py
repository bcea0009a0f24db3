"""`am reservations`, `am contacts` and `am mail held`: what the operator sees of leases and consent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.served import Served

PROJECT = "/code/leases"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """BlueLake holds two reservations; RedStone takes mail from contacts only, and GrayFox wrote to it."""
    with Served(tmp_path_factory.mktemp("leases") / "store") as running:
        with running.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
            for name in ("BlueLake", "RedStone", "GrayFox"):
                connection.call("register_agent", project_key=PROJECT, program="tests", model="none", name=name)
            for paths, ttl in ((["src/**"], 300), (["README.md"], 7_200)):
                connection.call(
                    "file_reservation_paths", project_key=PROJECT, agent_name="BlueLake", paths=paths, ttl_seconds=ttl
                )
            connection.call("set_contact_policy", project_key=PROJECT, agent_name="RedStone", policy="contacts_only")
            connection.call(
                "send_message",
                project_key=PROJECT,
                sender_name="GrayFox",
                to=["RedStone"],
                subject="May I?",
                body_md="Secret until allowed.",
            )
        yield running


def am(server: Served, *arguments: str) -> Any:  # plain JSON
    done = server.am(*arguments, "--project", PROJECT, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_active_reservations_are_the_resource(server: Served) -> None:
    with server.connect() as connection:
        resource = connection.call("read_resource", uri="resource://file_reservations/%2Fcode%2Fleases")

    assert am(server, "reservations", "active") == resource
    assert [lease["path_pattern"] for lease in resource] == ["src/**", "README.md"]


def test_what_expires_soon_is_listed_alone(server: Served) -> None:
    assert [lease["path_pattern"] for lease in am(server, "reservations", "soon")] == ["src/**"]
    assert len(am(server, "reservations", "soon", "--minutes", "180")) == 2


def test_a_released_reservation_is_told_to_its_holder_and_stays_in_the_list(server: Served) -> None:
    with server.connect() as connection:
        granted = connection.call(
            "file_reservation_paths", project_key=PROJECT, agent_name="GrayFox", paths=["docs/**"]
        )["granted"]

        answer = am(server, "reservations", "release", str(granted[0]["id"]), "--note", "Docs are mine.")

        inbox = connection.call("fetch_inbox", project_key=PROJECT, agent_name="GrayFox", include_bodies=True)
    assert answer["released"] == 1
    assert "Docs are mine." in inbox[0]["body_md"]
    assert "docs/**" in inbox[0]["body_md"]
    assert "docs/**" not in [lease["path_pattern"] for lease in am(server, "reservations", "active")]
    assert "docs/**" in [lease["path_pattern"] for lease in am(server, "reservations", "list")]


def test_a_reservation_that_there_is_not_is_an_error_with_the_next_step(server: Served) -> None:
    done = server.am("reservations", "release", "99", "--project", PROJECT)

    assert done.returncode == 1
    assert "am reservations active" in done.stderr


def test_a_request_that_waits_is_listed_once_from_its_target(server: Served) -> None:
    (of_all,) = am(server, "contacts", "requests")
    (of_one,) = am(server, "contacts", "requests", "RedStone")

    assert of_all == of_one
    assert (of_one["from"], of_one["to"], of_one["status"]) == ("GrayFox", "RedStone", "pending")
    assert am(server, "contacts", "requests", "GrayFox") == []


def test_a_link_is_seen_from_both_its_ends(server: Served) -> None:
    assert [link["direction"] for link in am(server, "contacts", "list", "GrayFox")] == ["outbound"]
    assert [link["direction"] for link in am(server, "contacts", "list", "RedStone")] == ["inbound"]
    assert len(am(server, "contacts", "list")) == 1


def test_held_mail_is_seen_from_both_sides_without_its_body(server: Served) -> None:
    waiting = am(server, "mail", "held", "RedStone")

    assert [(mail["from"], mail["to"], mail["subject"]) for mail in waiting] == [("GrayFox", "RedStone", "May I?")]
    assert am(server, "mail", "held") == waiting
    assert am(server, "mail", "held", "GrayFox", "--sent") == waiting
    assert am(server, "mail", "held", "GrayFox") == []
    assert "Secret" not in json.dumps(waiting)
