"""Every row of the facts, shown by what the official client hears of a server process, or by a test that says so."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.facades.claims import test_answers, test_files, test_resources, test_tools, transcript
from tests.facades.claims.facts import FACTS
from tests.facades.facts import shown_by
from tests.server import test_claims

RECORDED: list[dict[str, Any]] = json.loads(transcript.GOLDEN.read_text(encoding="utf-8"))
IN_TRANSCRIPT = [fact.id for fact in FACTS if any(fact.id in row["shows"] for row in RECORDED)]
TESTS = (test_answers, test_files, test_resources, test_tools, test_claims)


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    root: Path = tmp_path_factory.mktemp("claims")
    return asyncio.run(transcript.record(root.resolve()))


@pytest.mark.parametrize("fact", IN_TRANSCRIPT)
def test_the_client_hears_what_the_transcript_has_of_the_fact(heard: list[dict[str, Any]], fact: str) -> None:
    now, before = ([row for row in rows if fact in row["shows"]] for rows in (heard, RECORDED))

    assert now == before


def test_nothing_else_is_in_the_transcript(heard: list[dict[str, Any]]) -> None:
    assert transcript.document(heard) == transcript.GOLDEN.read_text(encoding="utf-8")


def test_as_many_rows_are_shown_as_are_written() -> None:
    written = [fact.id for fact in FACTS]
    shown = {*IN_TRANSCRIPT, *(fact for module in TESTS for fact in shown_by(module))}

    assert len(written) == len(set(written))
    assert shown == set(written), f"{len(shown)} of {len(written)} rows shown"
