"""Stores of other systems that are used, and cleaned up, between two imports: edited as their programs do it."""

from __future__ import annotations

import json
import random
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.facades.importers.mcp_store import SCHEMA

START = datetime(2026, 3, 1, 8, 0, 0, tzinfo=UTC)
WORDS = ("done", "please look", "ok", "läuft")
NAMES = ("alice", "bob", "carol")


class ChangingSource(ABC):
    """`there` are the messages that stand in it: by time, which no two share, what each says."""

    system: str

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder = folder
        self.dice = dice
        self.there: dict[str, str] = {}
        self._seconds = 0
        self._renamed = 0

    @property
    @abstractmethod
    def path(self) -> Path: ...

    @property
    def archive(self) -> Path | None:
        return None

    @abstractmethod
    def append(self) -> None: ...

    @abstractmethod
    def rename(self) -> None: ...

    @abstractmethod
    def read(self) -> None: ...

    @abstractmethod
    def delete(self, *, oldest: bool) -> None: ...

    @abstractmethod
    def prune(self) -> None:
        """A mailbox or project goes, with or without its mail."""

    def vacuum(self) -> None:
        """Only of a database."""
        return

    def edit(self) -> None:
        match self.dice.choices(range(6), (6, 2, 2, 2, 1, 1))[0]:
            case 0:
                for _ in range(self.dice.randint(1, 4)):
                    self.append()
            case 1:
                self.rename()
            case 2:
                self.read()
            case 3:
                self.delete(oldest=self.dice.random() < 0.6)
            case 4:
                self.prune()
            case _:
                self.vacuum()

    def sent(self) -> tuple[str, str]:
        """When, as its program writes it, and what is said."""
        self._seconds += self.dice.randint(1, 90)
        at = (START + timedelta(seconds=self._seconds)).strftime("%Y-%m-%d %H:%M:%S")
        self.there[at] = self.dice.choice(WORDS)
        return at, self.there[at]

    def free_name(self, taken: list[str]) -> str:
        """A new one, or one that somebody had before."""
        former = [f"renamed-{number}" for number in range(1, self._renamed + 1)]
        if (left := [name for name in (*NAMES, *former) if name not in taken]) and self.dice.random() < 0.3:
            return self.dice.choice(left)
        self._renamed += 1
        return f"renamed-{self._renamed}"


