"""A store of another system as a plain object, and one that has every kind of record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.agents import AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.importing.records import (
    NotCarried,
    SourceAgent,
    SourceAttachment,
    SourceCopy,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceNote,
    SourceProduct,
    SourceProject,
    SourceStore,
    ThreadRef,
)
from mcp_agent_mail.domain.messages import Importance, RecipientKind

SYSTEM = "mcp-agent-mail"
TOKEN = "old-token-of-blue"


def at(seconds: int) -> Micros:
    """So many seconds after the source began."""
    return Micros((1_700_000_000 + seconds) * SECOND)


@dataclass
class ScriptedReader:
    """Gives what it holds, in order."""

    system: str = SYSTEM
    store_id: str = "one"
    oldest_mail: tuple[str, ...] = ()
    all_projects: list[SourceProject] = field(default_factory=list)
    all_agents: list[SourceAgent] = field(default_factory=list)
    all_messages: list[SourceMessage] = field(default_factory=list)
    all_leases: list[SourceLease] = field(default_factory=list)
    all_links: list[SourceLink] = field(default_factory=list)
    all_products: list[SourceProduct] = field(default_factory=list)
    all_left_out: list[NotCarried] = field(default_factory=list)
    all_notes: list[SourceNote] = field(default_factory=list)

    def store(self) -> SourceStore:
        return SourceStore(system=self.system, store_id=self.store_id, oldest_mail=self.oldest_mail)

    def projects(self) -> Iterator[SourceProject]:
        yield from self.all_projects

    def agents(self) -> Iterator[SourceAgent]:
        yield from self.all_agents

    def messages(self) -> Iterator[SourceMessage]:
        yield from self.all_messages

    def leases(self) -> Iterator[SourceLease]:
        yield from self.all_leases

    def links(self) -> Iterator[SourceLink]:
        yield from self.all_links

    def products(self) -> Iterator[SourceProduct]:
        yield from self.all_products

    def left_out(self) -> Iterator[NotCarried]:
        yield from self.all_left_out

    def notes(self) -> Iterator[SourceNote]:
        yield from self.all_notes


def project(key: str = "p1", human_key: str | None = "/old/app", slug: str | None = "old-app") -> SourceProject:
    return SourceProject(key=key, human_key=human_key, slug=slug, created_ts=at(0))


# `Any` below: fields of the record, whichever a test gives.


def agent(key: str, name: str, project_key: str = "p1", **rest: Any) -> SourceAgent:
    fields: dict[str, Any] = {"program": "claude-code", "model": "opus", "task": "porting", **rest}
    return SourceAgent(key=key, project_key=project_key, name=name, created_ts=at(1), last_active_ts=at(50), **fields)


def copy(agent_key: str, kind: RecipientKind = RecipientKind.TO, **rest: Any) -> SourceCopy:
    return SourceCopy(agent_key=agent_key, kind=kind, **rest)


def message(key: str, sender: str, *copies: SourceCopy, project_key: str = "p1", **rest: Any) -> SourceMessage:
    fields: dict[str, Any] = {
        "subject": f"About {key}",
        "body_md": f"body of {key}",
        "created_ts": at(100 + int(key.strip("m") or 0)),
        **rest,
    }
    return SourceMessage(key=key, project_key=project_key, sender_key=sender, recipients=copies, **fields)


def whole_store() -> ScriptedReader:
    """Two projects, five agents of which one has a name that is none here, and all that they can have."""
    return ScriptedReader(
        all_projects=[project(), project("p2", "/old/lib", "old-lib")],
        all_agents=[
            agent("a1", "BlueLake", token_hash=token_hash(TOKEN), contact_policy=ContactPolicy.OPEN),
            agent("a2", "RedStone", attachments_policy=AttachmentsPolicy.FILE),
            agent("a3", "agent x!"),
            agent("a4", "GreenField", contact_policy=ContactPolicy.BLOCK_ALL),
            agent("a5", "QuietFox", "p2"),
        ],
        all_messages=[
            message("m1", "a1", copy("a2", read_ts=at(200), ack_ts=at(210)), copy("a3"), ack_required=True),
            message("m2", "a2", copy("a1", read_ts=at(220)), thread=ThreadRef(message_key="m1")),
            message(
                "m3",
                "a1",
                copy("a2", RecipientKind.TO),
                copy("a3", RecipientKind.CC),
                copy("a4", RecipientKind.BCC, read_ts=at(230)),
                importance=Importance.URGENT,
                thread=ThreadRef(name="TKT-7"),
                topic="build",
            ),
            message("m4", "a2", copy("a5"), also=("m4b",), subject=None, body_md="\nfirst line\nsecond"),
            message(
                "m5",
                "a1",
                copy("a2"),
                attachments=(
                    SourceAttachment(name="notes/plan.txt", content=b"a plan"),
                    SourceAttachment(name="", content=b"\x89PNG\r\n\x1a\n picture", is_inline=True),
                    SourceAttachment(name="gone.bin", content=None),
                ),
            ),
            message("m6", "a3", copy("a1"), thread=ThreadRef(name="42")),
        ],
        all_leases=[
            lease("l1", "a1", "src/**", released_ts=at(300)),
            lease("l2", "a2", "docs/*.md"),
            lease("l3", "a2", "live/**", expires_ts=at(1_000_000_000)),
            lease("l4", "a3", "gone/**", expires_ts=at(1_000_000_000), stale_ts=at(400)),
        ],
        all_links=[
            link("k1", "a1", "a5", LinkStatus.APPROVED, expires_ts=at(1_000_000_000)),
            link("k2", "a5", "a1", LinkStatus.BLOCKED, expires_ts=at(45)),
            link("k3", "a2", "a5", LinkStatus.PENDING),
        ],
        all_products=[SourceProduct(key="d1", name="Shop", project_keys=("p1", "p2"), created_ts=at(2))],
        all_left_out=[NotCarried(kind="build slots", count=3, why="they ended with the old server")],
        all_notes=[SourceNote(text="Two directories share the slug old-app.")],
    )


def lease(key: str, agent_key: str, pattern: str, **rest: Any) -> SourceLease:
    fields: dict[str, Any] = {
        "exclusive": True,
        "reason": "editing",
        "created_ts": at(20),
        "expires_ts": at(500),
        **rest,
    }
    return SourceLease(key=key, project_key="p1", agent_key=agent_key, pattern=pattern, **fields)


def link(key: str, source: str, target: str, status: LinkStatus, **rest: Any) -> SourceLink:
    return SourceLink(
        key=key,
        from_agent_key=source,
        to_agent_key=target,
        status=status,
        reason="work together",
        created_ts=at(30),
        updated_ts=at(40),
        **rest,
    )
