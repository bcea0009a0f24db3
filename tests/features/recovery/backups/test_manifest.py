from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.core.json_limits import TooManyParts
from mcp_agent_mail.features.recovery.backups.manifest import (
    NewerBackup,
    UnreadableBackup,
    check_backup,
    listed_files,
    opened_of,
    read_manifest,
)


def test_one_flipped_byte_in_any_file_is_found_and_named(backup: Path) -> None:
    manifest = read_manifest(backup)
    files = [path for path in sorted(backup.rglob("*")) if path.is_file() and path.name != "manifest.json"]
    assert len(files) >= 5

    for path in files:
        content = path.read_bytes()
        for at in (0, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            named = {fault.path for fault in check_backup(backup, manifest)}
            assert str(path.relative_to(backup)) in named, at
        path.write_bytes(content)
    assert list(check_backup(backup, manifest)) == []


def test_each_byte_of_the_manifest_is_looked_at(backup: Path) -> None:
    place = backup / "manifest.json"
    content = place.read_bytes()
    for at, byte in enumerate(content):
        place.write_bytes(content[:at] + bytes([byte ^ 1]) + content[at + 1 :])
        with pytest.raises((UnreadableBackup, NewerBackup)):
            read_manifest(backup)


@pytest.mark.parametrize(
    "changed", [{"created": "2020-01-01T00:00:00Z"}, {"messages": 7}, {"verified": False}, {"archives": []}]
)
def test_a_manifest_that_says_something_else_is_none(changed: dict[str, object], backup: Path) -> None:
    place = backup / "manifest.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | changed))

    with pytest.raises(UnreadableBackup, match="another than it was made with"):
        read_manifest(backup)


def test_a_missing_and_an_extra_file_are_named(backup: Path) -> None:
    manifest = read_manifest(backup)
    missing = next((backup / "archives").iterdir())
    missing.unlink()
    (backup / "archives/zzz").touch()
    (backup / "attachments/device").symlink_to("/dev/zero")

    found = {(fault.path, fault.problem) for fault in check_backup(backup, manifest)}

    assert found == {
        (str(missing.relative_to(backup)), "missing"),
        ("archives/zzz", "unexpected"),
        ("attachments/device", "unexpected"),
    }


@pytest.mark.parametrize(
    "path", ["../mail.sqlite3", "/etc/passwd", "manifest.json", "attachments/aa/../../x", "archives/A"]
)
def test_no_name_leads_anywhere_else(path: str, backup: Path) -> None:
    with pytest.raises(OSError, match="no name of a backup's file"):
        opened_of(backup, path)


def test_a_manifest_of_more_parts_than_a_backup_has_is_refused_before_it_is_parsed(backup: Path) -> None:
    (backup / "manifest.json").write_bytes(b'{"kind":"","archives":[' + b"{}," * 1_600_000 + b"{}]}")

    with pytest.raises(UnreadableBackup) as refused:
        read_manifest(backup)

    assert isinstance(refused.value.__cause__, TooManyParts)


@pytest.mark.parametrize("disordered", [lambda lines: lines[::-1], lambda lines: [lines[0], *lines]])
def test_lines_of_checksums_that_are_out_of_order_or_twice_name_no_files(
    disordered: Callable[[list[str]], list[str]], backup: Path
) -> None:
    manifest, place = read_manifest(backup), backup / "checksums.txt"
    lines = place.read_text().splitlines(keepends=True)
    place.write_text("".join(disordered(lines)))

    with pytest.raises(ValueError, match="names no file of a backup"):
        list(listed_files(backup))
    assert [fault.problem for fault in check_backup(backup, manifest) if fault.path == place.name] == ["unreadable"]
