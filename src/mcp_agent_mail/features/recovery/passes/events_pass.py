"""The commits of all archives, with the events that each holds: what tells who did what, and what Git has already."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

from mcp_agent_mail.archive.reading.branch import BranchCommit
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedReceipt
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind
from mcp_agent_mail.domain.identity.names import HUMAN, SYSTEM
from mcp_agent_mail.domain.messages import ReceiptStep
from mcp_agent_mail.features.doctor.external_sort import Spool
from mcp_agent_mail.features.recovery.passes.commit_events import (
    CommitEvent,
    acted_beside_mail,
    acted_in,
    changed_by_others,
    events_of,
    new_mail,
    told_of_receipts,
)
from mcp_agent_mail.features.recovery.passes.event_numbers import Certainty, Claim, numbered
from mcp_agent_mail.features.recovery.passes.mail_changes import ChangesOfMail
from mcp_agent_mail.features.recovery.people import People
from mcp_agent_mail.features.recovery.sources import ArchiveSource
from mcp_agent_mail.store.rebuild.database import RebuiltDatabase, RebuiltEvent

_LEASES = (EventKind.RESERVATION, EventKind.SLOT)
_ANYBODY = (*_LEASES, EventKind.PRODUCT, EventKind.PROJECT)
"""Events that do not say themselves who acted."""

_OF_MAIL = (EventKind.MAIL, EventKind.RECEIPT)

_ORDER = (EventKind.PROJECT, EventKind.PROFILE, *(kind for kind in EventKind if kind not in ("project", "profile")))
"""In which events of one commit most likely came."""

Fields = dict[str, Any]  # JSON: an event on its way to its number, by the names of `RebuiltEvent`


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSpan:
    """A commit that holds events above `before` and up to `last`."""

    project_id: ProjectId
    hexsha: str
    before: int
    last: int
    at: Micros

    def holds(self, seq: int, project_id: ProjectId) -> bool:
        """Can it hold the event of this number, of this project?"""
        return self.project_id == project_id and self.before < seq <= self.last

    def claim(self, event: Mapping[str, Any]) -> Claim:
        """Of an event that could have any number of the commit's."""
        return Claim(
            first=self.before + 1,
            last=self.last,
            order=(_ORDER.index(event["kind"]), event["message"] or 0),
            certainty=Certainty.SPARE if event.get("is_spare") else Certainty.LIKELY,
            event=self.line(event),
        )

    def receipt_claim(self, event: Mapping[str, Any], first: int, place: int) -> Claim:
        """Of a line of a file that is named by the number of its first."""
        at = (first, first) if place == 0 else (first + 1, self.last)
        order = (first, place)
        return Claim(first=at[0], last=at[1], certainty=Certainty.NEEDED, order=order, event=self.line(event))

    def line(self, event: Mapping[str, Any]) -> bytes:
        """The event with its commit, as JSON on one line."""
        return _line({"project": self.project_id, "hexsha": self.hexsha, "created_ts": self.at} | dict(event))


