"""What commands say of an archive that is lost or damaged, and that what they say is what helps."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell

COMMANDS = (
    "doctor check",
    "doctor verify",
    "doctor backup --to BACKUPS",
    "doctor rebuild",
    "archive save SAVED",
    "archive export PROJECT OUT",
)


def words(command: str, post: Post, folder: Path) -> list[str]:
    places = {"PROJECT": post.project, "BACKUPS": folder / "b", "SAVED": folder / "s.tar", "OUT": folder / "out"}
    return [str(places.get(word, word)) for word in command.split()]


def spoil_packs(archive: Path) -> None:
    """40 bytes in the middle of each."""
    for pack in (archive / ".git/objects/pack").glob("*.pack"):
        content = bytearray(pack.read_bytes())
        middle = len(content) // 2
        content[middle : middle + 40] = bytes(byte ^ 0xFF for byte in content[middle : middle + 40])
        pack.chmod(0o600)
        pack.write_bytes(content)


def test_with_a_database_every_command_names_the_repair_that_brings_a_lost_archive_back(
    at_stopped: Shell, stopped_post: Post, tmp_path: Path
) -> None:
    shutil.rmtree(stopped_post.archive())

    for command in COMMANDS:
        done = at_stopped.am(*words(command, stopped_post, tmp_path))
        said = done.out + done.err
        assert done.code == 1, (command, said)
        assert "am doctor repair" in said, (command, said)
        assert "begins with the first mail" not in said, (command, said)

    assert at_stopped.am("doctor", "repair").code == 0
    assert at_stopped.am("doctor", "verify").code == 0


def test_every_command_names_a_next_step_for_damaged_objects_and_the_repair_is_one(
    at_stopped: Shell, stopped_post: Post, tmp_path: Path
) -> None:
    archive = stopped_post.archive()
    spoil_packs(archive)

    for command in (*COMMANDS, "archive renew PROJECT"):
        done = at_stopped.am(*words(command, stopped_post, tmp_path))
        said = done.out + done.err
        assert done.code == 1, (command, said)
        assert "am doctor repair" in said, (command, said)
        assert archive.name in said, (command, said)
        assert "Take another copy" not in said, (command, said)
    repaired = at_stopped.am("doctor", "repair", "--json")

    (kept,) = repaired.json()["kept"]
    assert (repaired.code, repaired.json()["left"]) == (0, [])
    assert (Path(kept) / ".git").is_dir()
    assert at_stopped.am("doctor", "verify").code == 0


@pytest.mark.parametrize("has_database", [True, False])
def test_a_rebuild_goes_on_without_an_archive_exactly_as_its_refusal_says(
    at_stopped: Shell, stopped_post: Post, *, has_database: bool
) -> None:
    archive = stopped_post.archive()
    slug = archive.name
    at_stopped.call("ensure_project", human_key="/code/other")
    at_stopped.call("register_agent", project_key="/code/other", name="GrayFox", program="tests", model="none")
    if not (archive.parent / f"{slug}.leases.json").exists():
        (archive.parent / f"{slug}.leases.json").write_text("{}")
    shutil.rmtree(archive)
    if not has_database:
        stopped_post.server.database.unlink()
    command = ["doctor", "rebuild", "--without", slug]
    if has_database:
        told = re.search(r"am (doctor rebuild --without \S+)", at_stopped.am("doctor", "rebuild").err)
        assert told is not None
        command = told[1].split()

    done = at_stopped.am(*command)

    assert done.code == 0, done.err
    assert not (archive.parent / f"{slug}.leases.json").exists()
    (kept,) = (stopped_post.server.root / "kept").glob(f"*/projects/{slug}.leases.json")
    assert kept.is_file()
    assert at_stopped.am("doctor", "verify").code == 0


def test_a_snapshot_without_a_project_never_holds_up_a_rebuild(at_stopped: Shell, stopped_post: Post) -> None:
    lone = stopped_post.archive().parent / "gone-1a2b3c4d.leases.json"
    lone.write_text("{}")

    done = at_stopped.am("doctor", "rebuild")

    assert done.code == 0, done.err
    assert not lone.exists()
    assert len(list((stopped_post.server.root / "kept").glob("*/projects/gone-1a2b3c4d.leases.json"))) == 1
