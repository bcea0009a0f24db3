"""What a door says, in its own words, to a token that was issued for an agent of another project: over real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.doors.names import Door
from tests.facades.all_doors import AllDoors, open_all_doors
from tests.seeded_store import add_agent, add_project
from tests.server.whole_app import OPERATOR

TOLD = "The token given proves no agent of this project."
STEP = "come with a token that is no agent's"
SWEEP = {"windows": [], "stale_hours": 0, "delivered_hours": 0, "counted_to": 0, "dry_run": False}


async def _issue(doors: AllDoors) -> dict[str, str]:
    """The headers that show it."""
    await doors.store.write(lambda tx: add_agent(tx, add_project(tx, "/code/elsewhere"), "RedStone"))
    issued = await doors.client.post(
        f"{doors.url}/rpc/create_issued_token",
        json={"role": "writer", "agent_name": "RedStone", "project_key": "/code/elsewhere"},
        headers={"Authorization": f"Bearer {OPERATOR}"},
    )
    assert issued.status_code == 200, issued.text
    return {"Authorization": f"Bearer {issued.json()['token']}"}


async def _at_agentmail(doors: AllDoors, question: str, fields: dict[str, Any], headers: dict[str, str]) -> Any:
    body = {"project": str(doors.settings.storage_root.parent), "name": "a1", **fields}
    return await doors.client.post(f"{doors.url}/agentmail/{question}", json=body, headers=headers)


@pytest.mark.parametrize(
    ("question", "fields"),
    [("cleanup", SWEEP), ("names", {}), ("watch", {"windows": ["a1"], "wait_s": 0}), ("pop", {})],
)
async def test_agentmail_refuses_what_names_nobody_too_and_puts_no_mailbox_aside(
    question: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    async with open_all_doors(tmp_path) as doors:
        bearer = await _issue(doors)
        said = await _at_agentmail(doors, "status", {"status": "ready"}, {})

        refused = await _at_agentmail(doors, question, fields, bearer)
        listed = await _at_agentmail(doors, "names", {}, {})

    assert said.status_code == 200, said.text
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "PERMISSION_DENIED")
    assert refused.json()["error"]["message"] == TOLD
    assert STEP in refused.json()["error"]["hint"]
    assert listed.json() == {"names": ["a1"]}


async def test_claude_mailbox_refuses_lists_and_looks_on_its_paths_and_over_mcp(tmp_path: Path) -> None:
    async with open_all_doors(tmp_path) as doors:
        bearer = await _issue(doors)
        own, client = doors.at(Door.CLAUDE_MAILBOX), doors.client
        await client.post(f"{own}/v1/send", json={"to": "bob", "body": "hi"}, headers={"X-Mailbox": "alice"})

        of_paths = [await client.get(f"{own}{path}", headers=bearer) for path in ("/v1/list", "/v1/peek?name=bob")]
        over_mcp = []
        for tool, arguments in (("list_mailboxes", {}), ("peek_inbox", {"name": "bob"})):
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            headers = {**bearer, "Accept": "application/json, text/event-stream"}
            over_mcp.append((await client.post(f"{own}/mcp", json=call, headers=headers)).json()["result"])

    for answer in of_paths:
        assert (answer.status_code, list(answer.json())) == (403, ["error"])
        assert answer.json()["error"].startswith(TOLD)
        assert STEP in answer.json()["error"]
    for result in over_mcp:
        assert result["isError"]
        assert result["content"][0]["text"].startswith(TOLD)


async def test_postal_refuses_to_look_into_a_mailbox(tmp_path: Path) -> None:
    async with open_all_doors(tmp_path) as doors:
        bearer = await _issue(doors)
        call = {"tool": "check_mail", "args": {}}

        refused = await doors.client.post(f"{doors.url}/agents/bob/mcp", json=call, headers=bearer)

    assert refused.status_code == 400
    assert TOLD in refused.text
    assert STEP in refused.text
