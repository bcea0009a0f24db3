"""The way of a store's records from its reader to who keeps them, step by step: small batches, in order, and contents
only where they are asked for. Whoever walks it does what each step says and gives back what came of it; nothing here
waits or reads but by the reader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import field, replace

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, NotFound, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.params import MODEL, PROGRAM, TASK
from mcp_agent_mail.domain.importing.lines import MOST_PACKED, kind_of_record, line_of, pack
from mcp_agent_mail.domain.importing.reader import SourceReader
from mcp_agent_mail.domain.importing.records import (
    SourceAgent,
    SourceCopy,
    SourceKind,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceProduct,
    SourceProject,
    SourceRecord,
)
from mcp_agent_mail.domain.importing.report import Tally
from mcp_agent_mail.domain.messages import MOST_BODY_BYTES
from mcp_agent_mail.domain.projects import canonical_path

BATCH_RECORDS = 100
BATCH_BYTES = 1 << 20
"""Of a batch as it goes on the way, before it is packed; one record fits whatever its size, if a request has room."""
BATCH_CONTENT_BYTES = 4 << 20
"""Of contents that stand in memory with a batch; those of one message do whatever their size."""
PIECE_BYTES = 1 << 20
"""Of a content, in one step."""
_SPACED = 16
"""So many times the longest of a line goes on the way: some of its characters may count for nothing here."""
MAX_ASKED = 2
"""So often contents of one batch are asked for: once for all that is lacking, and once more if a disk lost one."""

_NO_SENDER = "the store does not say who sent it"
_NO_RECIPIENT = "it reached nobody whom the store knows"
_OF_LEFT = "its message is not taken over"
_NO_PROJECT = "its project is not taken over"
_NO_AGENT = "its agent is not taken over"
_OTHER_PROJECT = "it is of another project than the one that was asked for"
_GONE = "the store has no content of it any more"
_TOO_LARGE = "it is larger than a request to a server can be"
_SURELY_FITS = MOST_PACKED // 4 * 3 - (64 << 10)
"""Bytes of lines that are within what a request takes even where they cannot be made smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsStep:
    """Keep these records, or say what would become of them. `context`: the projects that they speak of."""

    records: tuple[SourceRecord, ...]
    context: tuple[SourceProject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentStep:
    """Keep a piece of a content, which begins at `offset`; with the last one it is whole."""

    sha256: str
    offset: int
    piece: bytes
    is_last: bool


ImportStep = RecordsStep | ContentStep


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAnswer:
    """`wants`: contents that are to be given first. Then nothing was done with the records of the step."""

    tally: Tally
    wants: tuple[str, ...] = ()


class MissingProject(NotFound):
    """The store has no project of the name that was asked for."""


class LostContent(InvalidInput):
    """A content was given, and is asked for again and again."""


@dataclass(slots=True, kw_only=True)
class _Batch:
    records: list[SourceRecord] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    size_bytes: int = 0
    """As it goes on the way."""

    def is_full(self, more: SourceRecord, more_bytes: int) -> bool:
        return bool(self.records) and (
            type(self.records[0]) is not type(more)
            or len(self.records) >= BATCH_RECORDS
            or self.size_bytes + more_bytes > BATCH_BYTES
            or sum(map(len, self.contents.values())) > BATCH_CONTENT_BYTES
        )


def import_steps(reader: SourceReader, project: str | None) -> Generator[ImportStep, StepAnswer, Tally]:
    """Each step is answered by `StepAnswer` (of a content its tally is empty); in the end all that was counted.

    `project`: of a store whose projects have directories the only one to take, by path or slug; else where everything
    goes, which is for the keeper to know. Raises MissingProject, and what the reader raises.
    """
    sifted = _Sifted(project)
    batch = _Batch()
    for whole in _taken(sifted, reader):
        contents: dict[str, bytes] = {}
        record = _cut(_without_contents(whole, contents))
        size_bytes = _size_bytes([record, *sifted.context([record])])
        if size_bytes > _SURELY_FITS and _packed_size(record, sifted.context([record])) > MOST_PACKED:
            sifted.give_up(record)
            continue
        if batch.is_full(record, size_bytes):
            yield from _sent(batch, sifted)
            batch = _Batch()
        batch.records.append(record)
        batch.contents |= contents
        batch.size_bytes += size_bytes
    yield from _sent(batch, sifted)
    sifted.tally.add_left_out(reader.left_out())
    for note in reader.notes():
        sifted.tally.note(note.text)
    return sifted.tally


def _taken(sifted: _Sifted, reader: SourceReader) -> Iterator[SourceRecord]:
    """Each method of the reader is called when the one before has come to its end."""
    yield from sifted.projects(reader.projects())
    yield from sifted.agents(reader.agents())
    yield from sifted.messages(reader.messages())
    yield from sifted.leases(reader.leases())
    yield from sifted.links(reader.links())
    yield from sifted.products(reader.products())


def _sent(batch: _Batch, sifted: _Sifted) -> Generator[ImportStep, StepAnswer, None]:
    if not batch.records:
        return
    step = RecordsStep(records=tuple(batch.records), context=sifted.context(batch.records))
    answer = yield step
    for _ in range(MAX_ASKED):
        if not answer.wants:
            break
        for sha256 in answer.wants:
            if sha256 in batch.contents:
                yield from _pieces(sha256, batch.contents[sha256])
        answer = yield step
    if answer.wants:
        raise LostContent(
            f"The content {answer.wants[0]} was given and is not there.",
            hint="See whether the disk of the server is full or failing, and start the import again: it goes on.",
            data={"sha256": answer.wants[0]},
        )
    sifted.tally.add(answer.tally)


def _pieces(sha256: str, content: bytes) -> Iterator[ContentStep]:
    for offset in range(0, max(1, len(content)), PIECE_BYTES):
        piece = content[offset : offset + PIECE_BYTES]
        yield ContentStep(sha256=sha256, offset=offset, piece=piece, is_last=offset + len(piece) == len(content))


def _without_contents(record: SourceRecord, contents: dict[str, bytes]) -> SourceRecord:
    """Contents are named by their hash; they go into `contents`."""
    if not isinstance(record, SourceMessage) or not record.attachments:
        return record
    named = []
    for one in record.attachments:
        assert one.content is not None, one
        sha256 = hashlib.sha256(one.content).hexdigest()
        contents[sha256] = one.content
        named.append(replace(one, content=None, sha256=sha256, size_bytes=len(one.content)))
    return replace(record, attachments=tuple(named))


def _cut(record: SourceRecord) -> SourceRecord:
    """Of what an agent says of itself no more than is kept, and a character by which it is seen that there was more."""
    if not isinstance(record, SourceAgent):
        return record
    return replace(
        record,
        program=record.program[: PROGRAM.max_length * _SPACED],
        model=record.model[: MODEL.max_length * _SPACED],
        task=record.task[: TASK.max_length + 1],
    )


def _size_bytes(records: Iterable[SourceRecord]) -> int:
    return sum(len(line_of(one)) for one in records)


def _packed_size(record: SourceRecord, context: Iterable[SourceProject]) -> int:
    return len(pack([record])) + len(pack(context))


class _Sifted:
    """Passes on what can be taken over: what speaks of something that is not there, or was not asked for, is counted
    as left. It remembers the keys of projects and agents, and nothing of mail.
    """

    def __init__(self, project: str | None) -> None:
        self._wanted = project
        self.tally = Tally()
        self._projects: dict[str, SourceProject] = {}
        self._passed_over: set[str] = set()
        self._agents: set[str] = set()
        self._strangers: set[str] = set()
        """Agents of projects that were not asked for."""

    def context(self, records: Iterable[SourceRecord]) -> tuple[SourceProject, ...]:
        keys = (one.project_key for one in records if isinstance(one, SourceAgent | SourceLease | SourceMessage))
        return tuple(self._projects[key] for key in dict.fromkeys(keys))

    def projects(self, records: Iterable[SourceProject]) -> Iterator[SourceProject]:
        """Of a store that has directories what has none is another project than the one that was asked for; where none
        has one, that which was asked for is where all goes.
        """
        every = list(records)
        found = [one.human_key or one.slug or one.key for one in every]
        is_choice = self._wanted is not None and any(one.human_key is not None for one in every)
        for one in every:
            if is_choice and self._wanted not in (one.human_key, one.slug):
                self._passed_over.add(one.key)
                self.tally.leave(SourceKind.PROJECT, _OTHER_PROJECT)
            elif one.human_key is not None and (why := _flaw_of_path(one.human_key)):
                self.tally.leave(SourceKind.PROJECT, why)
            else:
                self._projects[one.key] = one
                yield one
        if self._wanted is not None and self._passed_over and not self._projects:
            raise MissingProject(
                f"The store has no project {self._wanted!r:.200}.",
                hint=f"It has {listed(found[:_SHOWN])}.",
                data={"project": self._wanted[:200], "projects": found[:_SHOWN]},
            )

    def give_up(self, record: SourceRecord) -> None:
        """What was passed on has no room in a request: it is left, and so is what comes after and speaks of it."""
        match record:
            case SourceMessage():
                leave_message(self.tally, record, _TOO_LARGE)
                return
            case SourceProject():
                del self._projects[record.key]
            case SourceAgent():
                self._agents.discard(record.key)
        self.tally.leave(kind_of_record(record), _TOO_LARGE)

    def agents(self, records: Iterable[SourceAgent]) -> Iterator[SourceAgent]:
        for one in records:
            if one.project_key in self._projects:
                self._agents.add(one.key)
                yield one
            else:
                self._strangers.add(one.key)
                self.tally.leave(SourceKind.AGENT, self._why(one.project_key))

    def messages(self, records: Iterable[SourceMessage]) -> Iterator[SourceMessage]:
        for one in records:
            if one.project_key not in self._projects:
                leave_message(self.tally, one, self._why(one.project_key))
            elif one.sender_key not in self._agents:
                leave_message(self.tally, one, _NO_SENDER)
            elif len(one.body_md.encode("utf-8", "surrogatepass")) > MOST_BODY_BYTES:
                # No server takes it, and no request has room for it.
                leave_message(self.tally, one, f"its body is over {MOST_BODY_BYTES:,} bytes")
            elif (rest := self._with_known(one)) is not None:
                yield rest

    def _with_known(self, message: SourceMessage) -> SourceMessage | None:
        """With those recipients that are known, and what the store still has of its attachments."""
        copies = [one for one in message.recipients if one.agent_key in self._agents]
        if not copies:
            leave_message(self.tally, message, _NO_RECIPIENT)
            return None
        gone = [one for one in message.recipients if one.agent_key not in self._agents]
        for one in gone:
            why = _OTHER_PROJECT if self._passed_over and one.agent_key in self._strangers else _NO_AGENT
            self.tally.leave(SourceKind.COPY, why)
        kept = tuple(one for one in message.attachments if one.content is not None)
        self.tally.leave(SourceKind.ATTACHMENT, _GONE, len(message.attachments) - len(kept))
        return replace(message, recipients=_each_once(copies, self.tally), attachments=kept)

    def leases(self, records: Iterable[SourceLease]) -> Iterator[SourceLease]:
        for one in records:
            if one.project_key not in self._projects:
                self.tally.leave(SourceKind.LEASE, self._why(one.project_key))
            elif one.agent_key not in self._agents:
                self.tally.leave(SourceKind.LEASE, _NO_AGENT)
            else:
                yield one

    def links(self, records: Iterable[SourceLink]) -> Iterator[SourceLink]:
        for one in records:
            if {one.from_agent_key, one.to_agent_key} <= self._agents:
                yield one
            else:
                is_passed_over = bool({one.from_agent_key, one.to_agent_key} & self._strangers and self._passed_over)
                self.tally.leave(SourceKind.LINK, _OTHER_PROJECT if is_passed_over else _NO_AGENT)

    def products(self, records: Iterable[SourceProduct]) -> Iterator[SourceProduct]:
        for one in records:
            keys = tuple(dict.fromkeys(key for key in one.project_keys if key in self._projects))
            if keys:
                yield replace(one, project_keys=keys)
            else:
                self.tally.leave(SourceKind.PRODUCT, _NO_PROJECT)

    def _why(self, project_key: str) -> str:
        return _OTHER_PROJECT if project_key in self._passed_over else _NO_PROJECT


_SHOWN = 20


def _flaw_of_path(human_key: str) -> str | None:
    try:
        canonical_path(human_key)
    except AgentMailError:
        return "its directory is no absolute path on this machine"
    return None


def _each_once(copies: Iterable[SourceCopy], tally: Tally) -> tuple[SourceCopy, ...]:
    by_agent: dict[str, SourceCopy] = {}
    for one in copies:
        if by_agent.setdefault(one.agent_key, one) is not one:
            tally.leave(SourceKind.COPY, "its recipient is named twice")
    return tuple(by_agent.values())


def leave_message(tally: Tally, message: SourceMessage, why: str) -> None:
    """It is not taken over, and so is nothing of it."""
    tally.leave(SourceKind.MESSAGE, why, 1 + len(message.also))
    tally.leave(SourceKind.COPY, _OF_LEFT, len(message.recipients))
    tally.leave(SourceKind.ATTACHMENT, _OF_LEFT, len(message.attachments))
