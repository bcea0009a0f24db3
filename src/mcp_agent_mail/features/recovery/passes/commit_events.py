"""Which events a commit of an archive holds, by the files that it changed and by what it says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mcp_agent_mail.archive.reading.branch import BranchCommit
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.events import EventKind

_ADOPTED = "adopt: "
_RENAMED = "archive: names after an adoption"
_MAIL = re.compile(r"(?:messages|agents/[^/]+/(?:inbox|outbox))/[0-9]{4}/[0-9]{2}/[0-9-]+/[^/]+__([0-9]{1,18})\.md")
_RECEIPTS = re.compile(r"(?:agents/[^/]+/)?receipts/[0-9]{4}/[0-9]{2}/[0-9]{2}/([0-9]{1,18})\.jsonl")
_PROFILE = re.compile(r"agents/([^/]+)/profile\.json")
_LEASE = re.compile(r"(file_reservations|build_slots)/(?:released/.+/)?id-([0-9]{1,18})\.json")
_PRODUCT = re.compile(r"products/([0-9a-f]+)\.json")
_OVERDUE = re.compile(r"agents/[^/]+/overdue/[0-9]{4}/[0-9]{2}/[0-9-]+/id-([0-9]{1,18})\.json")
_IMPORT = re.compile(r"imports/[0-9-]+/([0-9]{1,18})\.json")
_CONTACT = re.compile(r"contacts/[^/]+/[^/]+\.json")
_TOLD_RECEIPT = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63}) (?:read|acknowledged) [0-9]+")
_ENDED_BY_SOMEBODY = re.compile(r" ended by force(?: \(\+[0-9]+\))?$")
_NAME = r"([A-Za-z][A-Za-z0-9_-]{0,63})"
_WHOSE = (
    (
        (EventKind.PROFILE,),
        re.compile(rf"{_NAME} (?:joined|changed its profile|retired)"),
        re.compile(rf"profile of {_NAME}"),
    ),
    (
        (EventKind.RESERVATION, EventKind.SLOT),
        re.compile(rf"{_NAME} (?:reserved|renewed|released|took slot|kept slot) .*"),
        re.compile(rf"(?:reservation|slot) .* of {_NAME} (?:expired|ended: idle|ended: retired|ended by force)"),
    ),
)
"""How a commit tells of an agent's own act, and of another's or the server's."""
_LINKED = re.compile(rf"{_NAME} linked product .*")
_OF_MAIL = frozenset({EventKind.MAIL.value, EventKind.RECEIPT.value})
_OF_ONE = tuple(kind for kinds, _, _ in _WHOSE for kind in kinds)
"""Kinds of which each file is one agent's, and others may change it."""
_FIRST_OF_SEVERAL = re.compile(r" \(\+[0-9]+\)$")
_MORE = re.compile(r"and [0-9]+ more")
_LEASE_KINDS = {"file_reservations": EventKind.RESERVATION, "build_slots": EventKind.SLOT}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEvent:
    """`subject` is what it tells of: a message, a file of receipts by its first number, a lease by its id, a name."""

    kind: EventKind
    subject: str = ""


def events_of(commit: BranchCommit) -> Iterator[CommitEvent]:
    """Each once, in no order. Of an adoption it is one, whatever it wrote."""
    if commit.subject.startswith(_ADOPTED) or commit.subject == _RENAMED:
        yield CommitEvent(kind=EventKind.ADOPTION)
        return
    yield from dict.fromkeys(event for path in commit.changed if (event := _event_of(path)) is not None)


def new_mail(commit: BranchCommit) -> Mapping[int, frozenset[str]]:
    """Messages that came with this commit, by id: to the sender's archive (no names), or to another one with its first
    copies (the names of those who got them).

    The copy in its sender's outbox comes with the sending alone. To other archives a message may come first when a
    copy that was held is approved.
    """
    by_id: dict[int, set[str]] = {}
    for path in commit.changed:
        if found := _MAIL.fullmatch(path):
            by_id.setdefault(int(found[1]), set()).add(path)
    return {number: _receivers(paths & commit.added) for number, paths in by_id.items() if _is_new(paths, commit.added)}


def copies_of(commit: BranchCommit, message_id: int) -> set[str]:
    """The paths of the message's own file and of agents' copies of it, as far as this commit changed them."""
    found = ((path, _MAIL.fullmatch(path)) for path in commit.changed)
    return {path for path, mail in found if mail is not None and int(mail[1]) == message_id}


