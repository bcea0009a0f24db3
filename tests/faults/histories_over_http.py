"""The histories of `tests/features/reservations/histories.py` over HTTP, with connections that break."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from tests.features.reservations.hearings import Deaf
from tests.features.reservations.histories import Call, History, Shop
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import JSON_HEADERS, modern_call


class HttpShop(Shop):
    """A server on a port of its own, in this process."""

    async def open(self) -> None:
        await super().open()
        self._serving = AsyncExitStack()
        url = await self._serving.enter_async_context(hosted(toy_app(more_tools=tuple(self.tools.specs()))))
        self.port = int(url.rpartition(":")[2])

    async def close(self) -> None:
        self.service.wake()
        await self._serving.aclose()
        await super().close()

    async def post(self, path: str, headers: dict[str, str], body: Any) -> Any:
        """The answer's JSON. Cancelled, it hangs up."""
        raw = json.dumps(body).encode()
        own = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(raw)), **JSON_HEADERS, **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + raw)
            answer = await reader.read()
        finally:
            writer.close()
        return json.loads(answer.partition(b"\r\n\r\n")[2])


@dataclass(kw_only=True)
class HttpHistory(History):
    """A call is given up by hanging up. Whatever answer has come was heard."""

    def begin(self, agent: str, **chosen: Any) -> Call:
        arguments = {**self.chosen(), "project_key": self.project.human_key, "agent_name": agent, **chosen}
        by = self.over_rpc if self.random.random() < 0.5 else self.over_mcp
        call = Call(
            agent=agent,
            hearing=Deaf(),
            task=asyncio.create_task(by("file_reservation_paths", arguments)),
            releases_before=self.releases[agent],
            number=self.number_of(agent, arguments),
        )
        self.calls.append(call)
        return call

    async def over_rpc(self, tool: str, arguments: dict[str, Any]) -> Any:
        answer = await self.served.post(f"/rpc/{tool}", {}, arguments)
        return None if "error" in answer else answer

    async def over_mcp(self, tool: str, arguments: dict[str, Any]) -> Any:
        body, headers = modern_call("tools/call", {"name": tool, "arguments": arguments})
        result = (await self.served.post("/mcp", headers, body))["result"]
        return None if result["isError"] else result["structuredContent"]

    @property
    def served(self) -> HttpShop:
        assert isinstance(self.shop, HttpShop)
        return self.shop

    async def leave(self) -> None:
        await self.cancel()

    async def give_up_all(self) -> None:
        # An answer may be on its way to who hangs up now: nobody can know, and some leases are known to nobody.
        self.was_killed = True
        while self.some(is_done=True):
            await self.hear()
        await super().give_up_all()
