"""The last lines of logs of every form, and of what is no log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import mcp_agent_mail
from mcp_agent_mail.cli.debug.known_words import KnownWords
from mcp_agent_mail.cli.debug.log_facts import MOST_LINES, log_facts


@pytest.fixture(scope="module")
def known() -> KnownWords:
    return KnownWords.of_package(Path(mcp_agent_mail.__file__).parent)


def test_a_log_that_is_not_there_is_empty(tmp_path: Path, known: KnownWords) -> None:
    assert log_facts(tmp_path / "none.log", known) == []


def test_lines_of_which_nothing_is_told_are_counted(tmp_path: Path, known: KnownWords) -> None:
    log = tmp_path / "server.log"
    log.write_text("zebra\n" * 5 + "{not json\n[]\n{}\n")

    assert log_facts(log, known) == [{"lines_not_told": 8}]


def test_no_more_than_a_bound_is_read(tmp_path: Path, known: KnownWords) -> None:
    log = tmp_path / "server.log"
    at = "2026-11-21T20:38:32.123+00:00"
    log.write_text("".join(f"{at} INFO mcp_agent_mail.archiving: x pending={number}\n" for number in range(9_000)))

    found = log_facts(log, known)

    assert len(found) == MOST_LINES
    assert found[-1]["pending"] == 8_999


def test_neither_a_pipe_nor_a_link_is_waited_for_or_followed(tmp_path: Path, known: KnownWords) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")

    for name in ("pipe", "link"):
        with pytest.raises(OSError, match=r"seekable|Errno"):
            log_facts(tmp_path / name, known)


def test_bytes_that_are_no_text_are_no_end(tmp_path: Path, known: KnownWords) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"\xff\xfe\x00 zebra\n" + b"[" * 100_000 + b"\n")

    assert log_facts(log, known) == [{"lines_not_told": 2}]
