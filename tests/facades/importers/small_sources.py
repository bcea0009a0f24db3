"""Stores of the three small systems, made by a seed: the same seed makes the same store."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

START = datetime(2026, 3, 1, 8, 0, 0, tzinfo=UTC)
NAMES = ("alice", "bob", "claude-code", "gemini", "Zoë_1", "eve")
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_POSTAL = (
    "CREATE TABLE messages (id TEXT PRIMARY KEY, from_agent TEXT, to_agent TEXT, content TEXT, "
    "created TIMESTAMP DEFAULT CURRENT_TIMESTAMP, done INTEGER DEFAULT 0)"
)


def make_postal(path: Path, *, messages: int = 40, seed: int = 1) -> Path:
    """Several messages share each second, and half are done."""
    dice = random.Random(seed)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(_POSTAL)
        for number in range(messages):
            sender, recipient = dice.sample(NAMES, 2)
            external_id = f"m-{number}" if number % 7 == 0 else str(UUID(int=dice.getrandbits(128), version=4))
            created = (START + timedelta(seconds=number // 3)).strftime("%Y-%m-%d %H:%M:%S")
            body = body_of(dice, number)
            done = int(dice.random() < 0.5)
            connection.execute(
                "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", (external_id, sender, recipient, body, created, done)
            )
    return path


def make_claude_mailbox(
    path: Path, *, messages: int = 40, seed: int = 1, columns: Mapping[str, str] | None = None
) -> Path:
    """`columns` gives other names for the columns of messages."""
    dice = random.Random(seed)
    names = {word: (columns or {}).get(word, word) for word in ("from_name", "to_name", "created_at", "delivered_at")}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE mailboxes (name TEXT PRIMARY KEY, created_at TEXT, last_seen_at TEXT)")
        connection.execute(
            f'CREATE TABLE messages (id INTEGER PRIMARY KEY, "{names["from_name"]}" TEXT, "{names["to_name"]}" TEXT, '
            f'body TEXT, "{names["created_at"]}" TEXT, "{names["delivered_at"]}" TEXT, extra TEXT)'
        )
        for name in (*NAMES, "idle"):
            connection.execute("INSERT INTO mailboxes VALUES (?, ?, ?)", (name, _iso(0), _iso(messages)))
        for number in range(messages):
            sender, recipient = dice.sample(NAMES, 2)
            delivered = _iso(number + 5) if dice.random() < 0.5 else None
            connection.execute(
                "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number + 1, sender, recipient, body_of(dice, number), _iso(number), delivered, "x"),
            )
    return path


def make_agentmail(root: Path, *, messages: int = 40, seed: int = 1) -> Path:
    """A repository with `.agentmail`, as its windows have left it."""
    dice = random.Random(seed)
    folder = root / ".agentmail"
    mailboxes = folder / "mailboxes"
    mailboxes.mkdir(parents=True, mode=0o750)
    (root / ".git").mkdir(exist_ok=True)
    lines: dict[str, list[str]] = {}
    for number in range(messages):
        sender, recipient = dice.sample(NAMES, 2)
        lines.setdefault(recipient, []).append(
            json.dumps(
                {
                    "id": "".join(dice.choice(_DIGITS) for _ in range(8)),
                    "from": sender,
                    "to": recipient,
                    "message": body_of(dice, number),
                    "read_flag": dice.random() < 0.5,
                    "created_at": _iso(number).replace("+00:00", ".123456789Z"),
                },
                ensure_ascii=False,
            )
        )
    for recipient, written in lines.items():
        (mailboxes / f"{recipient}.jsonl").write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    states = [
        {"recipient": "alice", "status": "work", "updated_at": _iso(3), "notified_at": "0001-01-01T00:00:00Z"},
        {"recipient": "bob", "status": "ready", "updated_at": _iso(3), "last_read_at": _millis(messages + 9)},
        {"recipient": "quiet", "status": "offline", "updated_at": _iso(3), "last_read_at": 0},
    ]
    (folder / "recipients.jsonl").write_text("".join(f"{json.dumps(state)}\n" for state in states), encoding="utf-8")
    return folder


def body_of(dice: random.Random, number: int) -> str:
    """Some have several lines, some are empty, some hold what is not ASCII, or a NUL."""
    words = " ".join(dice.choice(("build", "fails", "läuft", "done", "日本", "🙂")) for _ in range(dice.randint(1, 9)))
    return ("", f"{number}: {words}", f"{number}\n\n{words}\n", f"\n  {words}\r\n")[number % 4]


def _iso(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


def _millis(seconds: int) -> int:
    return int((START + timedelta(seconds=seconds)).timestamp() * 1000)
