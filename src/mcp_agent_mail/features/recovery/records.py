"""All that is neither mail nor receipts: profiles, contacts, leases, products, overdue notices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mcp_agent_mail.domain.archive_format.artifacts import (
    ArchivedAgent,
    ArchivedContact,
    ArchivedImport,
    ArchivedLease,
    ArchivedOverdueNotice,
    ArchivedProductLink,
    Artifact,
)
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS
from mcp_agent_mail.domain.archive_format.parse.files import most_bytes_of, parse_file
from mcp_agent_mail.domain.leases import LeaseKeys, LeaseKind
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.features.doctor.external_sort import Spool
from mcp_agent_mail.features.recovery.mail_copies import CopiesDiffer
from mcp_agent_mail.features.recovery.people import People
from mcp_agent_mail.features.recovery.refusals import ArchiveProblems
from mcp_agent_mail.features.recovery.sources import ArchiveSource, Readers, blamed
from mcp_agent_mail.store.rebuild.database import RebuiltDatabase


class Records:
    """`add` what the listings have, then `run` once; notices wait until the mail is there that they tell of."""

    def __init__(
        self,
        sources: Sequence[ArchiveSource],
        database: RebuiltDatabase,
        people: People,
        readers: Readers,
        folder: Path,
    ) -> None:
        self._sources = sources
        self._database = database
        self._people = people
        self._readers = readers
        self._spool = Spool(folder)
        self._notices: list[ArchivedOverdueNotice] = []

    def add(self, source: ArchiveSource, path: str, blob: str) -> bool:
        """Take in a file; False for one that is not the archive's, or its own description."""
        if path == ARCHIVE_FILE or path.partition("/")[0] not in OWN_FOLDERS or "\n" in path:
            return False
        if most_bytes_of(path) is None:
            return False  # It says nothing of its own, however large it is.
        # Agents of all projects come before whatever speaks of them.
        rank = 0 if path.endswith("/profile.json") else 1
        self._spool.add(f"{rank} {source.number:08d} {blob} {path}".encode())
        return True

    def run(self, problems: ArchiveProblems) -> None:
        """What does not fit stands in `problems` afterwards."""
        for line in self._spool:
            _, number, blob, path = line.decode().split(" ", 3)
            source = self._sources[int(number)]
            with blamed(source, problems):
                found = parse_file(path, self._readers.read(source, path, blob), source.version)
                if found is not None:
                    self._take(source, path, found)

    def _take(self, source: ArchiveSource, path: str, found: Artifact) -> None:
        match found:
            case ArchivedAgent():
                if found.project_id != source.project.id:
                    raise CopiesDiffer(source.slug, f"{path} is of project {found.project_id}")
                self._people.add(found)
            case ArchivedContact():
                self._take_contact(source, path, found)
            case ArchivedLease():
                self._take_lease(source, path, found)
            case ArchivedProductLink():
                self._take_product(source, path, found)
            case ArchivedImport():
                self._take_import(source, path, found)
            case ArchivedOverdueNotice():
                self._notices.append(found)
            case _:
                raise CopiesDiffer(source.slug, f"{path} lies in a wrong place")

    def _take_product(self, source: ArchiveSource, path: str, link: ArchivedProductLink) -> None:
        if link.project_id != source.project.id:
            raise CopiesDiffer(source.slug, f"{path} is of project {link.project_id}")
        if not self._database.link_product(link):
            raise CopiesDiffer(source.slug, f"{path} says something else than the archive of another project")

    def _take_import(self, source: ArchiveSource, path: str, archived: ArchivedImport) -> None:
        if archived.unit.project_id != source.project.id:
            raise CopiesDiffer(source.slug, f"{path} is of project {archived.unit.project_id}")
        if not self._database.add_import(archived.unit):
            raise CopiesDiffer(source.slug, f"{path} has the number of another import")

    def _take_contact(self, source: ArchiveSource, path: str, contact: ArchivedContact) -> None:
        names = path.removesuffix(".json").split("/")[1:]
        for party, name in zip((contact.source, contact.target), names, strict=True):
            bare, _, slug = name.partition("@")
            if not slug:
                if not self._people.is_known(party.agent_id):
                    raise CopiesDiffer(source.slug, f"{bare} (agent {party.agent_id}) has a link and no profile")
                continue
            self._people.learn(slug, party.project_id, party.project_key, contact.created_ts)
            project_id = self._people.project(slug, by=source.slug)
            self._people.require(party.agent_id, bare, project_id, contact.created_ts)
        if not self._database.add_contact(contact):
            raise CopiesDiffer(source.slug, f"{path} has the id of another link")

    def _take_lease(self, source: ArchiveSource, path: str, lease: ArchivedLease) -> None:
        if self._people.named(source.project.id, lease.agent) != lease.agent_id:
            raise CopiesDiffer(source.slug, f"{path} is of {lease.agent} (agent {lease.agent_id}), who has no profile")
        evidence = None if lease.evidence is None else json.dumps(dict(lease.evidence))
        self._database.add_lease(lease, source.project.id, _keys_of(lease), evidence)

    def add_notices(self) -> None:
        for notice in self._notices:
            self._database.add_notice(notice)


def _keys_of(lease: ArchivedLease) -> LeaseKeys:
    if lease.kind is LeaseKind.SLOT:
        return LeaseKeys(anchor=lease.path_pattern)
    return keys_of(stored_pattern(lease.path_pattern, is_folder=lease.is_folder, ignore_case=lease.ignore_case))
