"""What masks a second time, and what fails without ending the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.cli.debug.report import MOST_BYTES, _bounded, _section, make_report
from mcp_agent_mail.core.errors import NotFound
from tests.cli.shell import Shell


def test_a_section_that_fails_tells_its_kind_and_no_words() -> None:
    def refuse() -> object:
        raise NotFound("No zebra here.")

    def break_down() -> object:
        raise RuntimeError("zebra")

    assert _section(refuse) == {"failed": "NOT_FOUND", "kind": "NotFound"}
    assert _section(break_down) == {"failed": "INTERNAL", "kind": "RuntimeError"}


def test_secrets_and_tokens_are_masked_wherever_they_got_in() -> None:
    text = _bounded({"status": ["at /home/zebra/x", {"part": "amt_abc Bearer zebra"}]}, ["/home/zebra"])

    assert json.loads(text) == {"status": ["at ***/x", {"part": "*** Bearer ***"}]}


def test_the_oldest_lines_make_room() -> None:
    text = _bounded({"log": [{"number": number, "words": "x" * 1_000} for number in range(1_000)]}, [])

    kept = json.loads(text)["log"]
    assert len(text.encode()) <= MOST_BYTES
    assert kept[-1]["number"] == 999
    assert len(kept) > 100


def test_it_says_which_form_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STORAGE_ROOT", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)

    report = json.loads(make_report(None))

    assert report["format"] == "mcp-agent-mail debug report 1"
    assert report["health"] is None


def test_where_there_is_no_log_that_is_said_with_what_to_do(shell: Shell) -> None:
    (shell.home / ".mcp_agent_mail").mkdir()
    without = shell.am("debug", "report", "-")
    (shell.home / ".mcp_agent_mail/server.log").write_text("")
    empty = shell.am("debug", "report", "-")

    log = without.json()["log"]
    assert log["failed"] == "NOT_FOUND"
    assert log["problem"] == "No log was found at STORAGE_ROOT/server.log."
    assert "--log LOG" in log["next_step"]
    assert without.err == f"Notice: {log['problem']} {log['next_step']}\n"
    assert str(shell.home) not in without.out + without.err
    assert (empty.json()["log"], empty.err) == ([], "")
