"""What commands say on a disk that is full, or nearly: that, and what to do; never that something is damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.backups.backup import faults_of_store, untold
from tests.archive_harness import open_archive_harness
from tests.cli.shell import Shell
from tests.faults.disks import fill_disk, small_disk
from tests.features.recovery.backups.harness import Stored, fill

MIB = 2**20
KIB = 1024
COMMANDS = (
    "doctor backup",
    "doctor restore BACKUP",
    "doctor restore FILE",
    "doctor restore --undo",
    "doctor rebuild",
    "doctor rebuild --into NEW",
    "doctor repair",
    "archive save SAVED",
    "archive list FILE",
    "archive restore FILE --into NEW",
    "archive export SLUG NEW",
    "archive export SLUG NEW --exact",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowded:
    """A store with two backups' worth of way back on a small disk, where everything else goes too."""

    disk: Path
    shell: Shell
    stored: Stored
    backup: str

    def words(self, command: str) -> list[str]:
        slug = self.stored.project.slug
        names = {"BACKUP": self.backup, "FILE": self.disk / "s.tar", "NEW": self.disk / "new", "SLUG": slug}
        return [str({**names, "SAVED": self.disk / "saved.tar"}.get(word, word)) for word in command.split()]

    def clear(self) -> None:
        """What a command that was done has made."""
        (self.disk / "saved.tar").unlink(missing_ok=True)
        shutil.rmtree(self.disk / "new", ignore_errors=True)
        shutil.rmtree(self.disk / "store" / "kept", ignore_errors=True)
        for made in (self.disk / "bk").iterdir():
            if made.is_dir() and str(made) != self.backup:
                shutil.rmtree(made)

    def leave(self, free: int) -> None:
        ballast = self.disk / "ballast"
        ballast.unlink(missing_ok=True)
        fill_disk(self.disk)
        with ballast.open("r+b") as file:
            file.truncate(max(0, ballast.stat().st_size - free))


@pytest.fixture
def crowded(shell: Shell, tmp_path: Path) -> Iterator[Crowded]:
    with small_disk(tmp_path / "disk", size_kib=48 * KIB) as disk:
        (disk / "store").mkdir(mode=0o700)
        with open_archive_harness(disk / "store") as harness:
            stored = fill(harness)
            for number in range(3):
                large = os.urandom(700_000)
                harness.send(stored.blue, [stored.red], subject=f"large {number}", carried=[large])
                harness.archive()
        (disk / "tmp").mkdir()
        shell.set(STORAGE_ROOT=str(disk / "store"), BACKUP_DIR=str(disk / "bk"), TMPDIR=str(disk / "tmp"))
        backup = json.loads(shell.am("doctor", "backup", "--json").out)["path"]
        assert shell.am("archive", "save", str(disk / "s.tar")).code == 0
        assert shell.am("doctor", "restore", backup).code == 0
        yield Crowded(disk=disk, shell=shell, stored=replace(stored), backup=backup)


@pytest.mark.parametrize("free", [7 * MIB, 4 * MIB, 1500 * KIB, 200 * KIB, 0], ids=lambda free: f"{free // KIB} KiB")
def test_every_command_is_done_or_names_the_disk(crowded: Crowded, free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(crowded.disk / "tmp"))
    said: dict[str, str] = {}
    for command in COMMANDS:
        crowded.leave(free)
        ended = crowded.shell.am(*crowded.words(command))
        if ended.code:
            said[command] = ended.err
        crowded.clear()

    (crowded.disk / "ballast").unlink()
    for command, words in said.items():
        assert "Error (UNAVAILABLE)" in words, (command, words)
        assert "Hint: Free some" in words, (command, words)
        assert "damaged" not in words, (command, words)
        assert "made by hand" not in words or command.startswith("archive restore"), (command, words)
    assert free or {"doctor restore BACKUP", "doctor restore --undo", "doctor rebuild"} <= said.keys()
    place = crowded.stored.place
    assert {one["check"] for one in crowded.shell.am("doctor", "check", "--json").json()["findings"]} <= {"disk"}
    assert faults_of_store(place.storage_root, place.database_path, untold) == []


def test_a_reset_that_cannot_give_git_what_waits_asks_for_room_and_leaves_no_archive_out(
    shell: Shell, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", size_kib=16 * KIB) as disk:
        (disk / "store").mkdir(mode=0o700)
        with open_archive_harness(disk / "store") as harness:
            stored = fill(harness)
            for number in range(40):
                harness.send(stored.blue, [stored.red], subject=f"waits {number}", body="b" * 20_000)
        shell.set(STORAGE_ROOT=str(disk / "store"), BACKUP_DIR=str(tmp_path / "bk"), TMPDIR=str(tmp_path))
        fill_disk(disk)
        # Enough for the database, not for what waits.
        with (disk / "ballast").open("r+b") as file:
            file.truncate((disk / "ballast").stat().st_size - 200 * KIB)

        refused = shell.am("reset", "--confirm", "store")
        (disk / "ballast").unlink()
        done = shell.am("reset", "--confirm", "store")

    assert "Error (UNAVAILABLE)" in refused.err
    assert "Hint: Free some room" in refused.err
    assert "without" not in refused.err
    assert done.code == 0, done.err
