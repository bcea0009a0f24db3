"""What a commit said of mail that whoever looks may not see, or not any more, is not told to them: an archive's commits
stay as they are when a message is withdrawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcp_agent_mail.archive.history import HistoryEntry
from mcp_agent_mail.archive.reading.browser import CommitChange
from mcp_agent_mail.core.escaping import printable
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.messaging.visibility import is_visible_from
from mcp_agent_mail.store.transaction import View

_MAIL = "mail: "
_CUT = "…"
_MORE = lazy_pattern(r" \(\+\d+\)$")

Untold = Mapping[str, Sequence[str] | None]
"""By commit the subjects that are not told there; None where it is not known which."""


def find_untold(view: View, caller: Caller, project: Project, hexshas: Sequence[str]) -> Untold:
    """Of these commits of the project's archive; those that tell of nothing hidden are absent."""
    untold: dict[str, Sequence[str] | None] = {}
    for hexsha in hexshas:
        if not view.outbox.has_commit(project.id, hexsha):
            untold[hexsha] = None
            continue
        found, is_whole = view.outbox.unopened_mail(project.id, hexsha)
        messages = [message for one in found if (message := view.messages.find(one)) is not None]
        subjects = [one.subject for one in messages if not is_visible_from(view, caller, one, project)]
        if subjects or not is_whole:
            untold[hexsha] = subjects if is_whole else None
    return untold


def entry_without(entry: HistoryEntry, untold: Untold) -> HistoryEntry:
    if entry.hexsha not in untold:
        return entry
    return replace(entry, summary=_line_without(entry.summary, untold[entry.hexsha]))


def change_without(change: CommitChange, untold: Untold) -> CommitChange:
    """The same without what its lines tell of mail that is in `untold`."""
    hexsha = change.entry.hexsha
    if hexsha not in untold:
        return change
    told = "\n".join(_line_without(line, untold[hexsha]) for line in change.told.split("\n"))
    return replace(change, entry=entry_without(change.entry, untold), told=told)


def _line_without(line: str, subjects: Sequence[str] | None) -> str:
    """The line of a commit's message, of such mail with no more than who sent it."""
    if not line.startswith(_MAIL):
        return line
    route, is_whole, subject = line.partition(" | ")
    if is_whole and subjects is not None and not any(_is_of(subject, one) for one in subjects):
        return line
    more = _MORE.search(line)
    return route.partition(" -> ")[0] + (more[0] if more else "")


def _is_of(told: str, subject: str) -> bool:
    """Is what a line tells this subject, or its beginning?"""
    said = printable(subject).strip()
    for one in (told, _MORE.sub("", told)):
        if one.strip() == said or (one.endswith(_CUT) and said.startswith(one.removesuffix(_CUT).rstrip())):
            return True
    return False
