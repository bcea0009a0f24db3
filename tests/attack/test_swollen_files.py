"""Files of an archive that somebody lets become as large as a disk can name: they are replaced or told of, unread.

What is counted is what the process reads, as the kernel tells it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.archive.inspection import Inspection, TreeFile
from mcp_agent_mail.archive.recovery import restore_files
from mcp_agent_mail.core.ids import OutboxSeq
from tests.archive.old_archive import FILES, MAIL, convert, make_old_archive, open_writer
from tests.archive.one_archive import AT
from tests.archive_harness import git

COUNTS = Path("/proc/self/io")
SWOLLEN = 1 << 30
LITTLE = 1 << 26
NEW = MAIL.replace("/0/", "/0-499/")

pytestmark = pytest.mark.skipif(not COUNTS.exists(), reason="this kernel does not say what a process reads")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_old_archive(tmp_path / "app")


def bytes_read() -> int:
    found = re.search(r"rchar: ([0-9]+)", COUNTS.read_text())
    assert found is not None
    return int(found[1])


@contextmanager
def little_is_read() -> Iterator[None]:
    before = bytes_read()
    yield
    assert bytes_read() - before < LITTLE


def swell(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as opened:
        os.truncate(opened.fileno(), SWOLLEN)


def test_one_at_the_place_that_a_conversion_gives_to_mail_is_replaced_unread(path: Path) -> None:
    swell(path / NEW)

    with little_is_read():
        convert(path)

    assert (path / NEW).read_bytes() == b"body\n"
    assert git(path, "status", "--porcelain") == ""


def test_one_that_recovery_looks_at_is_replaced_unread(path: Path) -> None:
    writer = convert(path)
    (path / NEW).unlink()
    swell(path / NEW)

    with little_is_read():
        restore_files(writer._repository, writer._tree, {NEW}.__contains__)

    assert (path / NEW).read_bytes() == b"body\n"


@pytest.mark.parametrize("is_converted", [True, False])
def test_one_is_told_of_by_who_verifies_and_not_read(path: Path, is_converted: bool) -> None:
    place = MAIL
    if is_converted:
        convert(path)
        place = NEW
    else:
        writer = open_writer(path)
        while writer.convert(OutboxSeq(3), AT) is None:
            pass
    (path / place).unlink()
    swell(path / place)
    blob = git(path, "rev-parse", f"main:{NEW}").strip()

    with little_is_read():
        differs = Inspection(path).work_tree_differs(TreeFile(path=NEW, blob=blob))

    assert differs == ("different" if is_converted else "missing")
    assert FILES[MAIL] == b"body"
