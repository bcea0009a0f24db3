"""Mail to another project was stored there a second time, under a row for its sender that nobody stands behind.

Such a ghost is told by what it lacks: it has the name of an agent of another project who is linked with somebody here,
is younger than that one, and has never received, held or asked for anything. In doubt a row is an agent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.doors.names import wire_key
from mcp_agent_mail.facades.importers.mcp_agent_mail.people import MailAgent, SourcePeople
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import ForeignMessage, SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import digest_of, flag_of, whole_of
from mcp_agent_mail.store.foreign.mail_index import MailIndex, MatchingRow

SENT_TOGETHER = 10 * SECOND
"""Rows of one mail were written one after the other within one call."""

_MOST_OPEN = 1_000
"""Equal mails of the same seconds that are compared; of more each is a mail of its own."""

_SHOWN = 10


def find_ghosts(tables: SourceTables, people: SourcePeople) -> dict[int, MailAgent]:
    """The rows that are ghosts, with the agent that each is."""
    namesakes: dict[str, list[MailAgent]] = defaultdict(list)
    for person in people.persons.values():
        namesakes[wire_key(person.name)].append(person)
    suspects = [one for group in namesakes.values() if len(group) > 1 for one in group if one.number is not None]
    if not suspects:
        return {}
    busy, linked = _traces(tables, people)
    ghosts: dict[int, MailAgent] = {}
    for one in suspects:
        real = [
            other
            for other in namesakes[wire_key(one.name)]
            if other is not one and (other.key, one.project_key) in linked and other.first_ts <= one.first_ts
        ]
        if one.number is not None and one.key not in busy and len(real) == 1:
            ghosts[one.number] = real[0]
    # None that is a ghost itself stands for another.
    return {number: real for number, real in ghosts.items() if real.number not in ghosts}


def _traces(tables: SourceTables, people: SourcePeople) -> tuple[set[str], set[tuple[str, str]]]:
    """Agents that have received, held or asked for something; and agents with the projects that links lead them to."""
    keys = people.numbers()
    busy: set[str] = set()
    for _, agent in tables.recipient_rows():
        busy.update(_key(keys, agent))
    for lease in tables.leases():
        busy.update(_key(keys, lease["agent_id"]))
    linked: set[tuple[str, str]] = set()
    for link in tables.links():
        one, other = people.person(whole_of(link["a_agent_id"])), people.person(whole_of(link["b_agent_id"]))
        busy.update(person.key for person in (one, other) if person is not None)
        if one is not None and other is not None:
            linked |= {(one.key, other.project_key), (other.key, one.project_key)}
    return busy, linked


def _key(keys: dict[int, str], number: object) -> Iterable[str]:
    found = whole_of(number)
    return (keys[found],) if found in keys else ()


def join_mail(
    tables: SourceTables, people: SourcePeople, ghosts: dict[int, MailAgent], index: MailIndex, notes: ReadingNotes
) -> None:
    """Rows of one mail become one, of the agent that sent it; the ghosts are no agents any more."""
    if not ghosts:
        return
    for number in {*ghosts, *(real.number for real in ghosts.values() if real.number is not None)}:
        sender = ghosts.get(number) or people.person(number)
        for row in tables.messages_of(number):
            if sender is not None:
                index.add_likely(_likely(row, sender.key))
    _join(index)
    names = sorted({f"{real.name} in {real.project_key}" for real in ghosts.values()})
    for number, real in ghosts.items():
        people.take_for(number, real)
    notes.leave_out(
        "rows of senders in other projects", "each was only there to sign mail: it is its agent", len(ghosts)
    )
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    notes.note(f"Mail that went to several projects is one message again; its senders are {shown}."[:1_000])


def _likely(row: ForeignMessage, sender: str) -> MatchingRow:
    told = digest_of(row.subject, row.body_md, row.importance, flag_of(row.ack_required))
    return MatchingRow(
        sender=sender,
        digest=bytes.fromhex(told),
        created_ts=row.created_ts or Micros(0),
        number=row.number,
        project=str(row.project),
    )


def _join(index: MailIndex) -> None:
    """Of equal rows those of different projects within the same seconds; the oldest that lacks a project gets it."""
    open_mails: list[list[MatchingRow]] = []
    for row in index.likely():
        kept = []
        for mail in open_mails:
            is_same = (mail[0].sender, mail[0].digest) == (row.sender, row.digest)
            is_near = row.created_ts - mail[0].created_ts <= SENT_TOGETHER
            if is_same and is_near and len(open_mails) <= _MOST_OPEN:
                kept.append(mail)
            else:
                _close(index, mail)
        open_mails = kept
        place = next((mail for mail in open_mails if all(one.project != row.project for one in mail)), None)
        if place is None:
            open_mails.append([row])
        else:
            place.append(row)
    for mail in open_mails:
        _close(index, mail)


def _close(index: MailIndex, mail: list[MatchingRow]) -> None:
    if len(mail) > 1:
        index.join([one.number for one in mail])
