"""A store whose mail is all in Git, attachments and blind copies among it; made once, for copies."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker, BackupReport, faults_of_store, untold
from mcp_agent_mail.features.recovery.backups.manifest import manifest_checksum
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.restore import Restorer
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from tests.archive_harness import ArchiveHarness

NOTES = b"notes of the day\n"


@dataclass
class Stored:
    """Two projects: BlueLake wrote to RedStone with an attachment; GreenHill is in the other one."""

    harness: ArchiveHarness
    project: Project
    blue: Agent
    red: Agent

    @property
    def place(self) -> StorePlace:
        return StorePlace(storage_root=self.harness.root, database_path=self.harness.database)

    def send(self, subject: str) -> int:
        """And bring it into Git; its id."""
        message = self.harness.send(self.blue, [self.red], subject=subject)
        self.harness.archive()
        return message.id

    def back_up(self, target: Path, *, keep: int = 7) -> BackupReport:
        return BackupMaker(place=self.place).make(target, keep=keep)

    def restorer(self) -> Restorer:
        return restorer_of(self.place)

    def faults(self) -> list[str]:
        """Of the store that lies there, its files too."""
        return faults_in(self.place)


def restorer_of(place: StorePlace, *, fault_hook: FaultHook = no_fault) -> Restorer:
    archiver = ArchiverSettings(
        storage_root=str(place.storage_root),
        database_path=str(place.database_path),
        author_name="mcp-agent",
        author_email="mcp-agent@localhost",
        commit_interval_ms=0,
    )
    return Restorer(place=place, archiver=archiver, fault_hook=fault_hook)


def faults_in(place: StorePlace) -> list[str]:
    return faults_of_store(place.storage_root, place.database_path, untold, shows_files=lambda _: True)


def subjects_in(place: StorePlace) -> list[str]:
    with closing(open_reading(place.database_path)) as connection:
        return [subject for (subject,) in connection.execute("SELECT subject FROM messages ORDER BY id")]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fill(harness: ArchiveHarness) -> Stored:
    project, other = harness.add_project("/code/app"), harness.add_project("/code/lib")
    blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
    harness.add_agent(other, "GreenHill")
    message = harness.send(blue, [red], carried=[NOTES])
    harness.read(project, red, message)
    harness.archive()
    return Stored(harness, project, blue, red)


def change_manifest(backup: Path, **fields: object) -> None:
    """Let its manifest say this, with a checksum that fits."""
    manifest = backup / "manifest.json"
    said = json.loads(manifest.read_text()) | fields
    manifest.write_text(json.dumps(said | {"sha256": manifest_checksum(said)}))


def spoil(backup: Path, *statements: str) -> None:
    """Run these on its database, and let all that the backup says of itself fit."""
    with closing(sqlite3.connect(backup / "mail.sqlite3")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    content = (backup / "mail.sqlite3").read_bytes()
    lines = (backup / "checksums.txt").read_text().splitlines(keepends=True)
    fresh = f"{hashlib.sha256(content).hexdigest()}  {len(content)}  mail.sqlite3\n"
    text = "".join(fresh if line.endswith("  mail.sqlite3\n") else line for line in lines)
    (backup / "checksums.txt").write_text(text)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    change_manifest(backup, checksums_sha256=sha256, verified=False, findings=["as it was"])