class DatabaseSource(ChangingSource):
    """Of one table of messages, each from one name to another."""

    schema: str
    columns: tuple[str, str, str, str]
    """From, to, time and whether it was read."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        super().__init__(folder, dice)
        self.run(*self.schema.split(";"))

    @property
    def path(self) -> Path:
        return self.folder / "source.db"

    # What SQLite takes and gives.
    def run(self, *statements: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            found: list[tuple[object, ...]] = []
            for statement in statements:
                found = connection.execute(statement, values).fetchall()
        return found

    def names(self) -> list[str]:
        sender, to, *_ = self.columns
        found = self.run(f"SELECT {sender} FROM messages UNION SELECT {to} FROM messages ORDER BY 1")
        return [str(name) for (name,) in found] or list(NAMES)

    def rename(self) -> None:
        name, fresh = self.dice.choice(self.names()), self.free_name(self.names())
        for column in self.columns[:2]:
            self.run(f"UPDATE messages SET {column} = ? WHERE {column} = ?", values=(fresh, name))

    def read(self) -> None:
        self.run(f"UPDATE messages SET {self.columns[3]} = 1 WHERE rowid % 2 = ?", values=(self.dice.randrange(2),))

    def delete(self, *, oldest: bool) -> None:
        at = self.columns[2]
        self.run(f"DELETE FROM messages WHERE {at} = (SELECT {'min' if oldest else 'max'}({at}) FROM messages)")
        self.look()

    def prune(self) -> None:
        self.run(f"DELETE FROM messages WHERE {self.columns[1]} = ?", values=(self.dice.choice(self.names()),))
        self.look()

    def vacuum(self) -> None:
        self.run("VACUUM")

    def look(self) -> None:
        left = {str(at) for (at,) in self.run(f"SELECT {self.columns[2]} FROM messages")}
        self.there = {at: said for at, said in self.there.items() if at in left}


class Postal(DatabaseSource):
    system = "postal"
    schema = "CREATE TABLE messages (id TEXT PRIMARY KEY, from_agent, to_agent, content, created, done INTEGER)"
    columns = ("from_agent", "to_agent", "created", "done")

    def append(self) -> None:
        sender, to = self.dice.sample((*NAMES, *self.names()), 2)
        (at, said), number = self.sent(), self.dice.randrange(40)
        taken = self.run("SELECT 1 FROM messages WHERE id = ?", values=(f"m-{number}",))
        chosen = f"m-{number}" if not taken else at  # Ids that callers choose, and choose again.
        self.run("INSERT INTO messages VALUES (?, ?, ?, ?, ?, 0)", values=(chosen, sender, to, said, at))


class ClaudeMailbox(DatabaseSource):
    system = "claude-mailbox"
    schema = "CREATE TABLE messages (id INTEGER PRIMARY KEY, from_name, to_name, body, created_at, delivered_at)"
    columns = ("from_name", "to_name", "created_at", "delivered_at")

    def append(self) -> None:
        sender, to = self.dice.sample((*NAMES, *self.names()), 2)
        at, said = self.sent()
        self.run("INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, NULL)", values=(sender, to, said, at))


class AgentMail(ChangingSource):
    system = "agentmail"

    def __init__(self, folder: Path, dice: random.Random) -> None:
        super().__init__(folder, dice)
        self.mailboxes = self.path / "mailboxes"
        self.mailboxes.mkdir(parents=True)

    @property
    def path(self) -> Path:
        return self.folder / ".agentmail"

    # As JSON has it.
    def lines(self, file: Path) -> list[dict[str, object]]:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def write(self, file: Path, lines: list[dict[str, object]]) -> None:
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    def files(self) -> list[Path]:
        return sorted(self.mailboxes.iterdir())

    def append(self) -> None:
        sender, to = self.dice.sample((*NAMES, *(file.stem for file in self.files())), 2)
        at, said = self.sent()
        line = {"id": f"{self.dice.randrange(30):08d}", "from": sender, "message": said, "created_at": f"{at}Z"}
        file = self.mailboxes / f"{to}.jsonl"
        self.write(file, [*self.lines(file), line | {"read_flag": False}])

    def rename(self) -> None:
        if files := self.files():
            name = self.free_name([file.stem for file in files])
            self.dice.choice(files).rename(self.mailboxes / f"{name}.jsonl")

    def read(self) -> None:
        for file in self.files():
            self.write(file, [line | {"read_flag": True} for line in self.lines(file)])

    def delete(self, *, oldest: bool) -> None:
        if not self.there:
            return
        at = min(self.there) if oldest else max(self.there)
        del self.there[at]
        for file in self.files():
            self.write(file, [line for line in self.lines(file) if line["created_at"] != f"{at}Z"])

    def prune(self) -> None:
        if files := self.files():
            file = self.dice.choice(files)
            for line in self.lines(file):
                self.there.pop(str(line["created_at"]).removesuffix("Z"))
            file.unlink()


class McpAgentMail(DatabaseSource):
    """Without an archive."""

    system = "mcp-agent-mail"
    schema = SCHEMA
    columns = ("sender_id", "sender_id", "created_ts", "ack_required")

    def __init__(self, folder: Path, dice: random.Random) -> None:
        super().__init__(folder, dice)
        for project in (1, 2, 3):
            values: tuple[object, ...] = (project, f"app-{project}", f"/data/app-{project}", "2026-03-01 07:00:00")
            self.run("INSERT INTO projects VALUES (?, ?, ?, ?)", values=values)
            for name in ("BlueLake", "RedStone"):
                self.run("INSERT INTO agents (project_id, name) VALUES (?, ?)", values=(project, name))

    def append(self) -> None:
        agents = self.run("SELECT id, project_id, name FROM agents ORDER BY id")
        number, project, name = self.dice.choice(agents)
        to, _, other = self.dice.choice(agents)
        at, said = self.sent()
        row = (project, number, said, said, at)
        added = self.run(
            "INSERT INTO messages (project_id, sender_id, subject, body_md, created_ts) VALUES (?, ?, ?, ?, ?)"
            " RETURNING id",
            values=row,
        )
        self.run("INSERT INTO message_recipients VALUES (?, ?, 'to', NULL, NULL)", values=(added[0][0], to))
        self.file(added[0][0], project, at, {"from": name, "to": [other], "subject": said}, said)

    # As JSON has it.
    def file(self, number: object, project: object, at: str, front: dict[str, object], said: str) -> None:
        """Where there is an archive."""

    def rename(self) -> None:
        """Of an agent."""
        taken = [str(name) for (name,) in self.run("SELECT name FROM agents ORDER BY id")]
        values: tuple[object, ...] = (self.free_name(taken), self.dice.randint(1, 6))
        self.run("UPDATE agents SET name = ? WHERE id = ?", values=values)

    def read(self) -> None:
        self.run("UPDATE message_recipients SET read_ts = '2026-03-02 08:00:00'")

    def delete(self, *, oldest: bool) -> None:
        super().delete(oldest=oldest)
        self.run("DELETE FROM message_recipients WHERE message_id NOT IN (SELECT id FROM messages)")

    def prune(self) -> None:
        """One project's mail goes over to another; or its row alone goes."""
        one, other = self.dice.sample((1, 2, 3), 2)
        if self.dice.random() < 0.5:
            self.run("UPDATE messages SET project_id = ? WHERE project_id = ?", values=(other, one))
        else:
            self.run("DELETE FROM projects WHERE id = ? AND id > 1", values=(one,))


