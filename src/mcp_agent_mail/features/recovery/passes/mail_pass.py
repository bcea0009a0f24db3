"""The mail of all archives, message by message: found in their listings, sorted on disk, and put together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail
from mcp_agent_mail.domain.archive_format.parse.files import parse_file
from mcp_agent_mail.features.doctor.external_sort import Spool
from mcp_agent_mail.features.recovery.mail_copies import ArchiveCopies, CopiesDiffer, WholeMail, copies_of, whole_mail
from mcp_agent_mail.features.recovery.people import People
from mcp_agent_mail.features.recovery.refusals import ArchiveProblems
from mcp_agent_mail.features.recovery.sources import ArchiveSource, Readers, blamed
from mcp_agent_mail.store.rebuild.database import RebuiltDatabase
from mcp_agent_mail.store.rebuild.mail_rows import RebuiltMail, RebuiltRecipient

_MAIL = re.compile(r"(messages|agents/([^/\n]+)/(inbox|outbox))/([0-9]{4}/[0-9]{2}/[^/\n]+/[^/\n]+__([0-9]{1,18})\.md)")
_PROGRESS_EVERY = 200

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """`agent` is empty for the canonical one; `tail` is its path below the folder of its kind."""

    source: ArchiveSource
    box: str
    agent: str
    blob: str
    tail: str

    @property
    def path(self) -> str:
        return f"{self.box}/{self.tail}" if not self.agent else f"agents/{self.agent}/{self.box}/{self.tail}"


class MailPass:
    """`add` what the listings have, then `run` once."""

    def __init__(self, sources: Sequence[ArchiveSource], readers: Readers, folder: Path) -> None:
        self._sources = sources
        self._readers = readers
        self._spool = Spool(folder)
        self._messages = 0
        self.behind: list[tuple[MessageId, ProjectId]] = []

    def add(self, source: ArchiveSource, path: str, blob: str) -> bool:
        """Take in a file; False for one that is no mail."""
        found = _MAIL.fullmatch(path)
        if found is None:
            return False
        box = found[3] or "messages"
        if box == "messages":
            self._messages += 1
        fields = (f"{int(found[5]):020d}", str(source.number), box, found[2] or "", blob, found[4])
        self._spool.add("\0".join(fields).encode())
        return True

    def learn(self, people: People) -> None:
        """What mail says of the projects that are left out. One more pass, and only where there are such."""
        if people.is_complete:
            return
        for copies in self._by_message():
            for one in self._once_each(copies):
                mail = self._parsed(one)
                slug = mail.sender.partition("@")[2]
                if slug:
                    people.learn(slug, mail.project_id, mail.project_key, mail.created_ts)

    def run(self, people: People, database: RebuiltDatabase, problems: ArchiveProblems, progress: Progress) -> None:
        """Add every message, by id. What does not fit together stands in `problems` afterwards."""
        for done, copies in enumerate(self._by_message(), start=1):
            with blamed(copies[0].source, problems):
                whole = self._whole(copies, people)
                database.add_mail(_rows_of(whole))
                self.behind += [(whole.mail.id, project_id) for project_id in sorted(whole.behind)]
            if done % _PROGRESS_EVERY == 0 or done == self._messages:
                progress(done, max(done, self._messages))

    def _by_message(self) -> Iterator[list[_Copy]]:
        for _, lines in groupby(self._spool, key=lambda line: line[:20]):
            yield [self._copy(line) for line in lines]

    def _copy(self, line: bytes) -> _Copy:
        _, number, box, agent, blob, tail = line.decode().split("\0")
        return _Copy(source=self._sources[int(number)], box=box, agent=agent, blob=blob, tail=tail)

    def _once_each(self, copies: Iterable[_Copy]) -> Iterator[_Copy]:
        yield from {(one.source.number, one.blob): one for one in copies}.values()

    def _parsed(self, copy: _Copy) -> ArchivedMail:
        found = parse_file(copy.path, self._readers.read(copy.source, copy.path, copy.blob), copy.source.version)
        assert isinstance(found, ArchivedMail), copy.path
        return found

    def _whole(self, copies: Sequence[_Copy], people: People) -> WholeMail:
        of_archives = [self._of_archive(list(own)) for _, own in groupby(copies, key=lambda one: one.source.number)]
        first = of_archives[0]
        home = _home(first, people)
        whole = whole_mail(of_archives, home, lambda one, name: _project_of(one, name, people), people.named)
        _require_people(whole, of_archives, people)
        return whole

    def _sent(self, sent: _Copy, canonical: Sequence[_Copy], shown: ArchivedMail | None) -> ArchivedMail:
        """The sender's own copy, which is the canonical one where nobody got it blindly."""
        full = shown if shown is not None and sent.blob == canonical[0].blob else self._parsed(sent)
        if full.sender != sent.agent:
            raise CopiesDiffer(sent.source.slug, f"{sent.path} is of {full.sender}")
        return full

    def _of_archive(self, copies: Sequence[_Copy]) -> ArchiveCopies:
        """Each content is parsed once; of identical copies the path alone is looked at."""
        source = copies[0].source
        boxes = {box: [one for one in copies if one.box == box] for box in ("messages", "outbox", "inbox")}
        canonical = [*boxes["messages"], *boxes["inbox"]]
        _require_one(source, copies, canonical)
        shown = self._parsed(canonical[0]) if canonical else None
        if not boxes["messages"] and shown is not None and shown.project_id == source.project.id:
            raise CopiesDiffer(source.slug, f"messages/{canonical[0].tail} is gone")
        full = self._sent(boxes["outbox"][0], canonical, shown) if boxes["outbox"] else None
        return copies_of(source.project.id, source.slug, shown, full, [one.agent for one in boxes["inbox"]])


