"""Values of every kind of file, with texts that nobody wishes for."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mcp_agent_mail.core.clock import Micros, parse_time
from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, LeaseId, MessageId, ProductId, ProjectId
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.archive_format.artifacts import (
    ArchivedAgent,
    ArchivedAlias,
    ArchivedContact,
    ArchivedLease,
    ArchivedMail,
    ArchivedOverdueNotice,
    ArchivedParty,
    ArchivedProductLink,
    ArchivedProject,
    ArchivedReceipt,
    ArchivedReceipts,
    ArchivedRecipient,
)
from mcp_agent_mail.domain.attachments import Attachment, StoredContent
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.doors.ids import WirePlace, is_wire_id
from mcp_agent_mail.domain.doors.names import Door, WireName, is_wire_name
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind
from mcp_agent_mail.domain.messages import Importance, ReceiptStep, RecipientKind
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.domain.projects import AliasKind, Project

texts = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "",
            "---",
            "\n---\n",
            "}\n---\n",
            "a\r\nb",
            "\0",
            "\x85",
            "\u2028",
            "ends\n",
            "\n\n",
            '{"a": 1}\n',
            "---json\n",
        ]
    ),
)
names = st.sampled_from(["BlueLake", "RedStone", "Human", "x", "A-b_9"])
slugs = st.sampled_from(["app-1a2b3c", "lib-9f8e7d"])
ids = st.integers(0, MOST_NUMBER)
_edges = (parse_time("1000-01-01"), parse_time("9999-12-31"))
times = st.integers(*_edges).map(Micros)
maybe_time: st.SearchStrategy[Micros | None] = st.none() | times
_leaves = texts | ids | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
evidence = st.dictionaries(
    texts, st.recursive(_leaves, lambda inner: st.lists(inner, max_size=2), max_leaves=4), max_size=3
)
contents = st.builds(
    StoredContent,
    sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
    bytes=ids,
    extension=st.sampled_from(["webp", "png", "bin", "txt"]),
)
attachments = st.builds(
    Attachment,
    content=contents,
    name=texts,
    media_type=texts,
    width=st.none() | ids,
    height=st.none() | ids,
    is_inline=st.booleans(),
    original=st.none() | contents,
)

projects = st.builds(
    ArchivedProject,
    version=st.just(2),
    store_id=texts,
    project=st.builds(
        Project, id=ids.map(ProjectId), slug=slugs, human_key=texts, created_ts=times, archived_ts=maybe_time
    ),
    aliases=st.lists(
        st.builds(ArchivedAlias, name=texts, kind=st.sampled_from(AliasKind), created_ts=maybe_time), max_size=3
    ).map(tuple),
)
wire_names = st.text(min_size=1, max_size=20).map(str.strip).filter(is_wire_name)
wire_ids = st.text(min_size=1, max_size=20).filter(is_wire_id) | st.just("x" * 256)


@st.composite
def agents(draw: st.DrawFn) -> ArchivedAgent:
    agent_id, project_id = draw(ids), ProjectId(draw(ids))
    aliases = tuple(
        WireName(
            id=number,
            project_id=project_id,
            agent_id=AgentId(agent_id),
            name=draw(wire_names),
            owner=draw(st.none() | st.sampled_from(Door)),
            linked=draw(st.frozensets(st.sampled_from(Door))),
            created_ts=draw(times),
        )
        for number in sorted(draw(st.sets(ids, max_size=2)))
    )
    retired_ts = draw(maybe_time)
    return ArchivedAgent(
        id=agent_id,
        project_id=project_id,
        kind=draw(st.sampled_from(AgentKind)),
        name=draw(names),
        program=draw(texts),
        model=draw(texts),
        task_description=draw(texts),
        inception_ts=draw(times),
        profiled_ts=draw(times),
        retired_ts=retired_ts,
        contact_policy=draw(st.sampled_from(ContactPolicy)),
        attachments_policy=draw(st.sampled_from(AttachmentsPolicy)),
        aliases=aliases,
        is_unclaimed=bool(aliases) and draw(st.booleans()),
        retired_by_operator=retired_ts is not None and draw(st.booleans()),
    )


receipts = st.builds(
    ArchivedReceipts,
    first_seq=st.just(7),
    receipts=st.lists(
        st.builds(
            ArchivedReceipt,
            message_id=ids.map(MessageId),
            agent_id=ids.map(AgentId),
            agent=names,
            step=st.sampled_from(ReceiptStep),
            at=times,
            is_blind=st.just(False),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
)
_parties = {"agent_id": ids.map(AgentId), "name": names, "project_key": texts}
contacts = st.builds(
    ArchivedContact,
    id=ids,
    source=st.builds(ArchivedParty, project_id=st.just(ProjectId(1)), **_parties),
    target=st.builds(ArchivedParty, project_id=st.sampled_from([ProjectId(1), ProjectId(2)]), **_parties),
    status=st.sampled_from([status.value for status in LinkStatus]),
    reason=texts,
    created_ts=times,
    updated_ts=times,
    expires_ts=maybe_time,
)
links = st.builds(
    ArchivedProductLink,
    product=st.builds(
        Product, id=ids.map(ProductId), uid=st.sampled_from(["0badcafe", "f" * 64]), name=texts, created_ts=times
    ),
    project_id=ids.map(ProjectId),
    linked_ts=times,
)
notices = st.builds(
    ArchivedOverdueNotice,
    message_id=ids.map(MessageId),
    noted_ts=times,
    escalation=st.sampled_from([None, "log", "mail", "file_reservation"]),
)


@st.composite
def leases(draw: st.DrawFn) -> ArchivedLease:
    kind = draw(st.sampled_from(LeaseKind))
    is_file, has_ended = kind is LeaseKind.FILE, draw(st.booleans())
    return ArchivedLease(
        id=LeaseId(draw(ids)),
        kind=kind,
        project_key=draw(texts),
        agent_id=AgentId(draw(ids)),
        agent=draw(names),
        path_pattern=draw(texts),
        is_folder=is_file and draw(st.booleans()),
        ignore_case=is_file and draw(st.booleans()),
        exclusive=draw(st.booleans()),
        reason=draw(texts) if is_file else "",
        branch=draw(st.none() | texts),
        created_ts=draw(times),
        expires_ts=draw(times),
        released_ts=draw(times) if has_ended else None,
        ended_by=draw(st.sampled_from(EndedBy)) if has_ended else None,
        evidence=draw(st.none() | evidence),
        fencing=draw(ids),
    )


@st.composite
def mails(draw: st.DrawFn, *, with_blind: bool = True) -> ArchivedMail:
    slug = draw(slugs)
    sender = draw(names)
    kinds = list(RecipientKind) if with_blind else [RecipientKind.TO, RecipientKind.CC]
    sender_id = AgentId(draw(ids))
    recipients = tuple(_recipient(draw, number, kinds) for number in range(draw(st.integers(0, 3))))
    return ArchivedMail(
        id=MessageId(draw(ids)),
        project_id=ProjectId(draw(ids)),
        project_slug=slug,
        project_key=draw(texts),
        sender_id=sender_id,
        sender=sender if with_blind else draw(st.sampled_from([sender, f"{sender}@{slug}"])),
        thread_id=draw(st.none() | texts),
        topic=draw(st.none() | texts),
        subject=draw(texts),
        body_md=draw(texts),
        importance=draw(st.sampled_from(Importance)),
        ack_required=draw(st.booleans()),
        created_ts=draw(times),
        reply_to=draw(st.none() | ids.map(MessageId)),
        is_system=draw(st.booleans()),
        is_private=draw(st.booleans()),
        purged_ts=draw(maybe_time),
        attachments=tuple(draw(st.lists(attachments, max_size=2))),
        recipients=recipients,
        wire_place=_wire_place(draw, sender_id, recipients) if recipients else None,
    )


def _wire_place(draw: st.DrawFn, sender_id: AgentId, recipients: tuple[ArchivedRecipient, ...]) -> WirePlace | None:
    if draw(st.booleans()):
        return None
    return WirePlace(
        door=draw(st.sampled_from(Door)),
        external_id=draw(wire_ids),
        sender_id=sender_id,
        recipient_id=draw(st.sampled_from(recipients)).agent_id,
        answers=draw(ids),
    )


def _recipient(draw: st.DrawFn, number: int, kinds: list[RecipientKind]) -> ArchivedRecipient:
    name, was_held = f"To{number}", draw(st.booleans())
    fate: dict[str, Any] = {"held_code": None, "status": None, "refused_ts": None}
    if was_held:
        fate = {"held_code": draw(texts), "status": draw(texts), "refused_ts": draw(maybe_time)}
    return ArchivedRecipient(
        agent_id=AgentId(draw(ids)),
        name=draw(st.sampled_from([name, f"{name}@lib-9f8e7d"])),
        kind=draw(st.sampled_from(kinds)),
        delivery_seq=draw(st.none() | ids),
        delivered_ts=draw(maybe_time),
        **fate,
    )
