"""The last lines of a log: when, how grave, by which module, and the program's own words in them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.debug.known_words import UNTOLD, KnownWords

MOST_LINES = 300
MOST_BYTES = 256 * 1024
_LINE = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.+-]{8,24}) ([A-Z]{4,8}) ([A-Za-z0-9_.]{1,120}): (.*)", re.DOTALL)
_PAIR = re.compile(r"([a-z0-9_]{1,40})=(\S{1,80})")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,9})?")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_FIGURES = frozenset(
    {
        *("attempt", "bytes", "calls", "count", "dropped", "errors", "events", "expired", "failed", "files", "left"),
        *("messages", "ms", "p50_ms", "p95_ms", "p99_ms", "pending", "pid", "projects", "released", "restarts"),
        *("seconds", "statements", "status", "waiting"),
    }
)
_WORDS = frozenset({"code", "kind", "outcome", "task", "tool", "via"})
_PACKAGE = "mcp_agent_mail"

# Plain JSON.
Json = Any


def log_facts(log: Path, known: KnownWords) -> list[Json]:
    """Of the last lines, oldest first; nothing for a log that is not there. Raises OSError for one that cannot be
    read.
    """
    lines = _last_lines(log)
    facts: list[Json] = []
    for line in lines[-MOST_LINES:]:
        told = _of_json(line, known) or _of_text(line, known) or _of_trace(line, known)
        # Lines of which nothing may be told are counted, not listed.
        if told is not None:
            facts.append(told)
        elif facts and facts[-1].keys() == {"lines_not_told"}:
            facts[-1]["lines_not_told"] += 1
        else:
            facts.append({"lines_not_told": 1})
    return facts


def _last_lines(log: Path) -> list[str]:
    """Never waits: what lies there may be no file."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    with open(descriptor, "rb") as file:  # noqa: PTH123  # of a descriptor
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MOST_BYTES))
        text = file.read(MOST_BYTES).decode(errors="replace")
    lines = text.splitlines()
    return lines[1:] if size > MOST_BYTES else lines


def _of_json(line: str, known: KnownWords) -> Json:
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    texts = {key: value[key] for key in ("time", "level", "logger", "message") if isinstance(value.get(key), str)}
    if len(texts) < len(("time", "level", "logger", "message")):
        return None
    figures = {key: _figure(key, str(one), known) for key, one in value.items() if key not in texts}
    return {
        "time": known.word(texts["time"]),
        "level": _level(texts["level"]),
        "logger": _logger(texts["logger"], known),
        "message": known.told(texts["message"]),
        **{key: figure for key, figure in figures.items() if figure is not None},
        **_trace(str(value.get("error", "")), known),
    }


def _of_text(line: str, known: KnownWords) -> Json:
    if (match := _LINE.fullmatch(line)) is None or match[2] not in _LEVELS:
        return None
    figures = {key: _figure(key, text, known) for key, text in _PAIR.findall(match[4])}
    return {
        "time": known.word(match[1]),
        "level": match[2],
        "logger": _logger(match[3], known),
        "message": known.told(match[4]),
        **{key: figure for key, figure in figures.items() if figure is not None},
        **_trace(match[4].partition(" error=")[2], known),
    }


def _of_trace(line: str, known: KnownWords) -> Json:
    """A line of Python's own last words."""
    return _trace(line, known) or None


def _trace(text: str, known: KnownWords) -> Json:
    """Neither a message nor a name of a function: where, and which kinds of errors."""
    if not text:
        return {}
    found = {"errors": known.errors(text), "at": known.frames(text)}
    return {key: value for key, value in found.items() if value}


def _level(text: str) -> str:
    return text if text in _LEVELS else UNTOLD


def _logger(name: str, known: KnownWords) -> str:
    """One of the program's modules; other libraries' are told by their first word where the program has it."""
    inside = name.removeprefix(f"{_PACKAGE}.").replace(".", "/")
    if name in known.texts or f"{inside}.py" in known.files or f"{inside}/__init__.py" in known.files:
        return name
    return known.word(name.partition(".")[0])


def _figure(key: str, text: str, known: KnownWords) -> Json:
    if key in _FIGURES and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if key in _WORDS and known.word(text) == text:
        return text
    return None
