"""What a commit of an archive says: what happened, a line for each of several events, who acted, and how far the outbox
has been written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from mcp_agent_mail.core.escaping import printable
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.layout import Snapshot, is_blind_receipt, is_tombstone
from mcp_agent_mail.domain.archive_format.leases import is_stand_in
from mcp_agent_mail.domain.archive_format.names import name_in
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION
from mcp_agent_mail.domain.events import EventKind, OutboxEvent

AGENT_TRAILER = "Agent"
DID_TRAILER = "Did"
"""Of a commit whose lines do not say who did what: `BlueLake mail, profile`, once per agent that acted. What it did are
kinds of events, of leases its own; and FORCE.
"""
FORCE = "force"
"""It ended another's lease."""
SEQ_TRAILER = "Outbox-Seq"
VERSION_TRAILER = "Archive-Format"
"""Of the one commit that brings an archive to a version of the format."""

LINES_SHOWN = 50
_LINE_LENGTH = 100
_NAMES_SHOWN = 3
_LEASES = (EventKind.RESERVATION, EventKind.SLOT)
_LEASE_ENDS = {"expiry": "expired", "idle": "ended: idle", "force": "ended by force", "retirement": "ended: retired"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitText:
    """`author` is the one agent that acted, None when several did or none. `lines` say what happened, one by one, where
    it was more than the subject tells. `did`: where they do not say it, what each agent did, by its name.
    """

    subject: str
    agents: tuple[str, ...]
    last_seq: OutboxSeq
    lines: tuple[str, ...] = ()
    version: int | None = None
    did: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def author(self) -> str | None:
        return self.agents[0] if len(self.agents) == 1 else None

    @property
    def message(self) -> str:
        """The trailers are a paragraph of their own, the last one: no line above them is taken for one."""
        told = [*self.lines, ""] if self.lines else []
        trailers = [f"{AGENT_TRAILER}: {name}" for name in self.agents]
        trailers += [f"{DID_TRAILER}: {name} {', '.join(sorted(acts))}" for name, acts in self.did.items()]
        if self.version is not None:
            trailers.append(f"{VERSION_TRAILER}: {self.version}")
        return "\n".join([self.subject, "", *told, *trailers, f"{SEQ_TRAILER}: {self.last_seq}", ""])


def commit_text(events: Sequence[OutboxEvent]) -> CommitText:
    """For a batch, which is never empty. It says the same whether or not something is in it that few may know of: a
    blind or held copy, what asks for and gives consent, a receipt that may be for such a copy.
    """
    did = _did(events)
    told = [event for event in events if _is_told(event)]
    first = _told(told[0]) if told else "archive: records"
    return CommitText(
        subject=_short(first, f" (+{len(told) - 1})" if len(told) > 1 else ""),
        agents=tuple(did),
        last_seq=events[-1].seq,
        lines=tuple(_lines(told)),
        did={} if _say_who_did_what(told) else did,
    )


def _lines(told: Sequence[OutboxEvent]) -> list[str]:
    """Of one event none: it is all said in the subject."""
    if len(told) < 2:
        return []
    more = [f"and {len(told) - LINES_SHOWN} more"] if len(told) > LINES_SHOWN else []
    return [*(_short(_told(event)) for event in told[:LINES_SHOWN]), *more]


def _did(events: Sequence[OutboxEvent]) -> dict[str, frozenset[str]]:
    """What each agent did that all may know of, by its name; names rising."""
    did: dict[str, set[str]] = {}
    for event in events:
        if (name := _acting(event)) is not None:
            is_anothers = event.kind in _LEASES and event.snapshot["agent"] != name
            did.setdefault(name, set()).add(FORCE if is_anothers else event.kind.value)
    return {name: frozenset(did[name]) for name in sorted(did)}


def _say_who_did_what(told: Sequence[OutboxEvent]) -> bool:
    """Do the lines? They do not where some are left out, where one does not begin with who acted, and where that of a
    lease is cut, which says at its end how that came.
    """
    if len(told) > LINES_SHOWN:
        return False
    return all(_is_said(_told(event), event) for event in told if event.kind not in (EventKind.MAIL, EventKind.RECEIPT))


def _is_said(line: str, event: OutboxEvent) -> bool:
    acting = _acting(event)
    is_cut = event.kind in _LEASES and len(printable(line).strip()) > _LINE_LENGTH
    return not is_cut and (acting is None or line.startswith(f"{acting} "))


def attachments_text(count: int, last_seq: OutboxSeq) -> CommitText:
    """For the commit that brings contents which could not be had when their mail came. It holds no event, as one of
    `conversion_text`.
    """
    subject = f"archive: {count} attachment{'' if count == 1 else 's'} brought later"
    return CommitText(subject=subject, agents=(), last_seq=last_seq)


def pages_text(count: int, last_seq: OutboxSeq) -> CommitText:
    """For a commit of pages alone, of so many threads. It holds no event, as one of `conversion_text`."""
    subject = f"archive: pages of {count} thread{'' if count == 1 else 's'}"
    return CommitText(subject=subject, agents=(), last_seq=last_seq)


def conversion_text(before: int, last_seq: OutboxSeq) -> CommitText:
    """For the commit that brings an archive from the version `before` to this one, or what a program of an older one
    has written since. It holds no event, so that it goes as far in the outbox as the one before it.
    """
    was = f"was {before}" if before < FORMAT_VERSION else f"some of it was {OLDEST_VERSION} again"
    return CommitText(
        subject=f"archive: format {FORMAT_VERSION} ({was})",
        agents=(),
        last_seq=last_seq,
        lines=(
            "No mail has changed: each file ends in a newline now, and folders of",
            "500 files say which (0-499). `git log --follow` finds what was before.",
        ),
        version=FORMAT_VERSION,
    )


def _short(text: str, end: str = "") -> str:
    """One line that is printable and not too long, with `end`."""
    line, room = printable(text).strip(), _LINE_LENGTH - len(end)
    return (line if len(line) <= room else line[: room - 1].rstrip() + "…") + end


def _told(event: OutboxEvent) -> str:
    """What happened, in words."""
    return _WORDS[event.kind](event)


def _told_of_mail(event: OutboxEvent) -> str:
    return f"mail: {_route(event.snapshot)} | {event.snapshot['subject']}"


def _told_of_receipt(event: OutboxEvent) -> str:
    said = event.snapshot
    return f"{said['agent']} {said['step']} {said['message_id']}"


def _told_of_product(event: OutboxEvent) -> str:
    said = event.snapshot
    acting = said["acting"]
    return f"{acting} linked product {said['name']}" if acting else f"product {said['name']} linked"


def _told_of_import(event: OutboxEvent) -> str:
    said = event.snapshot
    return f"import: {len(said['taken'])} records of {said['system']}"


def _told_of_adoption(event: OutboxEvent) -> str:
    source = event.snapshot["source"]
    return "archive: names after an adoption" if source is None else f"adopt: {source} into {event.project_slug}"


def _told_of_profile(event: OutboxEvent) -> str:
    said = event.snapshot
    name = said["name"]
    if event.agent_id is None:
        return f"profile of {name}"
    if said["retired_ts"] is not None:
        return f"{name} retired"
    return f"{name} joined" if said["profiled_ts"] == said["inception_ts"] else f"{name} changed its profile"


def _told_of_project(event: OutboxEvent) -> str:
    said = event.snapshot
    if said["archived_ts"] is not None:
        return f"project {said['slug']} set aside"
    begun = event.created_ts == said["created_ts"]
    return f"project {said['slug']} begun" if begun else f"project {said['slug']} changed"


def _told_of_lease(event: OutboxEvent) -> str:
    said = event.snapshot
    agent, what = said["agent"], said["path_pattern"]
    is_slot = event.kind is EventKind.SLOT
    if said["released_ts"] is None:
        is_new = said["lapsed_ts"] is not None or event.created_ts == said["created_ts"]
        verb = ("took slot" if is_slot else "reserved") if is_new else ("kept slot" if is_slot else "renewed")
        return f"{agent} {verb} {what}"
    if said["ended_by"] in _LEASE_ENDS:
        thing = "slot" if is_slot else "reservation"
        return f"{thing} {what} of {agent} {_LEASE_ENDS[said['ended_by']]}"
    return f"{agent} released slot {what}" if is_slot else f"{agent} released {what}"


_WORDS: dict[EventKind, Callable[[OutboxEvent], str]] = {
    EventKind.MAIL: _told_of_mail,
    EventKind.RECEIPT: _told_of_receipt,
    EventKind.PROFILE: _told_of_profile,
    EventKind.PROJECT: _told_of_project,
    EventKind.PRODUCT: _told_of_product,
    EventKind.IMPORT: _told_of_import,
    EventKind.ADOPTION: _told_of_adoption,
    EventKind.RESERVATION: _told_of_lease,
    EventKind.SLOT: _told_of_lease,
}
"""Of contacts and of overdue notices nothing is told: what is late may be a blind copy."""


def _is_told(event: OutboxEvent) -> bool:
    """A stand-in tells of something else, or of nothing; an adoption's says what it must."""
    return _is_open(event) and (event.kind is EventKind.ADOPTION or not is_stand_in(event.snapshot))


def _is_open(event: OutboxEvent) -> bool:
    """Commits are shown to everybody: what nobody has got yet, is for few eyes or is gone is not spoken of there."""
    if event.kind is EventKind.MAIL:
        return _is_told_by_its_sender(event) and _is_shown(event.snapshot)
    if event.kind is EventKind.RECEIPT:
        return not is_blind_receipt(event.snapshot) and not event.snapshot.get("is_private", False)
    return event.kind not in (EventKind.CONTACT, EventKind.OVERDUE)


def _is_told_by_its_sender(event: OutboxEvent) -> bool:
    """Else somebody else has changed what became of a copy, which may be a blind one."""
    return event.agent_id is not None and event.agent_id == event.snapshot["sender_id"]


def _is_shown(snapshot: Snapshot) -> bool:
    """Has it come to somebody, openly as far as the archive's project is not its sender's?"""
    home, recipients = snapshot["archive_project_id"], snapshot["recipients"]
    if home != snapshot["project_id"]:
        recipients = [entry for entry in recipients if entry["project_id"] == home and entry["kind"] != "bcc"]
        if not recipients:
            return False
    is_held = bool(recipients) and all(entry.get("status") in ("held", "refused") for entry in recipients)
    return not is_held and not snapshot.get("is_private", False) and not is_tombstone(snapshot)


def _route(snapshot: Snapshot) -> str:
    home = snapshot["archive_project_id"]
    names = [
        name_in(home, entry["name"], entry["project_id"], entry["project_slug"])
        for entry in snapshot["recipients"]
        if entry["kind"] != "bcc"
    ]
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = f" +{len(names) - _NAMES_SHOWN}" if len(names) > _NAMES_SHOWN else ""
    sender = _sender(snapshot)
    return f"{sender} -> {shown}{more}" if shown else sender


def _sender(snapshot: Snapshot) -> str:
    return name_in(snapshot["archive_project_id"], snapshot["sender"], snapshot["project_id"], snapshot["project_slug"])


def _acting(event: OutboxEvent) -> str | None:
    """The name of the agent whose act the event tells of; None for the server's own and for what few may know of."""
    if not _is_open(event):
        return None
    if event.kind is EventKind.MAIL:
        return _sender(event.snapshot)
    if event.kind is EventKind.PROFILE:
        return None if event.agent_id is None else str(event.snapshot["name"])
    if event.kind is EventKind.RECEIPT:
        return str(event.snapshot["agent"])
    acting = event.snapshot.get("acting")
    return None if acting is None else str(acting)
