"""Two MCP clients as agents see them: FastMCP's speaks the stateless 2026-07-28 era, the official one the handshake."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client as FastMCPClient
from mcp import Client as OfficialClient

from mcp_agent_mail.cli.exit_codes import NoServer, WireError
from mcp_agent_mail.core.lazy.dataclass import dataclass

_MAIL_TIMEOUT_S = 30.0
_PAUSE_S = 0.1

# A tool's result is plain JSON.
CallTool = Callable[[str, dict[str, Any]], Awaitable[Any]]
Told = Callable[[Mapping[str, Any]], None]


@asynccontextmanager
async def fastmcp_client(url: str) -> AsyncIterator[CallTool]:
    """`fastmcp.Client`; it asks the server what it speaks and takes the newest."""
    async with FastMCPClient(url) as client:

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return _result(await client.call_tool_mcp(tool, arguments))

        yield call


@asynccontextmanager
async def official_client(url: str) -> AsyncIterator[CallTool]:
    """`mcp.Client` with the `initialize` handshake, as most agent CLIs speak today."""
    async with OfficialClient(url, mode="legacy") as client:

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return _result(await client.call_tool(tool, arguments))

        yield call


# The two SDKs share the result's shape, not its class.
def _result(answer: Any) -> Any:
    content = answer.structured_content
    if answer.is_error:
        raise WireError((content or {}).get("error") or {"message": answer.content[0].text})
    return content.get("result", content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAgent:
    """An agent at work: what it does goes over MCP, with the token that its registration returned."""

    name: str
    project_key: str
    call: CallTool
    token: str
    told: Told
    pause_s: float

    async def send(self, to: list[str], subject: str, body: str, **more: Any) -> None:
        """Send after the pause, and tell the audience what was delivered. `more` are further arguments of
        `send_message`. Raises WireError where the server refuses.
        """
        arguments = self._as_sender()
        arguments |= {"to": to, "subject": subject, "body_md": body, **more}
        await asyncio.sleep(self.pause_s)
        answer = await self.call("send_message", arguments)
        self.told({**answer["deliveries"][0]["payload"], "body_md": body})

    async def reply(self, message: Mapping[str, Any], body: str, **more: Any) -> None:
        """Answer `message`, as `next_mail` gave it, after the pause, and tell the audience. No acknowledgement is asked
        for unless `more`, further arguments of `reply_message`, says so. Raises WireError where the server refuses.
        """
        arguments = self._as_sender()
        arguments |= {"message_id": message["id"], "body_md": body, "ack_required": False, **more}
        await asyncio.sleep(self.pause_s)
        answer = await self.call("reply_message", arguments)
        self.told({**answer["deliveries"][0]["payload"], "body_md": body})

    # Arguments are plain JSON.
    def _as_sender(self) -> dict[str, Any]:
        return {"project_key": self.project_key, "sender_name": self.name, "sender_token": self.token}

    async def next_mail(self) -> Mapping[str, Any]:
        """The oldest unread message, once there is one; it is acknowledged when it asks for that, else marked read."""
        mine = {"project_key": self.project_key, "agent_name": self.name, "registration_token": self.token}
        give_up_at = time.monotonic() + _MAIL_TIMEOUT_S
        while time.monotonic() < give_up_at:
            inbox = await self.call("fetch_inbox", {**mine, "unread_only": True, "include_bodies": True})
            if inbox:
                message: Mapping[str, Any] = inbox[-1]
                step = "acknowledge_message" if message["ack_required"] else "mark_message_read"
                await self.call(step, {**mine, "message_id": message["id"]})
                return message
            await asyncio.sleep(_PAUSE_S)
        raise NoServer(f"{self.name} waited {_MAIL_TIMEOUT_S:.0f} s for mail that did not come.")


async def register(call: CallTool, told: Told, pause_s: float, **profile: str) -> ScriptedAgent:
    """Register an agent that acts through `call`, with `profile` as the arguments of `register_agent`. Raises WireError
    where the server refuses.
    """
    agent = await call("register_agent", profile)
    return ScriptedAgent(
        name=agent["name"],
        project_key=profile["project_key"],
        call=call,
        token=agent["registration_token"],
        told=told,
        pause_s=pause_s,
    )
