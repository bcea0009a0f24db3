"""A connection that has said who calls, over HTTP: what it is listed, and that both doors fill in the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.server.test_mcp import ERAS, JSON_HEADERS
from tests.server.whole_app import WholeApp, open_whole_app

APP = "/code/my app"
SAID = f"?project={quote(APP)}&agent=BlueLake"
PROFILE: dict[str, Any] = {"program": "tests", "model": "none"}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[WholeApp]:
    async with open_whole_app(tmp_path) as opened:
        yield opened


async def ask(app: WholeApp, era: Any, method: str, params: dict[str, Any], query: str, **headers: str) -> Any:
    body, own = era(method, params)
    answer = await app.client.post(f"/mcp{query}", json=body, headers={**JSON_HEADERS, **own, **headers})
    return answer.json()["result"]


async def call(app: WholeApp, era: Any, tool: str, query: str = SAID, /, **arguments: Any) -> Any:
    answer = await ask(app, era, "tools/call", {"name": tool, "arguments": arguments}, query)
    return answer["structuredContent"]


async def required(app: WholeApp, era: Any, query: str = "", **headers: str) -> dict[str, list[str]]:
    tools = (await ask(app, era, "tools/list", {}, query, **headers))["tools"]
    return {tool["name"]: tool["inputSchema"].get("required", []) for tool in tools}


@ERAS
async def test_a_whole_session_needs_neither_project_nor_name(app: WholeApp, era: Any) -> None:
    await app.call("macro_start_session", human_key=APP, agent_name="RedStone", **PROFILE)

    started = await call(app, era, "macro_start_session", **PROFILE)
    sent = await call(app, era, "send_message", to=["RedStone"], subject="Plan", body_md="b")
    inbox = await call(app, era, "fetch_inbox", SAID.replace("BlueLake", "RedStone"))

    assert (started["project"]["human_key"], started["agent"]["name"]) == (APP, "BlueLake")
    assert (sent["count"], sent["verified_sender"]) == (1, False)
    assert [mail["from"] for mail in inbox["result"]] == ["BlueLake"]


@ERAS
async def test_what_is_unread_in_a_projects_threads_is_the_connections(app: WholeApp, era: Any) -> None:
    for name in ("BlueLake", "RedStone"):
        await app.call("macro_start_session", human_key=APP, agent_name=name, **PROFILE)
    letter = {"to": ["RedStone"], "subject": "Plan", "body_md": "b"}
    for thread in ("A", "A", "B"):
        await call(app, era, "send_message", thread_id=thread, **letter)

    async def unread(query: str, **given: str) -> dict[str, int | None]:
        threads = (await call(app, era, "list_threads", query, **given))["threads"]
        return {one["thread_id"]: one["unread"] for one in threads}

    assert await unread(SAID) == {"A": 0, "B": 0}
    assert await unread(SAID.replace("BlueLake", "RedStone")) == {"A": 2, "B": 1}
    assert await unread(SAID, agent_name="RedStone") == {"A": 2, "B": 1}
    assert await unread(f"?project={quote(APP)}") == {"A": None, "B": None}


@ERAS
async def test_what_a_connection_says_is_not_required_of_its_calls(app: WholeApp, era: Any) -> None:
    plain = await required(app, era)
    told = await required(app, era, SAID)

    assert plain["send_message"] == ["project_key", "sender_name", "subject", "body_md"]
    assert told["send_message"] == ["subject", "body_md"]
    assert told["macro_start_session"] == ["program", "model"]
    assert told["respond_contact"] == ["from_agent", "accept"]
    assert told["whois"] == ["agent_name"]
    assert told["fetch_inbox"] == []
    assert (await required(app, era, "?project=/x"))["fetch_inbox"] == ["agent_name"]


@ERAS
async def test_a_proven_token_alone_says_both(app: WholeApp, era: Any) -> None:
    blue = await app.call("macro_start_session", human_key=APP, agent_name="BlueLake", **PROFILE)
    token = blue["agent"]["registration_token"]

    told = await required(app, era, **{"X-Agent-Token": token})
    wrong = await required(app, era, **{"X-Agent-Token": "amt_wrong"})

    assert told["fetch_inbox"] == []
    assert wrong["fetch_inbox"] == ["project_key", "agent_name"]


async def test_rpc_takes_them_from_the_url_and_from_headers(app: WholeApp) -> None:
    await app.call("macro_start_session", human_key=APP, agent_name="BlueLake", **PROFILE)

    by_url = await app.client.post(f"/rpc/set_status{SAID}", json={"status": "busy"})
    by_header = await app.client.post(
        "/rpc/set_status", json={"status": "ready"}, headers={"X-Agent-Project": APP, "X-Agent-Name": "BlueLake"}
    )

    assert (by_url.status_code, by_header.status_code) == (200, 200)


async def test_of_two_headers_that_say_who_calls_neither_is_taken(app: WholeApp) -> None:
    headers = [("X-Agent-Name", "BlueLake"), ("X-Agent-Name", "RedStone")]

    answer = await app.client.post("/rpc/health_check", json={}, headers=httpx.Headers(headers))

    assert (answer.status_code, answer.json()) == (400, {"detail": "X-Agent-Name is there more than once."})


async def test_a_project_may_be_said_by_another_directory_of_it(app: WholeApp, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    await app.call("macro_start_session", human_key=str(tmp_path / "real"), agent_name="BlueLake", **PROFILE)

    answer = await app.client.post(f"/rpc/fetch_inbox?project={quote(str(tmp_path / 'link'))}", json={})
    named = await app.client.post(f"/rpc/fetch_inbox?project={quote(str(tmp_path / 'link'))}&agent=BlueLake", json={})

    assert answer.json()["error"]["data"]["agents"] == ["BlueLake"]
    assert named.json() == []


async def test_a_name_that_may_be_left_out_anyway_is_not_carried_into_another_project(app: WholeApp) -> None:
    blue = await app.call("macro_start_session", human_key=APP, agent_name="BlueLake", **PROFILE)
    mine = {"X-Agent-Token": blue["agent"]["registration_token"]}

    elsewhere = await app.call("macro_start_session", headers=mine, human_key="/code/lib", **PROFILE)
    home = await app.call("macro_start_session", headers=mine, **PROFILE)

    assert elsewhere["agent"]["name"] != "BlueLake"
    assert (home["project"]["human_key"], home["agent"]["name"]) == (APP, "BlueLake")


async def test_the_record_of_calls_names_the_project_that_a_connection_said(app: WholeApp) -> None:
    await app.call("ensure_project", human_key="/code/lib")

    await app.client.post("/rpc/list_agents?project=/code/lib", json={})

    recent = await app.call("read_resource", uri="resource://tooling/recent/600")
    newest = recent["entries"][0]
    assert (newest["tool"], newest["project"]) == ("list_agents", "/code/lib")


@pytest.mark.parametrize(
    ("tool", "arguments", "meant"),
    [
        ("fetch_inbox", {"agent": "RedStone"}, ("agent", "agent_name")),
        ("fetch_inbox", {"project": APP}, ("project", "project_key")),
        (
            "send_message",
            {"from": "RedStone", "to": ["RedStone"], "subject": "a", "body_md": "b"},
            ("from", "sender_name"),
        ),
    ],
)
async def test_a_misspelt_argument_is_understood_though_the_connection_says_what_it_means(
    app: WholeApp, tool: str, arguments: dict[str, Any], meant: tuple[str, str]
) -> None:
    started = await app.call("macro_start_session", human_key=APP, agent_name="BlueLake", **PROFILE)
    ways = [
        (SAID, {}),
        ("", {"X-Agent-Token": started["agent"]["registration_token"]}),
    ]

    for query, headers in ways:
        answer = await app.client.post(f"/rpc/{tool}{query}", json=arguments, headers=headers)

        unknown = answer.json()["error"]["data"]["unknown"]
        assert unknown == [{"name": meant[0], "did_you_mean": meant[1]}]
