from __future__ import annotations

import io
import json
import logging
import sqlite3
import sys
from collections.abc import Iterator

import pytest

from mcp_agent_mail.core.logging import (
    MAX_MESSAGE_LENGTH,
    color_system,
    configure_logs,
    current_request_id,
    request_scope,
    without_tokens,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _root_logger_is_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def _configured(*, json_enabled: bool = False, level: str = "INFO") -> io.StringIO:
    stream = io.StringIO()
    configure_logs(level=level, rich_enabled=True, json_enabled=json_enabled, stream=stream)
    return stream


def test_a_text_line_holds_level_logger_message_and_facts() -> None:
    stream = _configured()

    logging.getLogger("mail").info("committed", extra={"facts": {"events": 7, "project": "x-1"}})

    assert stream.getvalue().endswith("INFO mail: committed events=7 project=x-1\n")


def test_a_json_line_is_one_object_with_its_facts_and_request() -> None:
    stream = _configured(json_enabled=True)

    with request_scope("r1"):
        logging.getLogger("mail").warning("slow", extra={"facts": {"took_ms": 9, "message": "no"}})

    line = json.loads(stream.getvalue())
    assert {name: line[name] for name in ("level", "logger", "message", "request_id", "took_ms")} == {
        "level": "WARNING",
        "logger": "mail",
        "message": "slow",
        "request_id": "r1",
        "took_ms": 9,
    }


def test_outside_a_request_there_is_no_request_id() -> None:
    with request_scope() as first, request_scope() as second:
        assert current_request_id() == second != first

    assert current_request_id() is None


def test_less_severe_lines_are_left_out() -> None:
    stream = _configured(level="WARNING")

    logging.getLogger("mail").info("unseen")

    assert stream.getvalue() == ""


@pytest.mark.parametrize("json_enabled", [True, False])
def test_tokens_are_masked_wherever_they_stand(json_enabled: bool) -> None:
    stream = _configured(json_enabled=json_enabled)

    logging.getLogger("mail").info(
        "given amt_abc-123, amj_in-vite and Authorization: Bearer s3cret", extra={"facts": {"token": "amo_xyz"}}
    )

    text = stream.getvalue()
    assert "***" in text
    assert not any(secret in text for secret in ("abc-123", "in-vite", "s3cret", "xyz"))


def test_a_long_message_is_cut_and_says_how_long_it_was() -> None:
    stream = _configured(json_enabled=True)

    logging.getLogger("mail").info("x" * (MAX_MESSAGE_LENGTH + 1))

    message = json.loads(stream.getvalue())["message"]
    assert message == "x" * MAX_MESSAGE_LENGTH + f"… ({MAX_MESSAGE_LENGTH + 1} characters)"


def test_a_line_break_in_a_message_does_not_begin_a_line() -> None:
    stream = _configured()

    logging.getLogger("mail").info("from %s", "a\n2026 INFO forged: line")

    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize("json_enabled", [True, False])
def test_an_error_is_logged_by_kind_place_and_cause_without_its_words(json_enabled: bool) -> None:
    stream = _configured(json_enabled=json_enabled)

    try:
        try:
            raise sqlite3.OperationalError("disk is full")
        except sqlite3.OperationalError as cause:
            raise ValueError("the body of a private message") from cause
    except ValueError:
        logging.getLogger("mail").exception("failed")

    text = stream.getvalue()
    assert "private" not in text
    assert "ValueError < " in text
    assert "caused by OperationalError: disk is full < " in text
    assert "test_logging.py" in text


def test_columns_are_for_terminals_only() -> None:
    terminal = Terminal()
    configure_logs(level="INFO", rich_enabled=True, json_enabled=False, stream=terminal)

    logging.getLogger("mail").info("[bold]hello[/bold]", extra={"facts": {"n": 1}})

    assert "[bold]hello[/bold] n=1" in terminal.getvalue()
    assert type(logging.getLogger().handlers[0]).__name__ == "RichHandler"


def test_logging_without_a_terminal_does_not_import_rich() -> None:
    import subprocess

    code = (
        "import sys; from mcp_agent_mail.core.logging import configure_logs; "
        "configure_logs(level='INFO', rich_enabled=True, json_enabled=False); sys.exit('rich' in sys.modules)"
    )

    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("json_enabled", [False, True])
def test_what_a_terminal_would_obey_reaches_no_log_raw(json_enabled: bool) -> None:
    stream = _configured(json_enabled=json_enabled)
    evil = "\x1b[2J\x9b\u202e\u061c\U000e0041\u200b\x7f"

    logging.getLogger("mail").warning("tool %s", evil, extra={"facts": {"path": evil}})

    assert not [
        character
        for character in stream.getvalue().rstrip("\n")
        if character in evil and not character.isalnum() and character != "["
    ]
    assert "u202e" in stream.getvalue()


@pytest.mark.parametrize(("value", "system"), [(None, "auto"), ("", "auto"), ("1", None), ("0", None)])
def test_no_color_counts_unless_it_is_empty(
    monkeypatch: pytest.MonkeyPatch, value: str | None, system: str | None
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)

    assert color_system() == system


def test_a_text_without_tokens_says_where_they_stood() -> None:
    assert without_tokens("name amt_abc-1, Authorization: Bearer xyz") == "name ***, Authorization: Bearer ***"
