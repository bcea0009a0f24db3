"""Many at once, over real HTTP: one name is one identity, one key is one message, one store has one owner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.served import Answer, Connection, Served

PROJECT = "/code/at-once"
PROFILE = {"program": "tests", "model": "none"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("at-once") / "store") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
            for name in ("BlueLake", "RedStone"):
                connection.call("register_agent", project_key=PROJECT, name=name, **PROFILE)
        yield server


def at_once(server: Served, count: int, ask: Callable[[Connection, int], Answer]) -> list[Answer]:
    """`count` calls over connections that are all open before the first is written."""
    gate = threading.Barrier(count)

    def one(number: int) -> Answer:
        with server.connect() as connection:
            connection.request("GET", "/health/liveness")
            gate.wait()
            return ask(connection, number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_eight_agents_registering_one_name_at_once_are_one_identity(server: Served) -> None:
    spellings = ("GrayFox", "grayfox", "GRAYFOX", "GrayFOX")

    answers = at_once(
        server,
        8,
        lambda connection, number: connection.rpc(
            "register_agent", {"project_key": PROJECT, "name": spellings[number % 4], **PROFILE}
        ),
    )

    assert [answer.status for answer in answers] == [200] * 8
    assert len({answer.value["id"] for answer in answers}) == 1
    assert len({answer.value["name"] for answer in answers}) == 1
    assert sum("registration_token" in answer.value for answer in answers) == 1, "the token is shown once"


def test_eight_agents_asking_for_a_new_identity_by_one_hint_are_eight(server: Served) -> None:
    answers = at_once(
        server,
        8,
        lambda connection, _: connection.rpc(
            "create_agent_identity", {"project_key": PROJECT, "name_hint": "GoldenHarbor", **PROFILE}
        ),
    )

    assert len({answer.value["name"].lower() for answer in answers}) == 8
    assert sum(answer.value["name"] == "GoldenHarbor" for answer in answers) == 1


def test_fifty_sends_with_one_idempotency_key_at_once_are_one_message(server: Served) -> None:
    send = {
        "project_key": PROJECT,
        "sender_name": "BlueLake",
        "to": ["RedStone"],
        "subject": "Once",
        "body_md": "only once",
        "idempotency_key": "fifty-1",
    }

    answers = at_once(server, 50, lambda connection, _: connection.rpc("send_message", send))

    with server.connect() as connection:
        inbox = connection.call("fetch_inbox", project_key=PROJECT, agent_name="RedStone", limit=1000)
        other = connection.rpc("send_message", {**send, "body_md": "something else"})
    assert [answer.status for answer in answers] == [200] * 50
    assert len({answer.value["deliveries"][0]["payload"]["id"] for answer in answers}) == 1
    assert sum(answer.value.get("idempotent_replay", False) is True for answer in answers) == 49
    assert [item["subject"] for item in inbox].count("Once") == 1
    assert other.error_type == "IDEMPOTENCY_KEY_CONFLICT"


def test_eight_sessions_begun_in_one_window_at_once_are_one_identity(server: Served) -> None:
    window = {"X-Agent-Window": "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"}

    answers = at_once(
        server,
        8,
        lambda connection, _: connection.rpc("macro_start_session", {"human_key": PROJECT, **PROFILE}, **window),
    )

    assert [answer.status for answer in answers] == [200] * 8
    assert len({answer.value["agent"]["id"] for answer in answers}) == 1
    with server.connect() as connection:
        windows = connection.call("list_window_identities", project_key=PROJECT)
    assert windows["count"] == 1


def test_of_eight_that_ask_for_one_slot_at_once_one_gets_it_and_the_others_its_name(server: Served) -> None:
    names = [f"Slot{number}Fox" for number in range(8)]
    with server.connect() as connection:
        for name in names:
            connection.call("register_agent", project_key=PROJECT, name=name, **PROFILE)

    answers = at_once(
        server,
        8,
        lambda connection, number: connection.rpc(
            "acquire_build_slot", {"project_key": PROJECT, "agent_name": names[number], "slot": "build"}
        ),
    )

    holders = {answer.value["granted"]["agent"] for answer in answers if answer.value["granted"]}
    told = {conflict["agent"] for answer in answers for conflict in answer.value["conflicts"]}
    assert len(holders) == 1
    assert told == holders


def test_fifty_reservations_with_one_idempotency_key_at_once_are_one(server: Served) -> None:
    ask = {"project_key": PROJECT, "agent_name": "RedStone", "paths": ["once/**"], "idempotency_key": "fifty-2"}

    answers = at_once(server, 50, lambda connection, _: connection.rpc("file_reservation_paths", ask))

    with server.connect() as connection:
        other = connection.rpc("file_reservation_paths", {**ask, "paths": ["twice/**"]})
    assert [answer.status for answer in answers] == [200] * 50
    assert len({answer.value["granted"][0]["id"] for answer in answers}) == 1
    assert other.error_type == "IDEMPOTENCY_KEY_CONFLICT"


def test_one_product_made_by_many_at_once_is_one_product_with_one_link(server: Served) -> None:
    spellings = ("Storefront", " storefront ", "STOREFRONT")
    made = at_once(
        server, 9, lambda connection, number: connection.rpc("ensure_product", {"name": spellings[number % 3]})
    )
    uid = made[0].value["product_uid"]

    linked = at_once(
        server,
        8,
        lambda connection, _: connection.rpc("products_link", {"product_key": uid, "project_key": PROJECT}),
    )

    assert {answer.value["product_uid"] for answer in made} == {uid}
    assert [answer.status for answer in linked] == [200] * 8
    with server.connect() as connection:
        connection.open_session()
        product = connection.read(f"resource://product/{uid}")
    assert [project["human_key"] for project in product["projects"]] == [PROJECT]


def test_one_project_made_by_many_at_once_is_one_project(server: Served) -> None:
    answers = at_once(
        server, 8, lambda connection, _: connection.rpc("ensure_project", {"human_key": "/code/same/./x/.."})
    )

    assert [answer.status for answer in answers] == [200] * 8
    assert {(answer.value["id"], answer.value["human_key"]) for answer in answers} == {
        (answers[0].value["id"], "/code/same")
    }


def test_two_paths_that_read_alike_are_two_projects(server: Served) -> None:
    with server.connect() as connection:
        dashed = connection.call("ensure_project", human_key="/x/a-b")
        nested = connection.call("ensure_project", human_key="/x/a/b")
        connection.call("register_agent", project_key="/x/a-b", name="BlueLake", **PROFILE)
        by_plain_slug = connection.rpc("list_agents", {"project_key": "x-a-b"})
        of_nested = connection.call("list_agents", project_key=nested["slug"])

    assert dashed["id"] != nested["id"]
    assert dashed["slug"] != nested["slug"]
    assert by_plain_slug.error_type == "NOT_FOUND", "the plain slug names neither while both have it"
    assert of_nested["total"] == 0


def test_a_second_server_on_one_store_says_who_owns_it_and_leaves_it_alone(server: Served) -> None:
    second = server.am("serve", "--host", "127.0.0.1", "--port", "0")

    said = second.stdout + second.stderr
    assert second.returncode not in (0, None)
    assert str(server.pid) in said, "names the owner"
    assert f"{server.port}" in said, "and where it answers"
    with server.connect() as connection:
        assert connection.call("health_check")["store"]["owner_pid"] == server.pid


def test_a_taken_port_is_an_error_that_says_so(server: Served, tmp_path: Path) -> None:
    other = Served(tmp_path / "other", port=server.port)

    second = other.am("serve", "--host", "127.0.0.1", "--port", str(server.port))

    assert second.returncode not in (0, None)
    assert str(server.port) in second.stdout + second.stderr


def test_a_restart_between_two_calls_of_one_session_goes_unnoticed(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server:
        session = server.connect()
        session.open_session()
        session.tool("ensure_project", human_key=PROJECT)
        server.stop()
        server.start()
        session.close()

        result: dict[str, Any] = session.tool("register_agent", project_key=PROJECT, name="BlueLake", **PROFILE)

        session.close()
    assert result["structuredContent"]["name"] == "BlueLake"
