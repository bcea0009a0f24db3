from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.demo import agents
from mcp_agent_mail.cli.demo.agents import CallTool, ScriptedAgent, fastmcp_client, official_client, register
from mcp_agent_mail.cli.exit_codes import NoServer, WireError, code_of
from tests.cli.conftest import Post


@pytest.fixture
def url(post: Post) -> str:
    return f"http://127.0.0.1:{post.server.port}/mcp"


@pytest.fixture
def told() -> list[Mapping[str, Any]]:
    return []


async def joined(call: CallTool, told: list[Mapping[str, Any]], project: str, name: str) -> ScriptedAgent:
    return await register(call, told.append, 0.0, project_key=project, name=name, program="demo", model="scripted")


@pytest.mark.parametrize("client", [fastmcp_client, official_client], ids=["fastmcp", "official"])
async def test_both_clients_give_results_and_refusals_alike(client: Any, url: str) -> None:
    async with client(url) as call:
        single = await call("ensure_project", {"human_key": "/code/demo"})
        await joined(call, [], "/code/demo", f"{client.__name__.split('_')[0]}Fox")
        several = await call("list_contacts", {"project_key": "/code/demo", "agent_name": "fastmcpFox"})
        with pytest.raises(WireError) as refused:
            await call("whois", {"project_key": "/code/demo", "agent_name": "Nobody"})
        with pytest.raises(WireError):
            await call("no_such_tool", {})

    assert single["human_key"] == "/code/demo"
    assert several == []
    assert code_of(refused.value) == "NOT_FOUND"


async def test_mail_is_told_as_it_is_sent_and_read_oldest_first(
    url: str, told: list[Mapping[str, Any]], tmp_path: Path
) -> None:
    async with official_client(url) as call:
        await call("ensure_project", {"human_key": str(tmp_path)})
        blue, red = [await joined(call, told, str(tmp_path), name) for name in ("BlueLake", "RedStone")]
        await blue.send(["RedStone"], "First", "One.", ack_required=True)
        await blue.send(["RedStone"], "Second", "Two.")

        read = [await red.next_mail(), await red.next_mail()]
        await red.reply(read[0], "Yes.", cc=["Human"])
        answer = await blue.next_mail()

        status = await call("whois", {"project_key": str(tmp_path), "agent_name": "RedStone"})
    assert [(mail["from"], mail["subject"], mail["body_md"]) for mail in told] == [
        ("BlueLake", "First", "One."),
        ("BlueLake", "Second", "Two."),
        ("RedStone", "Re: First", "Yes."),
    ]
    assert [mail["body_md"] for mail in read] == ["One.", "Two."]
    assert (answer["body_md"], answer["ack_required"]) == ("Yes.", False)
    assert status["name"] == "RedStone"


async def test_what_asks_for_it_is_acknowledged_and_the_rest_is_marked_read(
    url: str, told: list[Mapping[str, Any]], tmp_path: Path
) -> None:
    used: list[str] = []
    async with official_client(url) as call:

        async def noted(tool: str, arguments: dict[str, Any]) -> Any:
            used.append(tool)
            return await call(tool, arguments)

        await call("ensure_project", {"human_key": str(tmp_path)})
        blue = await joined(call, told, str(tmp_path), "BlueLake")
        red = await joined(noted, told, str(tmp_path), "RedStone")
        await blue.send(["RedStone"], "Please", "One.", ack_required=True)
        await blue.send(["RedStone"], "Just so", "Two.")
        await red.next_mail()
        await red.next_mail()
        unread = await call(
            "fetch_inbox", {"project_key": str(tmp_path), "agent_name": "RedStone", "unread_only": True}
        )

    assert used == ["register_agent", "fetch_inbox", "acknowledge_message", "fetch_inbox", "mark_message_read"]
    assert unread == []


async def test_whoever_waits_in_vain_gives_up(
    url: str, told: list[Mapping[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "_MAIL_TIMEOUT_S", 0.05)
    async with fastmcp_client(url) as call:
        await call("ensure_project", {"human_key": str(tmp_path)})
        blue = await joined(call, told, str(tmp_path), "BlueLake")

        with pytest.raises(NoServer, match="BlueLake waited 0 s for mail that did not come"):
            await blue.next_mail()
