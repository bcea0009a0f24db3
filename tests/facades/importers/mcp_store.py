"""A store of mcp_agent_mail, database and archive, with everything that bites; the same seed makes the same store.

`make_mcp_store` says what it made: a test compares that with what comes out.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2025, 11, 1, 8, 0, 0, tzinfo=UTC)
SCHEMA = """
    CREATE TABLE projects (id INTEGER PRIMARY KEY, slug TEXT, human_key TEXT, created_at DATETIME);
    CREATE TABLE agents (
        id INTEGER PRIMARY KEY, project_id INTEGER, name TEXT, program TEXT, model TEXT, task_description TEXT,
        inception_ts DATETIME, last_active_ts DATETIME, attachments_policy TEXT, contact_policy TEXT,
        registration_token TEXT);
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY, project_id INTEGER, sender_id INTEGER, thread_id TEXT, topic TEXT, subject TEXT,
        body_md TEXT, importance TEXT, ack_required BOOLEAN, created_ts DATETIME, attachments JSON);
    CREATE TABLE message_recipients (
        message_id INTEGER, agent_id INTEGER, kind TEXT, read_ts DATETIME, ack_ts DATETIME,
        PRIMARY KEY (message_id, agent_id));
    CREATE TABLE file_reservations (
        id INTEGER PRIMARY KEY, project_id INTEGER, agent_id INTEGER, path_pattern TEXT, exclusive BOOLEAN, reason TEXT,
        created_ts DATETIME, expires_ts DATETIME, released_ts DATETIME);
    CREATE TABLE agent_links (
        id INTEGER PRIMARY KEY, a_project_id INTEGER, a_agent_id INTEGER, b_project_id INTEGER, b_agent_id INTEGER,
        status TEXT, reason TEXT, created_ts DATETIME, updated_ts DATETIME, expires_ts DATETIME);
    CREATE TABLE products (id INTEGER PRIMARY KEY, product_uid TEXT, name TEXT, created_at DATETIME);
    CREATE TABLE product_project_links (id INTEGER PRIMARY KEY, product_id INTEGER, project_id INTEGER);
    CREATE TABLE window_identities (id INTEGER PRIMARY KEY, project_id INTEGER, window_uuid TEXT, display_name TEXT);
    CREATE TABLE message_summaries (id INTEGER PRIMARY KEY, project_id INTEGER, thread_id TEXT, summary TEXT);
"""
# slug, directory: the second and third share a slug.
PROJECTS = (("data-api", "/data/api"), ("app", "/data/one/app"), ("app", "/data/two/app"), ("data-web", "/data/web"))
NAMES = ("BlueLake", "RedStone", "Blue Lake!", "émile", "claude", "GreenHill")
API, APP, OTHER_APP, WEB = 1, 2, 3, 4
FAR = datetime(2099, 1, 1, tzinfo=UTC)
DOT = base64.b64decode("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")


@dataclass(slots=True)
class MadeStore:
    """What was made: `rows` of each table of the database, `purged` messages that are in the archive alone."""

    database: Path
    archive: Path
    rows: dict[str, int] = field(default_factory=dict)
    ghosts: int = 0
    joined: int = 0
    purged: int = 0
    attachments: int = 0
    lost_contents: int = 0
    numeric_threads: int = 0
    bcc: int = 0
    live: int = 0
    slots: int = 0
    originals: int = 0
    tokens: dict[str, str] = field(default_factory=dict)


def make_mcp_store(folder: Path, *, messages: int = 60, seed: int = 1, copies: bool = True) -> MadeStore:
    """Half of `messages` are plain, the other half bite. `copies`: inboxes and outboxes have their files too."""
    folder.mkdir(parents=True, exist_ok=True)
    made = MadeStore(database=folder / "storage.sqlite3", archive=folder / "archive")
    with closing(sqlite3.connect(made.database)) as connection:
        connection.executescript(SCHEMA)
        with connection:
            _Maker(connection, made, random.Random(seed), copies=copies).make(messages)
        for table in (line.split()[2] for line in SCHEMA.splitlines() if "CREATE TABLE" in line):
            (made.rows[table],) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One row to be: `plain` ones are all alike but for their numbers."""

    sender: str
    kinds: tuple[tuple[str, str], ...]
    subject: str
    body: str
    thread: str | None = None
    attachments: tuple[dict[str, Any], ...] = ()
    micros: int = 0
    plain: bool = False


