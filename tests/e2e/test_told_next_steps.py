"""What a server tells whoever cannot go on as it came: with real tokens, of roles and of agents."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import httpx

from tests.auth.servers import NAMED, OTHER, PROJECT, Server, bearer, open_server

PROFILE = {"program": "tests", "model": "none"}


async def called(server: Server, token: str, tool: str, **arguments: Any) -> Any:
    async with httpx.AsyncClient(base_url=server.url, headers=bearer(token), timeout=60) as client:
        return (await client.post(f"/rpc/{tool}", json=arguments)).json()


async def test_a_reader_that_proves_no_agent_is_told_to_ask_for_a_token(tmp_path: Path) -> None:
    async with open_server(tmp_path, AGENT_AUTH="strict") as server:
        _, reader = await server.issue(role="reader")
        _, writer = await server.issue(role="writer")
        hints = [
            (await called(server, token, "search_messages", project_key=PROJECT, query="plan"))["error"]["hint"]
            for token in (reader, writer)
        ]

    assert "am token create --agent NAME --project PATH --role reader" in hints[0]
    assert "register first" not in hints[0]
    assert "register first: macro_start_session or register_agent" in hints[1]


async def test_a_reader_of_an_agents_is_told_of_the_token_that_will_do(tmp_path: Path) -> None:
    letter = {"project_key": PROJECT, "sender_name": NAMED, "to": [OTHER], "subject": "Plan", "body_md": "Ready."}
    async with open_server(tmp_path, AGENT_AUTH="strict") as server:
        _, reader = await server.issue(role="reader", agent_name=NAMED, project_key=PROJECT)
        refused = await called(server, reader, "send_message", **letter)
        command = shlex.split(refused["error"]["hint"].partition(": ")[2])
        options = dict(zip(command[3::2], command[4::2], strict=True))
        _, writer = await server.issue(
            role=options["--role"], agent_name=options["--agent"], project_key=options["--project"]
        )
        sent = await called(server, writer, "send_message", **letter)

    assert command[:3] == ["am", "token", "create"]
    assert refused["error"]["type"] == "PERMISSION_DENIED"
    assert sent["deliveries"][0]["payload"]["subject"] == "Plan"


async def test_another_agent_registered_on_an_agents_connection_is_told_that_it_cannot_act_there(
    tmp_path: Path,
) -> None:
    async with open_server(tmp_path) as server:
        _, token = await server.issue(agent_name=NAMED, project_key=PROJECT)
        started = await called(server, token, "macro_start_session", human_key="/code/other", **PROFILE)
        registered = await called(server, token, "register_agent", project_key=PROJECT, name="GreenField", **PROFILE)
        made = await called(
            server, token, "create_agent_identity", project_key=PROJECT, name_hint="QuietFox", **PROFILE
        )
        itself = await called(server, token, "register_agent", project_key=PROJECT, name=NAMED, **PROFILE)
        refused = await called(
            server,
            token,
            "fetch_inbox",
            project_key=PROJECT,
            agent_name="GreenField",
            registration_token=registered["registration_token"],
        )

    for agent in (started["agent"], registered, made):
        assert f"This connection acts as {NAMED} alone: the new {agent['name']}'s registration_token" in agent["hint"]
    assert "hint" not in itself
    assert refused["error"]["type"] == "PERMISSION_DENIED"
