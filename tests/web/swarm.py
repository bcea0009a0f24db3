"""Two projects whose agents write to each other, hold files and ask for contacts; some of their texts are hostile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.whole_app import WholeApp, open_whole_app
from tests.web.visitors import Person, sign_in

HOSTILE = "<script>alert(1)</script>\u202e<img src=x onerror=alert(1)>"
SHOP, BILLS = "/code/shop", "/code/bills"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swarm:
    """BlueLake and GreenHill of the shop, CopperOak of the bills."""

    app: WholeApp
    shop: str
    bills: str

    async def sign_in(self) -> Person:
        return await sign_in(self.app)

    async def text(self, path: str, status: int = 200) -> str:
        """A page as whoever asks last sees it."""
        answer = await self.app.client.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:800]}"
        return answer.text

    async def hold(self, agent: str, path: str, *, reason: str = "", exclusive: bool = True, **more: Any) -> int:
        answer = await self.app.call(
            "file_reservation_paths",
            project_key=SHOP,
            agent_name=agent,
            paths=[path],
            reason=reason,
            exclusive=exclusive,
            **more,
        )
        return int(answer["granted"][0]["id"])

    async def ask(self, subject: str = "Which currency?", body: str = "Euro or dollar?") -> None:
        """GreenHill writes to CopperOak, who takes no mail of strangers: it is held."""
        await self.app.call("set_contact_policy", project_key=BILLS, agent_name="CopperOak", policy="contacts_only")
        await self.app.call(
            "send_message",
            project_key=SHOP,
            sender_name="GreenHill",
            to=[f"CopperOak@{self.bills}"],
            subject=subject,
            body_md=body,
        )

    async def inbox_of(self, agent: str) -> list[str]:
        found = await self.app.call("fetch_inbox", project_key=BILLS, agent_name=agent)
        listed = found if isinstance(found, list) else found["messages"]
        return [one["subject"] for one in listed]


@asynccontextmanager
async def open_swarm(directory: Path) -> AsyncIterator[Swarm]:
    async with open_whole_app(directory) as app:
        slugs = [(await app.call("ensure_project", human_key=key))["slug"] for key in (SHOP, BILLS)]
        for key, name, task in (
            (SHOP, "BlueLake", "Coupons"),
            (SHOP, "GreenHill", HOSTILE),
            (BILLS, "CopperOak", "Bills"),
        ):
            await app.call(
                "register_agent",
                project_key=key,
                program="claude-code",
                model="opus",
                name=name,
                task_description=task,
            )
        yield Swarm(app=app, shop=slugs[0], bills=slugs[1])


def fields_of(swarm: Swarm, answer: str) -> dict[str, str]:
    """What the page of contacts sends to answer GreenHill, which asks to write to CopperOak."""
    return {"to_agent": "CopperOak", "from_agent": "GreenHill", "from_project": swarm.shop, "answer": answer}