class _Maker:
    def __init__(self, connection: sqlite3.Connection, made: MadeStore, dice: random.Random, *, copies: bool) -> None:
        self._connection = connection
        self._made = made
        self._dice = dice
        self._copies = copies
        self._agents: dict[tuple[int, str], int] = {}
        self._next = 1
        self._roots: dict[int, list[int]] = {}

    def make(self, messages: int) -> None:
        self._people()
        for number in range(messages):
            self._message(number)
        self._purge()
        self._ties()
        self._left_out()

    def _people(self) -> None:
        for number, (slug, human_key) in enumerate(PROJECTS, 1):
            self._insert("projects", number, slug, human_key, _naive(number))
            for at, name in enumerate(NAMES):
                token = f"secret-{number}-{at}" if at % 2 else None
                if token is not None:
                    self._made.tokens[f"{slug}/{name}"] = token
                policy = ("auto", "open", "contacts_only")[at % 3]
                self._agent(number, name, program="codex", policy=policy, token=token)
        # Each signs mail that came from the project of the same name.
        for project in (APP, WEB):
            self._ghost(project, "Traveller", home=API)
        self._made.ghosts = 2

    def _agent(self, project: int, name: str, *, program: str, policy: str = "auto", token: str | None = None) -> int:
        number = len(self._agents) + 1
        self._agents[project, name] = number
        self._insert(
            "agents", number, project, name, program, "gpt-5", f"{name} works", _naive(10 + number), _naive(900),
            "auto", policy, token,
        )  # fmt: skip
        profile = {"name": name, "program": program, "model": "gpt-5", "inception_ts": _aware(10 + number)}
        place = self._place(project) / "agents" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "profile.json").write_text(json.dumps(profile), encoding="utf-8")
        return number

    def _ghost(self, project: int, name: str, *, home: int) -> None:
        real = self._agents.get((home, name)) or self._agent(home, name, program="claude-code")
        self._agent(project, name, program="claude-code")
        link = len(NAMES) * project
        friend = self._agents[project, NAMES[0]]
        self._insert(
            "agent_links", link, home, real, project, friend, "approved", "", _naive(50), _naive(51), _naive(10**8)
        )

    def _message(self, number: int) -> None:
        bite = number % 10
        project = (API, APP, OTHER_APP, WEB)[self._dice.randrange(4)]
        seconds = 1000 + number * 5
        sender, *others = self._dice.sample(NAMES, 4)
        if bite == 1:
            self._cross_project(seconds)
            return
        kinds = [(others[0], "to"), (others[1], "cc")] + ([(others[2], "bcc")] if bite == 2 else [])
        self._made.bcc += bite == 2
        thread = self._thread(project, bite)
        body = f"Message {number}: läuft\n\n- {sender}"
        if bite == 3:
            body += f"\n\n![dot](data:image/webp;base64,{base64.b64encode(DOT).decode()})"
        letter = Letter(
            sender=sender,
            kinds=tuple(kinds),
            subject=f"Subject {number}",
            body=body,
            thread=thread,
            attachments=self._attachments(project, number) if bite == 4 else (),
        )
        sent = self._send(project, letter, seconds)
        if thread is None:
            self._roots.setdefault(project, []).append(sent)

    def _thread(self, project: int, bite: int) -> str | None:
        roots = self._roots.get(project)
        if bite in (5, 6) and roots:
            self._made.numeric_threads += 1
            return str(self._dice.choice(roots))
        return "release-7" if bite == 7 else None

    def _cross_project(self, seconds: int) -> None:
        """One call of the traveller's: a row at home, and one each where it has a ghost."""
        body = f"To all of you, at {seconds}"
        for at, (project, kind) in enumerate(((API, "to"), (APP, "cc"), (WEB, "bcc"))):
            kinds = ((NAMES[0], kind),)
            letter = Letter(sender="Traveller", kinds=kinds, subject="Everywhere", body=body, micros=at, plain=True)
            self._send(project, letter, seconds)
        self._made.bcc += 1
        self._made.joined += 2

    def _send(self, project: int, letter: Letter, seconds: int) -> int:
        number = self._next
        self._next += 1
        slug, human_key = PROJECTS[project - 1]
        created = START + timedelta(seconds=seconds, microseconds=letter.micros)
        importance = "normal" if letter.plain else ("normal", "low", "high", "urgent")[number % 4]
        wants_ack = number % 5 == 0 and not letter.plain
        self._insert(
            "messages", number, project, self._agents[project, letter.sender], letter.thread, f"t{number % 3}",
            letter.subject, letter.body, importance, wants_ack, _naive(seconds, letter.micros),
            json.dumps(letter.attachments),
        )  # fmt: skip
        for name, kind in letter.kinds:
            read = _naive(seconds + 60) if self._dice.random() < 0.6 else None
            acked = _naive(seconds + 90) if read and wants_ack else None
            self._insert("message_recipients", number, self._agents[project, name], kind, read, acked)
        front = {
            "ack_required": wants_ack,
            "attachments": letter.attachments,
            **{kind: [name for name, its in letter.kinds if its == kind] for kind in ("bcc", "cc", "to")},
            "created": created.isoformat(),
            "from": letter.sender,
            "id": number,
            "importance": importance,
            "project": human_key,
            "project_slug": slug,
            "subject": letter.subject,
            "thread_id": letter.thread,
        }
        text = f"---json\n{json.dumps(front, indent=2, ensure_ascii=False, sort_keys=True)}\n---\n\n{letter.body}\n"
        file = f"{created:%Y-%m-%dT%H-%M-%SZ}__{letter.subject.lower().replace(' ', '-')}__{number}.md"
        self._file(project, letter, created, file, text)
        return number

    def _file(self, project: int, letter: Letter, created: datetime, name: str, text: str) -> None:
        folders = ["messages"]
        if self._copies:
            folders += [f"agents/{letter.sender}/outbox", *(f"agents/{one}/inbox" for one, _ in letter.kinds)]
        for folder in folders:
            place = self._place(project) / folder / created.strftime("%Y/%m")
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")

    def _attachments(self, project: int, number: int) -> tuple[dict[str, Any], ...]:
        """One within the list, one in the archive, one that has gone."""
        content = DOT + b"%d" % number
        sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()
        path = f"attachments/{sha1[:2]}/{sha1}.webp"
        place = self._place(project) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        self._made.attachments += 3
        self._made.lost_contents += 1
        return (
            {"type": "inline", "media_type": "image/webp", "data_base64": base64.b64encode(DOT).decode()},
            {"type": "file", "media_type": "image/webp", "sha1": sha1, "path": f"projects/x/{path}"},
            {"type": "file", "media_type": "image/webp", "path": "attachments/00/" + "0" * 40 + ".webp"},
        )

    def _purge(self) -> None:
        """The two newest are purged, and their numbers given out again: the second to an answer to the first."""
        newest = self._send(API, self._short(0, 1, "First life"), 10**6)
        middle = self._send(API, self._short(0, 1, "Only life"), 10**6 + 5)
        for number in (newest, middle):
            self._connection.execute("DELETE FROM messages WHERE id = ?", (number,))
            self._connection.execute("DELETE FROM message_recipients WHERE message_id = ?", (number,))
        self._next = newest
        again = self._send(API, self._short(1, 0, "Second life"), 10**6 + 9)
        self._send(API, self._short(0, 1, "Re", thread=str(again)), 10**6 + 20)
        self._made.numeric_threads += 1
        self._made.purged = 2

    def _short(self, sender: int, recipient: int, subject: str, *, thread: str | None = None) -> Letter:
        kinds = ((NAMES[recipient], "to"),)
        return Letter(sender=NAMES[sender], kinds=kinds, subject=subject, body=f"{subject}.", thread=thread)

    def _ties(self) -> None:
        agent = self._agents[API, NAMES[0]]
        leases = (
            ("src/a.py", _naive(10), _naive(20), None),
            ("src/b/**", _naive(10), _naive(20), _naive(15)),
            ("docs/**", _naive(10), f"{FAR:%Y-%m-%d %H:%M:%S}", None),
            ("docs/old.md", _naive(10), f"{FAR:%Y-%m-%d %H:%M:%S}", _naive(11)),
        )
        for number, (pattern, created, expires, released) in enumerate(leases, 1):
            self._insert(
                "file_reservations", number, API, agent, pattern, number % 2, "why", created, expires, released
            )
            self._lease_files(number, pattern, created, expires, released)
        self._made.live = 1
        pairs = ((0, 1, "approved", None), (1, 0, "blocked", _naive(5)), (2, 0, "pending", _naive(10**8)))
        for at, (one, other, status, ends_at) in enumerate(pairs, 100):
            ends = (self._agents[API, NAMES[one]], self._agents[API, NAMES[other]])
            self._insert("agent_links", at, API, ends[0], API, ends[1], status, "r", _naive(60), _naive(61), ends_at)
        self._insert("products", 1, "uid-1", "Suite", _naive(70))
        for number, project in enumerate((API, WEB), 1):
            self._insert("product_project_links", number, 1, project)

    def _lease_files(self, number: int, pattern: str, created: str, expires: str, released: str | None) -> None:
        record = {
            "id": number, "agent": NAMES[0], "path_pattern": pattern, "exclusive": bool(number % 2), "reason": "why",
            "created_ts": created, "expires_ts": expires, "released_ts": released,
        }  # fmt: skip
        folder = self._place(API) / "file_reservations"
        folder.mkdir(exist_ok=True)
        sha1 = hashlib.sha1(pattern.encode(), usedforsecurity=False).hexdigest()
        for name in (sha1, f"id-{number}"):
            (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")

    def _left_out(self) -> None:
        self._insert("window_identities", 1, API, "0f6c7e0e-0000-4000-8000-000000000000", "BlueLake")
        self._insert("message_summaries", 1, API, "release-7", "All is well")
        slots = self._place(API) / "build_slots" / "main"
        slots.mkdir(parents=True)
        (slots / "BlueLake.json").write_text("{}", encoding="utf-8")
        originals = self._place(API) / "attachments" / "originals" / "ab"
        originals.mkdir(parents=True)
        (originals / "abc.png").write_bytes(b"\x89PNG")
        threads = self._place(API) / "messages" / "threads"
        threads.mkdir()
        (threads / "release-7.md").write_text("# release-7\n", encoding="utf-8")
        (self._made.archive / ".git").mkdir()
        self._made.slots = self._made.originals = 1

    def _place(self, project: int) -> Path:
        return self._made.archive / "projects" / PROJECTS[project - 1][0]

    def _insert(self, table: str, *values: object) -> None:
        self._connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def _naive(seconds: int, micros: int = 0) -> str:
    return (START + timedelta(seconds=seconds, microseconds=micros)).strftime("%Y-%m-%d %H:%M:%S.%f")


def _aware(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()
