"""Logs: lines on stderr, as text, as columns on a terminal, or as JSON; each with the id of its request.

Facts go beside the message: `log.info("committed", extra={"facts": {"events": 7}})`. What agents
write and what proves who they are never belongs into a log; should a token slip into a message
all the same, it is masked here, and every line is cut to a bound.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TextIO

from mcp_agent_mail.core.escaping import visible_json, written_on_one_line
from mcp_agent_mail.core.ids import TOKEN_PREFIXES
from mcp_agent_mail.core.settings.kinds import MASK

MAX_MESSAGE_LENGTH = 4_000
MAX_TRACE_LENGTH = 8_000

_MAX_CAUSES = 5
_MAX_FRAMES = 30

_QUIET = ("aiosqlite", "asyncio", "fastmcp", "git", "httpx", "mcp", "sse_starlette", "uvicorn")
"""Libraries whose everyday lines say nothing to an operator (aiosqlite's quote what is searched for): their warnings
are kept."""

_TOKENS = re.compile(rf"(?:{'|'.join(TOKEN_PREFIXES)})[A-Za-z0-9_-]+|(?<=bearer )\S+", flags=re.IGNORECASE)
_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


@contextmanager
def request_scope(request_id: str | None = None) -> Iterator[str]:
    """All lines logged inside carry `request_id`, or a new random one."""
    chosen = request_id or secrets.token_hex(6)
    reset = _request_id.set(chosen)
    try:
        yield chosen
    finally:
        _request_id.reset(reset)


def current_request_id() -> str | None:
    return _request_id.get()


def configure_logs(*, level: str, rich_enabled: bool, json_enabled: bool, stream: TextIO | None = None) -> None:
    """Send every logger of the process to `stream` (stderr). Called once by a process's entry, never at import.

    A repeat replaces what was there. Rich counts on a terminal only; JSON beats it.
    """
    target = stream or sys.stderr
    in_columns = rich_enabled and not json_enabled and target.isatty()
    handler = _columns(target) if in_columns else logging.StreamHandler(target)
    if not in_columns:
        handler.setFormatter(JsonLines() if json_enabled else TextLines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)


def log_line(logger: str, message: str, facts: dict[str, object]) -> str:
    """A warning as the log writes it, for who must not write to the log. Before there is one it is plain text."""
    record = logging.LogRecord(logger, logging.WARNING, "", 0, message, (), None)
    record.facts = facts
    formatter = next((one.formatter for one in logging.getLogger().handlers if one.formatter is not None), None)
    return (formatter or TextLines()).format(record)


def color_system() -> Literal["auto"] | None:
    """What rich is to write for colours: nothing at all where NO_COLOR is set (https://no-color.org)."""
    return None if os.environ.get("NO_COLOR") else "auto"


def _columns(target: TextIO) -> logging.Handler:
    from rich.console import Console  # noqa: PLC0415  # only terminals pay for rich
    from rich.highlighter import NullHighlighter  # noqa: PLC0415
    from rich.logging import RichHandler  # noqa: PLC0415

    console = Console(file=target, color_system=color_system())
    handler = RichHandler(console=console, show_path=False, markup=False, highlighter=NullHighlighter())
    handler.setFormatter(_Columns())
    return handler


def _trace(error: BaseException | None) -> str:
    """Kinds and places of an error and its causes, innermost last, without their messages: those may quote mail.

    What the operating system and SQLite say is about files and disks, and is kept.
    """
    kinds: list[str] = []
    while error is not None and len(kinds) < _MAX_CAUSES:
        frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
        places = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        says = f": {error}" if isinstance(error, OSError) or type(error).__module__ == "sqlite3" else ""
        kinds.append(" < ".join([f"{type(error).__name__}{says}", *reversed(places)]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return _clean("; caused by ".join(kinds), MAX_TRACE_LENGTH)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}… ({len(text)} characters)"


def without_tokens(text: str) -> str:
    """`text` with everything that looks like a token of ours, or stands behind `Bearer`, masked."""
    return _TOKENS.sub(MASK, text)


def _clean(text: str, length: int) -> str:
    return _cut(without_tokens(text), length)


def _facts(record: logging.LogRecord) -> dict[str, object]:
    facts = getattr(record, "facts", {})
    assert isinstance(facts, dict), "facts are a dict"
    return facts


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


class JsonLines(logging.Formatter):
    """One object per line: time, level, logger, message, request_id, the facts, error."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line without its end. Tokens are masked, texts cut at MAX_MESSAGE_LENGTH characters; no
        fact takes the place of a key of ours, and errors come without their messages, which may quote mail.
        """
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": _clean(record.getMessage(), MAX_MESSAGE_LENGTH),
        }
        if (request_id := current_request_id()) is not None:
            line["request_id"] = request_id
        for name, value in _facts(record).items():
            line.setdefault(name, _fact(value))
        if record.exc_info:
            line["error"] = _trace(record.exc_info[1])
        return visible_json(json.dumps(line, ensure_ascii=False))


def _fact(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _clean(str(value), MAX_MESSAGE_LENGTH)


class _Columns(logging.Formatter):
    """The message and its facts; time and level have columns of their own."""

    def format(self, record: logging.LogRecord) -> str:
        words = [written_on_one_line(_clean(record.getMessage(), MAX_MESSAGE_LENGTH))]
        words += [f"{name}={written_on_one_line(str(_fact(value)))}" for name, value in _facts(record).items()]
        if (request_id := current_request_id()) is not None:
            words.append(f"request_id={request_id}")
        if record.exc_info:
            words.append(f"error={written_on_one_line(_trace(record.exc_info[1]))}")
        return " ".join(words)


class TextLines(_Columns):
    """`2026-11-21T20:38:32.123+00:00 INFO logger: message name=value request_id=…`."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_time(record)} {record.levelname} {record.name}: {super().format(record)}"