class EventsPass:
    """`read` each archive once leases and mail are there; then every file of receipts is told; then `finish`."""

    def __init__(self, database: RebuiltDatabase, people: People, folder: Path) -> None:
        self._database = database
        self._people = people
        self._commits = Spool(made(folder / "commits"))
        self._claims = Spool(made(folder / "claims"))
        self._receipts = Spool(made(folder / "receipts"))

    def read(self, source: ArchiveSource) -> None:
        """Take in the history of one archive, and of those that it adopted."""
        held: dict[str, int] = {}
        with closing(source.branch.commits(source.commit)) as commits, source.branch.reader() as reader:
            changes = ChangesOfMail(self._database, self._people, reader)
            for place, commit in enumerate(commits):
                before = [held.pop(parent, 0) for parent in commit.parents]
                before_it = before[0] if before else 0
                held[commit.hexsha] = before_it if commit.last_seq is None else commit.last_seq
                if commit.last_seq is not None:
                    span = CommitSpan(
                        project_id=source.project.id,
                        hexsha=commit.hexsha,
                        before=before_it,
                        last=commit.last_seq,
                        at=commit.committed_ts,
                    )
                    head = f"{commit.last_seq:020d} {source.number:08d} {place:010d} ".encode()
                    self._commits.add(head + span.line({"subject": commit.subject}))
                    self._add_events(span, commit, changes)

    def _add_events(self, span: CommitSpan, commit: BranchCommit, changes: ChangesOfMail) -> None:
        if span.last <= span.before:
            return  # It converts, or brings what was lacked: it holds none.
        events = list(events_of(commit))
        for event in events:
            if event.kind is EventKind.RECEIPT:
                window = json.dumps([span.hexsha, span.before, span.last, span.at, span.project_id])
                self._receipts.add(f"{int(event.subject):020d} {span.last:020d} {window}".encode())
        others = [event for event in events if event.kind is not EventKind.RECEIPT]
        for fields in self._acted(span.project_id, commit, others, changes):
            self._claims.add(span.claim(fields).to_line())

    def _with_deciders(
        self, project_id: ProjectId, commit: BranchCommit, fields: Fields, changes: ChangesOfMail
    ) -> Iterator[Fields]:
        """The sending of a message, and what else became of it in that commit; each is an event of its own."""
        is_mail = fields["kind"] == EventKind.MAIL
        deciders = changes.deciders(project_id, commit, fields["message"]) if is_mail else []
        if fields["agent"] is not None or not deciders:
            yield fields
        else:
            yield {**fields, "agent": deciders.pop(0)}
        yield from ({**fields, "agent": one} for one in deciders)

    def _acted(
        self, project_id: ProjectId, commit: BranchCommit, events: Sequence[CommitEvent], changes: ChangesOfMail
    ) -> Iterator[Fields]:
        """Each event with who acted. Commits name everybody who did something that all may know of."""
        names = (name for name in sorted(acted_in(commit)) if "@" not in name)
        named = ((name, self._people.named(project_id, name)) for name in names)
        acting = {agent_id: name for name, agent_id in named if agent_id is not None}
        brought, others_did = new_mail(commit), changed_by_others(commit)
        acted = (self._with_actor(project_id, event, acting, brought, others_did) for event in events)
        found = [one for fields in acted for one in self._with_deciders(project_id, commit, fields, changes)]
        yield from _share(found, acting, commit)

    def _with_actor(
        self,
        project_id: ProjectId,
        event: CommitEvent,
        acting: Mapping[AgentId, str],
        brought: Mapping[int, frozenset[str]],
        others_did: Collection[tuple[EventKind, str]],
    ) -> Fields:
        fields: Fields = {"kind": event.kind.value, "agent": None, "message": None}
        if event.kind is EventKind.MAIL:
            message_id = MessageId(int(event.subject))
            fields["message"] = message_id
            sent = self._database.sender(message_id)
            if (
                sent is not None
                and message_id in brought
                and self._is_sent(project_id, message_id, brought[message_id])
            ):
                fields["agent"], fields["created_ts"] = sent
        elif event.kind is EventKind.OVERDUE:
            fields["message"] = MessageId(int(event.subject))
        elif event.kind is EventKind.PROFILE:
            owner = self._people.named(project_id, event.subject)
            is_own = event.subject not in (HUMAN, SYSTEM) and (event.kind, event.subject) not in others_did
            fields["agent"] = owner if owner in acting and is_own else None
        elif event.kind in _LEASES:
            holder = self._database.holder(int(event.subject))
            if holder is not None and holder in acting and (event.kind, acting[holder]) not in others_did:
                fields["agent"] = holder
        return fields

    def _is_sent(self, project_id: ProjectId, message_id: MessageId, names: Collection[str]) -> bool:
        """Did it come with its sending? Held copies come by the word of whoever approved them."""
        reached = [self._people.named(project_id, name) for name in names]
        return not names or any(one is not None and not self._database.was_held(message_id, one) for one in reached)

    def receipt_spans(self) -> Iterator[tuple[int, CommitSpan]]:
        """By the first number of a file of receipts, rising: the commit that brought it."""
        for first, lines in groupby(self._receipts, key=lambda line: int(line[:20])):
            hexsha, before, last, at, project_id = json.loads(next(iter(lines)).split(b" ", 2)[2])
            yield first, CommitSpan(project_id=project_id, hexsha=hexsha, before=before, last=last, at=at)

    def add_receipt(self, span: CommitSpan, receipt: ArchivedReceipt, first: int, place: int, at: Micros) -> None:
        """`at`: when the event came, which tells the day of the file."""
        fields: Fields = {
            "kind": EventKind.RECEIPT.value,
            "agent": receipt.agent_id,
            "message": receipt.message_id,
            "step": receipt.step.value,
            "is_blind": receipt.is_blind,
            "created_ts": at,
        }
        self._claims.add(span.receipt_claim(fields, first, place).to_line())

    def finish(self) -> None:
        """Add commits and events. Raises NumbersExhausted."""
        for line in self._commits:
            fields = json.loads(line.split(b" ", 3)[3])
            self._database.add_commit(
                ArchiveCommit(
                    project_id=ProjectId(fields["project"]),
                    hexsha=fields["hexsha"],
                    summary=fields["subject"],
                    authored_ts=Micros(fields["created_ts"]),
                    last_seq=OutboxSeq(int(line[:20])),
                )
            )
        self._database.add_events(
            self._event(seq, json.loads(event)) for seq, event in numbered(map(Claim.from_line, self._claims))
        )

    def _event(self, seq: int, fields: Fields) -> RebuiltEvent:
        project_id = ProjectId(fields["project"])
        return RebuiltEvent(
            seq=OutboxSeq(seq),
            project_id=project_id,
            kind=EventKind(fields["kind"]),
            agent_id=fields["agent"],
            message_id=fields["message"],
            step=ReceiptStep(fields["step"]) if "step" in fields else None,
            created_ts=Micros(fields["created_ts"]),
            commit_id=self._database.commit_id(project_id, fields["hexsha"]),
            is_blind=fields.get("is_blind", False),
        )


