"""AgentMail: a file of lines for each recipient below `.agentmail/mailboxes`, and one that lists the recipients."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.records import SourceCopy, SourceKind, SourceMessage, SourceStore
from mcp_agent_mail.domain.importing.refusals import some, unknown_layout
from mcp_agent_mail.facades.importers.door_reader import PROJECT, DoorReader, MailSighting, NameSighting, name_key
from mcp_agent_mail.facades.importers.folders import LONGEST_LINE, SourceFolder, SourceLine
from mcp_agent_mail.facades.importers.values import digest_of, flag_of, text_of, time_of

FOLDER = ".agentmail"
_MAILBOXES = "mailboxes"
_RECIPIENTS = "recipients.jsonl"
_ENDING = ".jsonl"
_MOST_PARTS = 100
_STATUSES = {"ready": AgentStatus.READY, "work": AgentStatus.BUSY, "offline": AgentStatus.OFFLINE}
_NEEDED = ("id", "from", "message")
_HALF = "it is half a line at the end of its mailbox: whoever wrote it was cut off"
_BROKEN = "its line is no JSON object with id, from and message"
_LONG = f"its line has more than {LONGEST_LINE >> 20} MiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One message as it stands in a mailbox: `place` is its number among the lines, `order_ts` its time in the order
    of all mailboxes, which never goes back in one.
    """

    order_ts: Micros
    created_ts: Micros
    mailbox: str
    place: int
    has_time: bool
    # As JSON has it.
    fields: Mapping[str, Any]

    def __lt__(self, other: _Line) -> bool:
        return (self.order_ts, self.mailbox, self.place) < (other.order_ts, other.mailbox, other.place)


