"""Of a text only what stands in the program is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.cli.debug.known_words import UNTOLD, KnownWords

SOURCE = '''
class ParserBroke(Exception):
    """It broke."""

def run(log, name):
    log.warning("the parser of %s has ended", name)
    log.info("ready")
    return f"the archive of {name} is behind", "ok", "BUSY"
'''


@pytest.fixture
def known(tmp_path: Path) -> KnownWords:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "parser.py").write_text(SOURCE)
    return KnownWords.of_package(tmp_path)


@pytest.mark.parametrize("text", ["ok", "BUSY", "2026-11-21T10:00:00+00:00", "1.20.3"])
def test_words_codes_times_and_versions_are_told(text: str, known: KnownWords) -> None:
    assert known.word(text) == text


@pytest.mark.parametrize("text", ["zebra", "ZEBRA", "okay", "ok ", "", "10.0.0.1:80", "2026-11-21T10:00:00+00:00 x"])
def test_others_are_not(text: str, known: KnownWords) -> None:
    assert known.word(text) == UNTOLD


def test_a_sentence_is_told_up_to_where_it_was_filled_in(known: KnownWords) -> None:
    assert known.told("the parser of zebra has ended") == "the parser of…"
    assert known.told("the archive of zebra is behind") == "the archive of…"
    assert known.told("zebra: the parser of zebra has ended") == UNTOLD


def test_what_sqlite_and_the_system_say_is_told(known: KnownWords) -> None:
    assert known.told("zebra: database disk image is malformed") == "database disk image is malformed"
    assert known.told("/home/zebra: No space left on device") == "No space left on device"


def test_of_a_trace_the_kinds_and_our_own_places_are_told(known: KnownWords) -> None:
    trace = "ParserBroke: Zebra < /x/mcp_agent_mail/parts/parser.py:7 in zebra < /x/mcp_agent_mail/zebra.py:1 in y"

    assert known.errors(f"{trace}; caused by OSError ZebraError") == ["ParserBroke", "OSError"]
    assert known.frames(trace) == ["parts/parser.py:7"]
