"""Settings and answers, with numbers and the program's own words alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.cli.debug.known_words import UNTOLD, KnownWords
from mcp_agent_mail.cli.debug.masked_facts import doctor_facts, setting_facts, state_facts
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.features.doctor.check import CheckResult
from mcp_agent_mail.features.doctor.verify import Finding


@pytest.fixture
def known(tmp_path: Path) -> KnownWords:
    (tmp_path / "words.py").write_text('WORDS = "status", "ok", "part", "database", "damaged", "look at the file %s"')
    return KnownWords.of_package(tmp_path)


def test_of_an_answer_numbers_switches_and_our_words_are_told(known: KnownWords) -> None:
    value = {"status": "ok", "part": ["zebra", 1, 2.5, None, True], "zebra": "ok", "ok": {"status": {"part": "zebra"}}}

    assert state_facts(value, known) == {
        "status": "ok",
        "part": [UNTOLD, 1, 2.5, None, True],
        "ok": {"status": {"part": UNTOLD}},
        "keys_not_told": 1,
    }


def test_depth_and_length_are_bounded(known: KnownWords) -> None:
    deep: object = "ok"
    for _ in range(50):
        deep = {"part": deep}

    assert UNTOLD in str(state_facts(deep, known))
    assert len(state_facts(list(range(900)), known)) == 50


def test_settings_at_their_default_are_left_out_and_others_masked(tmp_path: Path) -> None:
    given = {
        "HOME": str(tmp_path),
        "HTTP_BEARER_TOKEN": "zebra-zebra-zebra",
        "LOG_LEVEL": "debug",
        "HTTP_PORT": "9000",
        "LOG_JSON_ENABLED": "true",
        "AGENT_NAME": "Zebra",
        "HTTP_ALLOWED_HOSTS": "zebra.example,localhost",
    }

    told = setting_facts(load_settings(given, cwd=tmp_path))["not_default"]

    assert {name: one["value"] for name, one in told.items()} == {
        "HTTP_BEARER_TOKEN": "***",
        "LOG_LEVEL": "DEBUG",
        "HTTP_PORT": 9_000,
        "LOG_JSON_ENABLED": True,
        "AGENT_NAME": "(set)",
        "HTTP_ALLOWED_HOSTS": "(2 items)",
    }


def test_findings_of_a_kind_are_counted_without_where_they_are(known: KnownWords) -> None:
    finding = Finding(
        check="database",
        problem="damaged",
        project="/home/zebra",
        path="zebra.md",
        evidence="zebra",
        next_step="look at the file zebra",
    )

    told = doctor_facts([CheckResult(check="database", evidence="zebra", findings=(finding, finding))], known)

    assert told == {
        "verdict": "findings",
        "checks": {"database": 1},
        "findings": [{"check": "database", "problem": "damaged", "next_step": "look at the file…", "count": 2}],
    }


def test_a_check_that_is_named_after_what_it_looked_at_keeps_its_kind(known: KnownWords) -> None:
    names = ("part zebra-shop-1", "part kiwi-2", "database", "zebra part", "zebra")

    told = doctor_facts([CheckResult(check=name, evidence="zebra") for name in names], known)

    assert told["checks"] == {"part (not told)": 2, "database": 1, "(not told)": 2}