class McpAgentMailWithArchive(McpAgentMail):
    """What the database loses stays in the archive."""

    @property
    def archive(self) -> Path | None:
        return self.folder / "archive"

    def __init__(self, folder: Path, dice: random.Random) -> None:
        super().__init__(folder, dice)
        for project in (1, 2, 3):
            (folder / "archive" / "projects" / f"app-{project}").mkdir(parents=True)

    # As JSON has it.
    def file(self, number: object, project: object, at: str, front: dict[str, object], said: str) -> None:
        place = self.folder / "archive" / "projects" / f"app-{project}" / "messages" / "2026" / "03"
        place.mkdir(parents=True, exist_ok=True)
        whole = {**front, "id": number, "created": f"{at.replace(' ', 'T')}+00:00"}
        name = f"{at.replace(' ', 'T').replace(':', '-')}Z__x__{number}.md"
        (place / name).write_text(f"---json\n{json.dumps(whole)}\n---\n\n{said}\n", encoding="utf-8")

    def look(self) -> None:
        """It is there all the same."""


SOURCES: tuple[type[ChangingSource], ...] = (Postal, ClaudeMailbox, AgentMail, McpAgentMail, McpAgentMailWithArchive)


class SeenMail:
    """All that stood in a source when it was imported."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def look(self, source: ChangingSource) -> None:
        self._seen |= source.there

    def rows(self) -> list[tuple[str, str, int]]:
        """When, what, and how often."""
        return sorted((at, said, 1) for at, said in self._seen.items())


# What SQLite gives.
def rows_here(found: list[tuple[int, str]]) -> list[tuple[str, str, int]]:
    """Of time and words of each message."""
    told = Counter(
        ((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).strftime("%Y-%m-%d %H:%M:%S"), said.strip())
        for at, said in found
    )
    return sorted((at, said, count) for (at, said), count in told.items())