def _require_one(source: ArchiveSource, copies: Sequence[_Copy], canonical: Sequence[_Copy]) -> None:
    """All under one name, and those that are one content are it."""
    counts = Counter(one.box for one in copies)
    if len({one.tail for one in copies}) > 1 or counts["messages"] > 1 or counts["outbox"] > 1:
        raise CopiesDiffer(source.slug, f"the copies of {copies[0].path} lie in different places")
    if len({one.blob for one in canonical}) > 1:
        raise CopiesDiffer(source.slug, f"{canonical[0].path} and {canonical[-1].path} say different things")


def _home(copies: ArchiveCopies, people: People) -> ProjectId:
    """The project of the sender."""
    slug = copies.shown.sender.partition("@")[2]
    return people.project(slug, by=copies.slug) if slug else copies.project_id


def _project_of(copies: ArchiveCopies, name: str, people: People) -> ProjectId:
    slug = name.partition("@")[2]
    return people.project(slug, by=copies.slug) if slug else copies.project_id


def _require_people(whole: WholeMail, of_archives: Sequence[ArchiveCopies], people: People) -> None:
    """Whoever is spoken of has a profile; without one only where its own archive has nothing of this message."""
    telling = {one.project_id for one in of_archives}
    mentioned = [(whole.mail.sender_id, whole.sender, whole.home)]
    mentioned += [(one.agent_id, one.name, one.project_id) for one in whole.recipients]
    for agent_id, name, project_id in mentioned:
        if project_id in telling and not people.is_known(agent_id):
            raise CopiesDiffer(people.slug_of(project_id), f"{name} (agent {agent_id}) has mail and no profile")
        people.require(agent_id, name, project_id, whole.mail.created_ts)


def _rows_of(whole: WholeMail) -> RebuiltMail:
    return RebuiltMail(
        message=whole.mail,
        home=whole.home,
        recipients=[
            RebuiltRecipient(
                agent_id=one.agent_id,
                project_id=one.project_id,
                kind=one.kind,
                delivery_seq=one.delivery_seq,
                delivered_ts=one.delivered_ts,
                held_code=one.held_code,
                refused_ts=one.refused_ts,
                expired_ts=one.expired_ts,
                is_unnumbered=one.is_unnumbered,
            )
            for one in whole.recipients
        ],
    )
