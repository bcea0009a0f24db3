"""A store in which peers have written every vector into every field that they fill, over real HTTP and into Git."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.browser.vectors import VECTORS
from tests.server.pages.browsers import ServedPages, serve_pages
from tests.server.whole_app import OPERATOR

PROJECTS = 24
TOGETHER = 6
"""Vectors in a field that holds a long text."""
AGENTS = ("BlueLake", "RedStone", "QuietFox")
FIELDS = (
    *("subject", "body", "thread", "topic", "attachment", "name", "program", "model", "task", "status note"),
    *("contact reason", "path", "lease reason", "withdrawal", "project", "product"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileMail:
    """What came in, by its field; `messages` are the numbers of those whose bodies are vectors, None for a refusal."""

    served: ServedPages
    folder: Path
    slug: str
    messages: list[int | None] = field(default_factory=list)
    taken: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in FIELDS})

    async def keys(self) -> dict[str, str]:
        """Of pages that show what is hostile, the archive's too."""
        history = await self.served.browser().get(f"/mail/archive/activity?project={self.slug}")
        commit = re.search(r"/mail/archive/commit/([0-9a-f]{40})", history.text)
        assert commit is not None
        return {
            "project": self.slug,
            "thread": "T",
            "message": str(self.messages[0]),
            "agent": "RedStone",
            "name": "RedStone",
            "commit": commit[1],
            "reservation": "1",
            "folder": "agents",
            "file": "archive.json",
            "word": "alert",
            "at": "2099-01-01T00:00:00Z",
        }


class Peers:
    """Calls that may be refused: what no field takes, no page shows."""

    def __init__(self, client: httpx.AsyncClient, mail: HostileMail) -> None:
        self._client = client
        self._mail = mail

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        answer = await self._client.post(f"/rpc/{tool}", json=arguments)
        assert answer.status_code < 500, (tool, arguments, answer.text)
        return answer.json() if answer.status_code == 200 else None

    async def ask(self, tool: str, /, **arguments: Any) -> Any:
        return await self.call(tool, project_key=str(self._mail.folder), **arguments)

    async def send(self, **arguments: Any) -> int | None:
        given = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "plain", "body_md": "b", **arguments}
        sent = await self.ask("send_message", **given)
        return None if sent is None or not sent["deliveries"] else sent["deliveries"][0]["payload"]["id"]

    def took(self, name: str, vector: str, answer: Any) -> Any:
        if answer:
            self._mail.taken[name].append(vector)
        return answer

    async def write(self, number: int, vector: str) -> None:
        """Where a subject is refused the body comes with a plain one."""
        given = {
            "body_md": vector,
            "thread_id": "T",
            "to": ["RedStone", "Human"] if number % 8 == 0 else ["RedStone"],
            "ack_required": number % 16 == 0,
        }
        sent = self.took("subject", vector, await self.send(subject=vector[:200], **given)) or await self.send(**given)
        self._mail.messages.append(self.took("body", vector, sent))
        for name, parameter in (("thread", "thread_id"), ("topic", "topic")):
            self.took(name, vector, await self.send(**{parameter: vector}))

    async def register(self, vector: str) -> None:
        """An agent that is called so, else one whose program and model are."""
        given = {"program": vector[:100], "model": vector[:100]}
        named = self.took("name", vector, await self.ask("register_agent", name=vector, **given))
        made = named or await self.ask("register_agent", **given)
        if made:
            noted = await self.ask("set_status", agent_name=made["name"], status="busy", note=vector[:1_000])
            self.took("status note", vector, noted)
        if made and await self.send(sender_name=made["name"]):
            for name in ("program", "model"):
                self.took(name, vector, made)

    async def hold(self, number: int, vector: str) -> None:
        """A file of this path, for this reason, shared."""
        for name, given in (("path", {"paths": [vector]}), ("lease reason", {"paths": [f"f{number}"]})):
            arguments = {"agent_name": AGENTS[number % 2], "exclusive": False, "reason": vector[:200], **given}
            held = await self.ask("file_reservation_paths", **arguments)
            self.took(name, vector, held and held["granted"])

    async def carry(self, vector: str) -> None:
        """Mail with a file that is called so, as far as a file system has it."""
        name = vector.replace("/", "\u2215")[:80]
        try:
            await asyncio.to_thread((self._mail.folder / name).write_bytes, b"<script>alert(1)</script>")
        except (OSError, ValueError):
            return
        self.took("attachment", vector, await self.send(subject="carries", attachment_paths=[name], thread_id="T"))

    async def introduce(self, some: Sequence[str]) -> None:
        """An agent that is at work on them, asks another for contact because of them, and withdraws mail for them.
        Where one of them is refused they come one by one.
        """
        text = "\n".join(some)
        made = await self.ask("register_agent", program="t", model="m", task_description=text[:4_000])
        name = made["name"] if made else "RedStone"
        contact = await self.ask("request_contact", from_agent=name, to_agent="QuietFox", reason=text[:1_000])
        sent = await self.send(subject="withdrawn")
        reason = {"message_id": sent, "sender_name": "BlueLake", "reason": text[:500]}
        withdrawn = await self.ask("withdraw_message", **reason)
        if len(some) > 1 and not (made and contact and withdrawn):
            for vector in some:
                await self.introduce([vector])
            return
        for vector in some:
            self.took("task", vector, made and vector in text[:4_000])
            self.took("contact reason", vector, contact and vector in text[:1_000])
            self.took("withdrawal", vector, withdrawn and vector in text[:500])

    async def begin_project(self, vector: str) -> None:
        path = f"/code/{vector[:80]}"
        self.took("project", vector, await self.call("ensure_project", human_key=path))
        self.took("product", vector, await self.call("ensure_product", name=vector[:80]))


async def _fill(peers: Peers, vectors: Sequence[str]) -> None:
    for number, vector in enumerate(vectors):
        await peers.write(number, vector)
        await peers.register(vector)
        await peers.hold(number, vector)
        await peers.carry(vector)
    for number in range(0, len(vectors), TOGETHER):
        await peers.introduce(vectors[number : number + TOGETHER])
    for vector in vectors[:: max(1, len(vectors) // PROJECTS)]:
        await peers.begin_project(vector)


@asynccontextmanager
async def hostile_mail(directory: Path, vectors: Sequence[str] = VECTORS) -> AsyncIterator[HostileMail]:
    """In the store of `directory`, its archives up to date."""
    folder = directory / "work"
    await asyncio.to_thread(folder.mkdir)
    async with serve_pages(directory, HTTP_RATE_LIMIT_ENABLED="false") as served:
        slug = (await served.call("ensure_project", human_key=str(folder)))["slug"]
        mail = HostileMail(served=served, folder=folder, slug=slug)
        headers = {"authorization": f"Bearer {OPERATOR}"}
        async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=120) as client:
            peers = Peers(client, mail)
            for name in AGENTS:
                await peers.ask("register_agent", name=name, program="t", model="m")
            await peers.ask("set_contact_policy", agent_name="QuietFox", policy="contacts_only")
            await _fill(peers, vectors)
        await served.archive()
        yield mail