def _share(found: Sequence[Fields], acting: Mapping[AgentId, str], commit: BranchCommit) -> list[Fields]:
    """With all who acted: whoever did something to another's lease, or to what is nobody's, gets one of the events that
    do not say who, or else one more (spare ones), since a file that several changed is there once, and one that was
    written as it was not at all. An agent's mail does not stand for what else it did: it may be withdrawn since.
    """
    told = {fields["agent"] for fields in found}
    told_beside = {fields["agent"] for fields in found if fields["kind"] not in _OF_MAIL}
    with_receipts, beside = told_of_receipts(commit), acted_beside_mail(commit)
    sure = [one for one, name in acting.items() if name in beside and one not in told_beside]
    left = [one for one, name in acting.items() if one not in told and name not in with_receipts and name not in beside]
    for fields in found:
        if fields["kind"] in _ANYBODY and fields["agent"] is None and (of := sure or left):
            fields["agent"] = of.pop(0)
    if not any(fields["kind"] in (*_ANYBODY, EventKind.PROFILE) for fields in found):
        left = []  # There is nothing that they may have done.
    spare = {"kind": EventKind.PROFILE.value, "message": None, "is_spare": True}
    return [*found, *(spare | {"agent": one} for one in (*sure, *left))]


def _line(fields: Mapping[str, Any]) -> bytes:
    """One line: JSON has no line break."""
    return json.dumps(fields).encode()


def made(folder: Path) -> Path:
    """The folder, new."""
    folder.mkdir()
    return folder
