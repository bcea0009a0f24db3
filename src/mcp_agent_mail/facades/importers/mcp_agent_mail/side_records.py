"""Leases, links between agents, and products, out of the database or, of leases, out of the archive's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.importing.records import SourceKind, SourceLease, SourceLink, SourceProduct
from mcp_agent_mail.facades.importers.mcp_agent_mail.archive import SourceArchive
from mcp_agent_mail.facades.importers.mcp_agent_mail.people import MailAgent, SourcePeople
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import flag_of, key_of, text_of, time_of, whole_of

_NO_AGENT = "its agent is not in the source any more"
_NO_PATTERN = "it names no path"
_PRODUCT_NAMES = ("name", "product_name", "title", "product_uid", "uid", "key")
_PRODUCT_UIDS = ("product_uid", "uid", "key")
_OF_AGENT = ("agent", "agent_name", "holder")
_PATTERNS = ("path_pattern", "pattern", "path")
_MOST_LEASES = 1_000_000


def leases_of_rows(tables: SourceTables, people: SourcePeople, notes: ReadingNotes) -> Iterator[SourceLease]:
    """In the order of their numbers."""
    for row in tables.leases():
        found = _lease(row, text_of(row["path_pattern"]), people.person(whole_of(row["agent_id"])), notes)
        if found is not None:
            yield found


def leases_of_files(archive: SourceArchive, people: SourcePeople, notes: ReadingNotes) -> Iterator[SourceLease]:
    """One for each lease, of which there may be two files: by its number, and by its path."""
    seen: set[str] = set()
    for slug in archive.slugs():
        project_key = people.add_project(slug=slug, human_key="", created_ts=Micros(0))
        for _, record in archive.leases(slug):
            name, pattern = _first(record, _OF_AGENT), _first(record, _PATTERNS)
            person = people.person_named(project_key, name) if name else None
            found = _lease(record, pattern, person, notes)
            # Equal in all that tells leases apart: the second file of one that was given.
            told = key_of(project_key, name, pattern, found and found.created_ts)
            if found is not None and told not in seen and len(seen) < _MOST_LEASES:
                seen.add(told)
                yield found


# As JSON or the database has it.
def _lease(row: Mapping[str, Any], pattern: str, person: MailAgent | None, notes: ReadingNotes) -> SourceLease | None:
    if person is None or not pattern.strip():
        notes.leave_out(SourceKind.LEASE, _NO_PATTERN if person is not None else _NO_AGENT)
        return None
    created = time_of(row.get("created_ts")) or time_of(row.get("created")) or Micros(0)
    expires = time_of(row.get("expires_ts")) or time_of(row.get("expires")) or created
    exclusive = row.get("exclusive")
    return SourceLease(
        key=key_of(person.key, pattern, created, text_of(row.get("id"))),
        project_key=person.project_key,
        agent_key=person.key,
        pattern=pattern,
        exclusive=exclusive is None or flag_of(exclusive),
        reason=text_of(row.get("reason")),
        created_ts=created,
        expires_ts=expires,
        released_ts=time_of(row.get("released_ts")) or time_of(row.get("released")),
    )


def links_of_rows(tables: SourceTables, people: SourcePeople, notes: ReadingNotes) -> Iterator[SourceLink]:
    """Each in its direction."""
    seen: set[tuple[str, str]] = set()
    for row in tables.links():
        one, other = people.person(whole_of(row["a_agent_id"])), people.person(whole_of(row["b_agent_id"]))
        status = _status(row["status"])
        if one is None or other is None:
            notes.leave_out(SourceKind.LINK, "one of its agents is not in the source any more")
        elif status is None:
            notes.leave_out(SourceKind.LINK, "its status is none that is known here")
        elif one is other or (one.key, other.key) in seen:
            notes.leave_out(SourceKind.LINK, "it links an agent with itself, or two that are linked already")
        else:
            seen.add((one.key, other.key))
            created = time_of(row["created_ts"]) or max(one.first_ts, other.first_ts)
            yield SourceLink(
                key=key_of(one.key, other.key),
                from_agent_key=one.key,
                to_agent_key=other.key,
                status=status,
                reason=text_of(row["reason"]),
                created_ts=created,
                updated_ts=time_of(row["updated_ts"]) or created,
                expires_ts=time_of(row["expires_ts"]),
            )


def products_of_rows(tables: SourceTables, people: SourcePeople, notes: ReadingNotes) -> Iterator[SourceProduct]:
    """Each with the projects that are still there."""
    for row in tables.products():
        name, uid = _first(row, _PRODUCT_NAMES), _first(row, _PRODUCT_UIDS)
        numbers = tables.product_links(row.get("id"))
        known = [number for number in numbers if people.knows_project(number)]
        notes.leave_out("product links", "their projects are not in the source any more", len(numbers) - len(known))
        if not name:
            notes.leave_out(SourceKind.PRODUCT, "it has no name")
            continue
        yield SourceProduct(
            key=key_of(uid or name),
            name=name,
            project_keys=tuple(dict.fromkeys(people.project_key(number) for number in known)),
            created_ts=time_of(row.get("created_at")) or time_of(row.get("created_ts")) or Micros(0),
            uid=uid or None,
        )


# As JSON or the database has it.
def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := text_of(fields.get(name)).strip())), "")


def _status(value: object) -> LinkStatus | None:
    word = text_of(value).strip().lower()
    return LinkStatus(word) if word in set(LinkStatus) else None
