"""What of an archive's history may be shown to anybody: all but blind copies and private mail.

A file is judged by its path and by what all files of the history together tell, so the same path is judged alike in
every commit. First everything is learnt, then each file is judged; what cannot be read is not shown.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.contacts import CONTACTS_FOLDER
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.attachments import is_content_path

_BEGIN = b"---json\n"
_END = b"\n}\n---\n"
_MAIL = re.compile(
    r"(?:messages|agents/([^/]+)/(inbox|outbox))/[0-9]{4}/[0-9]{2}/[^/]+/"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z__[a-z0-9._-]+__([0-9]{1,18})\.md"
)
_RECEIPTS = re.compile(r"receipts/.+\.jsonl")
_BLIND_RECEIPTS = re.compile(r"agents/[^/]+/receipts/.+")
_OVERDUE = re.compile(r"agents/[^/]+/overdue/.+/id-([0-9]{1,18})\.json")
_CONTACT = re.compile(CONTACTS_FOLDER + r"/([^/]+)/([^/]+)\.json")
_MARKED = re.compile(r"(?P<name>\S+) (?:read|acknowledged) (?P<id>[0-9]{1,18})(?: \(\+[0-9]+\))?")
_MORE = re.compile(r" \(\+([0-9]+)\)$")
_ACTED = "Agent: "
_DID = "Did: "
_RECORDS = "archive: records"
_REMEMBERED = 4_096


class HistoryVerdict(Enum):
    """What becomes of a file: it stays as it is, without some of it (`Redaction.rewritten`), or goes."""

    KEEP = "keep"
    REWRITE = "rewrite"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Front:
    """The head of a mail file. `told`: who is named for everybody, `blind`: who for the sender alone."""

    is_private: bool
    sender: str
    told: frozenset[str]
    blind: frozenset[str]
    contents: frozenset[str]


class UnreadableMail(ValueError):
    """A file with the name of a mail that is none."""


class Redaction:
    """Of one archive. Keeps numbers and names of what is hidden, and the paths of contents that are shown."""

    def __init__(self) -> None:
        self._private: set[int] = set()
        self._unreadable: set[int] = set()
        self._with_blind: set[int] = set()
        self._blind: set[tuple[int, str]] = set()
        self._hidden_pairs: set[frozenset[str]] = set()
        self._open_pairs: set[frozenset[str]] = set()
        self._shown_contents: set[str] = set()
        self._fronts: OrderedDict[str, _Front | None] = OrderedDict()

    @staticmethod
    def is_learnt(path: str) -> bool:
        """Must what lies at this path be learnt?"""
        return _MAIL.fullmatch(path) is not None

    def learn(self, path: str, blob: str, read: Callable[[str], bytes]) -> None:
        """Each content of each such path, in any order and as often as it comes; `read` gives what `blob` names."""
        found = _MAIL.fullmatch(path)
        assert found is not None, path
        number, owner, box = int(found[3]), found[1], found[2]
        front = self._front(blob, read)
        if front is None:
            self._unreadable.add(number)
            return
        if front.is_private:
            self._private.add(number)
            self._hidden_pairs |= _pairs(front.sender, front.told | front.blind)
            return
        hidden = front.blind | ({owner} if box == "inbox" and owner not in front.told else set())
        for name in hidden:
            self._blind.add((number, name))
        self._hidden_pairs |= _pairs(front.sender, hidden)
        if hidden:
            self._with_blind.add(number)
        if box != "inbox" or owner not in hidden:
            self._open_pairs |= _pairs(front.sender, front.told)
            self._shown_contents |= front.contents

    def verdict(self, path: str) -> HistoryVerdict:
        """Once all is learnt."""
        if found := _MAIL.fullmatch(path):
            return self._of_mail(int(found[3]), found[1], found[2])
        if _RECEIPTS.fullmatch(path):
            return HistoryVerdict.REWRITE if self._blind or self._private or self._unreadable else HistoryVerdict.KEEP
        return HistoryVerdict.DROP if self._is_hidden(path) else HistoryVerdict.KEEP

    def rewritten(self, path: str, content: bytes) -> bytes:
        """A file of which some goes; empty where nothing is left."""
        if _RECEIPTS.fullmatch(path):
            return b"".join(line for line in content.splitlines(keepends=True) if not self._is_of_hidden(line))
        return _without_blind(content)

    def shown_message(self, message: str, author: str) -> tuple[str, bool]:
        """A commit's message without receipts that older versions told of, and whether `author` may stand above it."""
        subject, _, rest = message.partition("\n")
        lines = rest.split("\n")
        gone = set(self._hidden_in([subject, *lines]))
        if not gone:
            return message, True
        lines = [line for line in lines if not line.startswith(_DID)]  # They count hidden receipts in.
        told = [line for line in lines if not self._tells_of_hidden(line)]
        if self._tells_of_hidden(subject):
            subject = _RECORDS
        elif more := _MORE.search(subject):
            left = int(more[1]) - (len(lines) - len(told))
            subject = subject[: more.start()] + (f" (+{left})" if left > 0 else "")
        said = "\n".join([subject, *(line for line in told if not line.startswith(_ACTED))])
        gone = {name for name in gone if name not in said.split()}
        told = [line for line in told if line.removeprefix(_ACTED) not in gone or not line.startswith(_ACTED)]
        return "\n".join([subject, *told]), author not in gone

    def _front(self, blob: str, read: Callable[[str], bytes]) -> _Front | None:
        """The copies of a mail are one content, and come near each other."""
        if blob not in self._fronts:
            try:
                self._fronts[blob] = _front(read(blob))
            except UnreadableMail:
                self._fronts[blob] = None
            if len(self._fronts) > _REMEMBERED:
                self._fronts.popitem(last=False)
        return self._fronts[blob]

    def _of_mail(self, number: int, owner: str | None, box: str | None) -> HistoryVerdict:
        if number in self._private or number in self._unreadable:
            return HistoryVerdict.DROP
        if box == "inbox" and (number, owner) in self._blind:
            return HistoryVerdict.DROP
        return HistoryVerdict.REWRITE if box == "outbox" and number in self._with_blind else HistoryVerdict.KEEP

    def _is_hidden(self, path: str) -> bool:
        if _BLIND_RECEIPTS.fullmatch(path):
            return True
        if is_content_path(path):
            return path not in self._shown_contents
        if found := _OVERDUE.fullmatch(path):
            return int(found[1]) in self._private | self._with_blind | self._unreadable
        found = _CONTACT.fullmatch(path)
        pair = frozenset() if found is None else frozenset(found.groups())
        return pair in self._hidden_pairs and pair not in self._open_pairs

    def _is_of_hidden(self, line: bytes) -> bool:
        try:
            said = json.loads(line)
            number, name = said["message_id"], said["agent"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return True
        return self._hides(number, name)

    def _hides(self, number: int, name: str) -> bool:
        return number in self._private or number in self._unreadable or (number, name) in self._blind

    def _tells_of_hidden(self, line: str) -> bool:
        found = _MARKED.fullmatch(line)
        return found is not None and self._hides(int(found["id"]), found["name"])

    def _hidden_in(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            if self._tells_of_hidden(line):
                yield line.partition(" ")[0]


def _pairs(sender: str, others: frozenset[str] | set[str]) -> set[frozenset[str]]:
    return {frozenset((sender, other)) for other in others}


# The head as JSON has it.
def _fields(content: bytes) -> tuple[dict[str, Any], int]:
    """With where the head ends."""
    end = content.find(_END)
    if not content.startswith(_BEGIN) or end < 0:
        raise UnreadableMail("no head")
    try:
        fields = json.loads(content[len(_BEGIN) : end + 2])
    except (ValueError, RecursionError) as wrong:
        raise UnreadableMail("a head that is no JSON") from wrong
    if not isinstance(fields, dict):
        raise UnreadableMail("a head that is no object")
    return fields, end + len(_END)


def _front(content: bytes) -> _Front:
    fields, _ = _fields(content)
    try:
        listed = fields["recipients"]
        blind = {*fields["bcc"], *(entry["name"] for entry in listed if entry["kind"] == "bcc")}
        told = {*fields["to"], *fields["cc"], *(entry["name"] for entry in listed if entry["kind"] != "bcc")}
        carried = fields.get("attachments", ())
        contents = {str(one[key]) for one in carried for key in ("path", "original_path") if key in one}
        sender, is_private = str(fields["from"]), bool(fields.get("private", False))
    except (KeyError, TypeError) as wrong:
        raise UnreadableMail("a head without its keys") from wrong
    return _Front(
        is_private=is_private,
        sender=sender,
        told=frozenset(told),
        blind=frozenset(blind),
        contents=frozenset(contents),
    )


def _without_blind(content: bytes) -> bytes:
    """The sender's copy as everybody else's is."""
    fields, end = _fields(content)
    shown = [entry for entry in fields["recipients"] if entry["kind"] != "bcc"]
    return _BEGIN + document(fields | {"bcc": [], "recipients": shown}) + b"---\n" + content[end:]
