from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.clients.hook.descriptors import write_all, write_words, write_words_within


@pytest.fixture
def room_for_ten() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("room_for_ten")
def test_words_that_had_room_in_part_have_not_left(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file, (tmp_path / "b").open("wb") as other:
        assert write_words(file.fileno(), "0123456789")
        assert not write_words(other.fileno(), "0123456789a")
        with pytest.raises(OSError, match="large"):
            write_all(other.fileno(), b"a")

    assert (tmp_path / "b").read_text() == "0123456789"


def test_words_that_nobody_reads_have_not_left() -> None:
    reading, writing = os.pipe()
    os.close(reading)

    assert not write_words(writing, "a")
    os.close(writing)


def test_what_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        assert write_words(file.fileno(), "\udcff\u00e4")

    assert (tmp_path / "a").read_text() == "\\udcff\u00e4"


def test_words_that_nobody_reads_in_time_have_not_left_and_hold_nobody() -> None:
    reading, writing = os.pipe()

    assert not write_words_within(writing, "a" * 1_000_000, 0.05)
    assert os.read(reading, 1_000_000).strip(b"a") == b""
    assert write_words_within(writing, "whole", 0.0)
    os.close(reading)
    assert not write_words_within(writing, "a", 0.05)
    os.close(writing)