def _is_new(paths: set[str], added: frozenset[str]) -> bool:
    sent = {path for path in paths if _folder_of(path) == "outbox"}
    canonical = {path for path in paths if path.startswith("messages/")}
    return bool((sent or canonical or paths) & added)


def _receivers(paths: set[str]) -> frozenset[str]:
    folders = {_folder_of(path) for path in paths}
    if "outbox" in folders:
        return frozenset()
    return frozenset(path.split("/")[1] for path in paths if _folder_of(path) == "inbox")


def _folder_of(path: str) -> str:
    """Of an agent's copy."""
    return path.split("/")[2] if path.startswith("agents/") else ""


def told_of_receipts(commit: BranchCommit) -> frozenset[str]:
    """Names of agents of whose receipts the commit speaks."""
    if commit.did:
        return frozenset(name for name, kinds in commit.did.items() if EventKind.RECEIPT in kinds)
    return frozenset(found[1] for line in commit.told if (found := _TOLD_RECEIPT.match(line)))


def changed_by_others(commit: BranchCommit) -> frozenset[tuple[EventKind, str]]:
    """Names of agents whose profile was written in this commit, or whose leases ended, by no act of their own: what
    they did in it was something else. Nobody where the commit does not tell everything, as of earlier programs.
    """
    if commit.did:
        return frozenset((kind, name) for name, did in commit.did.items() for kind in _OF_ONE if kind not in did)
    if any(_MORE.fullmatch(line) for line in commit.told):
        return frozenset()
    told = [_FIRST_OF_SEVERAL.sub("", line) for line in commit.told]
    return frozenset(
        (kind, name)
        for kinds, own, others in _WHOSE
        for name in _names_in(told, others) - _names_in(told, own)
        for kind in kinds
    )


def acted_beside_mail(commit: BranchCommit) -> frozenset[str]:
    """Names of those who surely did something else than write, read and acknowledge: it shows even where their mail
    does no more. Where `did` does not say it, those of whom a line tells it.
    """
    if commit.did:
        return frozenset(name for name, acts in commit.did.items() if acts - _OF_MAIL)
    told = [_FIRST_OF_SEVERAL.sub("", line) for line in commit.told]
    forms = (*(own for _, own, _ in _WHOSE), _LINKED)
    return frozenset(name for form in forms for name in _names_in(told, form)).intersection(commit.agents)


def _names_in(told: list[str], form: re.Pattern[str]) -> set[str]:
    return {found[1] for line in told if (found := form.fullmatch(line))}


def acted_in(commit: BranchCommit) -> frozenset[str]:
    """Names of those who did something that all may know of. Commits of earlier programs name an agent too whose
    profile was merely written: it counts where one of their lines tells of an act that may be its own.
    """
    if commit.did:
        return frozenset(commit.agents)
    return frozenset(name for name in commit.agents if not _is_merely_written(commit, name))


def _is_merely_written(commit: BranchCommit, name: str) -> bool:
    written = (f"profile of {name}", f"profile of {name} (+")
    if not any(line == written[0] or line.startswith(written[1]) for line in commit.told):
        return False
    acts = (f"{name} ", f"mail: {name} ", f"mail: {name}\n")
    return not any(
        f"{line}\n".startswith(acts) or _ENDED_BY_SOMEBODY.search(line) or _MORE.fullmatch(line) for line in commit.told
    )


def _event_of(path: str) -> CommitEvent | None:
    if path == ARCHIVE_FILE:
        return CommitEvent(kind=EventKind.PROJECT)
    if found := _LEASE.fullmatch(path):
        return CommitEvent(kind=_LEASE_KINDS[found[1]], subject=found[2])
    for form, kind in _FORMS:
        if found := form.fullmatch(path):
            return CommitEvent(kind=kind, subject=found[1] if form.groups else path)
    return None


_FORMS = (
    (_MAIL, EventKind.MAIL),
    (_RECEIPTS, EventKind.RECEIPT),
    (_OVERDUE, EventKind.OVERDUE),
    (_IMPORT, EventKind.IMPORT),
    (_PROFILE, EventKind.PROFILE),
    (_PRODUCT, EventKind.PRODUCT),
    (_CONTACT, EventKind.CONTACT),
)