class AgentMailReader(DoorReader):
    """Of the folder `.agentmail`, or the one that it lies in, by a copy of each file: its program writes them anew
    while we read, and each is looked at more than once. When a message was read is not known but for the last:
    all that is read counts as read at the mailbox's last reading, or when it was sent.
    """

    door = Door.AGENTMAIL

    def __init__(self, folder: SourceFolder, copies: Path) -> None:
        """`copies`: an empty private folder."""
        inside = folder.below(FOLDER) if folder.path.name != FOLDER else None
        self._folder = inside or folder
        super().__init__(self._folder.path)
        self._inner = inside
        mailboxes = self._folder.below(_MAILBOXES)
        if mailboxes is None:
            found = some(one.name for one in self._folder.names())
            self.close()
            raise unknown_layout(self.path, self.door, f"it has no folder `{_MAILBOXES}`; it has {found}")
        self._mailboxes = mailboxes
        (copies / _MAILBOXES).mkdir(mode=0o700)
        self._copies = SourceFolder.open(copies)
        self._copied_mailboxes = SourceFolder.open(copies / _MAILBOXES)
        self.human_key = str(self.path.parent.resolve()) if self.path.name == FOLDER else None
        self._last_read: dict[str, Micros] = {}
        self._folder.copy(_RECIPIENTS, copies)
        self._named = [
            one.name.removesuffix(_ENDING)
            for one in mailboxes.names()
            if one.is_file
            and one.name.endswith(_ENDING)
            and one.name != _ENDING
            and mailboxes.copy(one.name, copies / _MAILBOXES)
        ]
        self._note_others()

    def close(self) -> None:
        """What was opened of it, also where it turned out to be none."""
        opened = (getattr(self, name, None) for name in ("_mailboxes", "_copies", "_copied_mailboxes"))
        for one in (self._inner, *opened):
            if one is not None:
                one.close()

    def store(self) -> SourceStore:
        """By its oldest message, in the order in which they are given, but for its names: mailboxes get others."""
        first = next(self._merged(is_counted=False), None)
        told = () if first is None else [first.fields.get(name) for name in ("id", "message", "created_at")]
        return SourceStore(system=self.door, store_id=digest_of(*told))

    def sightings(self) -> Iterator[NameSighting]:
        """Recipients that are listed, mailboxes that have a file, and whoever mail names."""
        yield from self._recipients()
        for mailbox in self._named:
            yield NameSighting(name=text_of(mailbox), seen_ts=Micros(0))
        for line in self._merged(is_counted=False):
            mail = _told(line)
            yield NameSighting(name=text_of(line.fields["from"]), seen_ts=line.created_ts, sent=mail)
            yield NameSighting(name=text_of(line.mailbox), seen_ts=line.created_ts, received=mail)

    def messages(self) -> Iterator[SourceMessage]:
        """By the time of each; of one mailbox in the order of its lines, whatever their times say."""
        undated = 0
        for line in self._merged(is_counted=True):
            undated += not line.has_time
            fields = line.fields
            external_id = text_of(fields["id"])
            names = (line.mailbox, fields["from"])
            yield SourceMessage(
                key=self.message_key(external_id, fields.get("created_at"), fields["message"], *names),
                project_key=PROJECT,
                sender_key=name_key(text_of(fields["from"])),
                subject=None,
                body_md=text_of(fields["message"]),
                created_ts=line.created_ts,
                recipients=(SourceCopy(agent_key=name_key(text_of(line.mailbox)), read_ts=self._read_ts(line)),),
                external_id=external_id or None,
                door=self.door if external_id else None,
            )
        self.note_undated(undated)

    def _read_ts(self, line: _Line) -> Micros | None:
        if not flag_of(line.fields.get("read_flag")):
            return None
        return max(line.created_ts, self._last_read.get(name_key(text_of(line.mailbox)), Micros(0)))

    def _recipients(self) -> Iterator[NameSighting]:
        for line in self._copies.lines(_RECIPIENTS):
            fields = _read(line)
            name = text_of((fields or {}).get("recipient"))
            if fields is None or not name:
                if line.content is None or line.content.strip():
                    self.said.note(f"Line {line.number} of {_RECIPIENTS} says nothing of a recipient.")
                continue
            # An unset time is written as the year 1, which is none here.
            read_ts = time_of(fields.get("last_read_at")) or Micros(0)
            self._last_read[name_key(name)] = read_ts
            seen_ts = max(time_of(fields.get("updated_at")) or Micros(0), read_ts)
            status = _STATUSES.get(text_of(fields.get("status")).strip().lower())
            yield NameSighting(name=name, seen_ts=seen_ts, status=status)

    def _merged(self, *, is_counted: bool) -> Iterator[_Line]:
        return heapq.merge(*(self._of(mailbox, is_counted=is_counted) for mailbox in self._named))

    def _of(self, mailbox: str, *, is_counted: bool) -> Iterator[_Line]:
        """In order. One without a time has that of the one before it."""
        order = last = Micros(0)
        for line in self._copied_mailboxes.lines(f"{mailbox}{_ENDING}"):
            fields = _read(line)
            if fields is None or any(name not in fields for name in _NEEDED):
                if is_counted and (line.content is None or line.content.strip()):
                    self._leave_out(mailbox, line)
                continue
            created = time_of(fields.get("created_at"))
            last = last if created is None else created
            order = max(order, last)
            yield _Line(
                order_ts=order,
                created_ts=last,
                mailbox=mailbox,
                place=line.number,
                has_time=created is not None,
                fields=fields,
            )

    def _leave_out(self, mailbox: str, line: SourceLine) -> None:
        why = _LONG if line.content is None else _BROKEN if line.is_whole else _HALF
        self.said.leave_out(SourceKind.MESSAGE, why)
        self.said.note(f"Line {line.number} of the mailbox {text_of(mailbox)} is left out: {why}.")

    def _note_others(self) -> None:
        for one in self._mailboxes.names():
            if not one.is_folder and not one.is_file:
                self.said.note(f"{_MAILBOXES}/{text_of(one.name)} is a link or no ordinary file, and is left alone.")


def _told(line: _Line) -> MailSighting:
    fields = line.fields
    return MailSighting(external_id=text_of(fields["id"]), sent=fields.get("created_at"), body=fields["message"])


# As JSON has it.
def _read(line: SourceLine) -> dict[str, Any] | None:
    """The object of a line; None for a line that is none."""
    if line.content is None:
        return None
    with suppress(ValueError, RecursionError):
        found = read_bounded(line.content, _MOST_PARTS, longest=LONGEST_LINE)
        return found if isinstance(found, dict) else None
    return None
