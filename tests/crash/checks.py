"""After a restart: is everything that was acknowledged still there, once, and in Git?

Looks at SQLite, the inboxes as the server gives them, and the archives with plain Git. Gives the
faults as text instead of asserting, so that a test can also demand that there are some.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.crash.record import Record, Sent
from tests.served import Connection, Served, git, pause

PAGE = 500
IDLE_WITHIN_S = 15.0
_MAIL_FILE = re.compile(r"__(\d+)\.md$")


def faults_after(server: Served, record: Record, *, idle_within_s: float = IDLE_WITHIN_S) -> list[str]:
    """Every way in which the running, drained server differs from the record."""
    with server.connect() as connection:
        return [
            *record.unexpected,
            *_store_faults(server.database, record),
            *_inbox_faults(connection, record),
            *_receipt_faults(server.database, record),
            *_archive_faults(server, record, idle_within_s),
            *_verify_faults(server),
        ]


def _store_faults(database: Path, record: Record) -> list[str]:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as db:
        rows = {row[0]: row[1:] for row in db.execute("SELECT id, subject, body_md FROM messages")}
        agents = {row[0] for row in db.execute("SELECT id FROM agents")}
        (check,) = db.execute("PRAGMA integrity_check").fetchone()
        broken_keys = db.execute("PRAGMA foreign_key_check").fetchall()
    faults = [f"message {sent.message_id} is not in SQLite" for sent in record.sent if sent.message_id not in rows]
    faults += [
        f"message {sent.message_id} differs in SQLite"
        for sent in record.sent
        if sent.message_id in rows and rows[sent.message_id] != (sent.subject, sent.body)
    ]
    faults += [f"agent {name} is lost" for (_, name), agent_id in record.agents.items() if agent_id not in agents]
    if check != "ok" or broken_keys:
        faults.append(f"SQLite: {check}, {len(broken_keys)} broken foreign keys")
    return faults


def _whole_inbox(connection: Connection, project: str, agent: str) -> list[int]:
    """All ids of an inbox by paging with the delivery cursor, oldest first."""
    ids: list[int] = []
    page = connection.call("fetch_inbox", project_key=project, agent_name=agent, limit=PAGE, since_ts="2000-01-01")
    if len(page) < PAGE:
        return [item["id"] for item in reversed(page)]
    after = 0
    while page:
        page = connection.call("fetch_inbox", project_key=project, agent_name=agent, limit=PAGE, after_id=after)
        ids += [item["id"] for item in page]
        after = ids[-1] if page else after
    return ids


def _inbox_faults(connection: Connection, record: Record) -> list[str]:
    expected: dict[tuple[str, str], set[int]] = {}
    for sent in record.sent:
        for name in sent.recipients:
            expected.setdefault((sent.project, name), set()).add(sent.message_id)
    faults = []
    for (project, name), ids in expected.items():
        held = Counter(_whole_inbox(connection, project, name))
        faults += [f"message {lost} is not in the inbox of {name}" for lost in sorted(ids - set(held))]
        faults += [f"message {twice} is {n} times in the inbox of {name}" for twice, n in held.items() if n > 1]
    return faults


def _receipt_faults(database: Path, record: Record) -> list[str]:
    query = (
        "SELECT p.human_key, a.name, r.message_id, r.read_ts, r.ack_ts FROM recipients r "
        "JOIN agents a ON a.id = r.agent_id JOIN projects p ON p.id = a.project_id"
    )
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as db:
        stored = {(key, name, message_id): (read, ack) for key, name, message_id, read, ack in db.execute(query)}
    faults = [f"the reading of {key} is lost" for key in record.read if stored[key][0] is None]
    return faults + [f"the acknowledgement of {key} is lost" for key in record.acknowledged if stored[key][1] is None]


def _archive_faults(server: Served, record: Record, idle_within_s: float) -> list[str]:
    """Canonical copy, outbox copy and one inbox copy per recipient, each once, and a clean repository."""
    with server.connect() as connection:
        slugs = {
            project: connection.call("ensure_project", human_key=project)["slug"]
            for project in {sent.project for sent in record.sent}
        }
    faults: list[str] = []
    for project, slug in slugs.items():
        repository = server.root / "projects" / slug
        git(repository, "fsck", "--strict")
        files = git(repository, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
        folders = Counter(_folder_and_id(path) for path in files if _MAIL_FILE.search(path))
        faults += [f"{place} is {n} times in Git" for place, n in folders.items() if n > 1]
        for sent in record.sent:
            if sent.project == project:
                faults += [f"{place} is not in Git" for place in _places(sent) if place not in folders]
        if status := _status_once_idle(repository, idle_within_s):
            faults.append(f"{repository.name}: git status is not clean: {status[:300]}")
    return faults


def _status_once_idle(repository: Path, within_s: float) -> str:
    """`git status` as soon as it is clean, for the index is refreshed when the archiver has been idle for a while."""
    deadline = time.monotonic() + within_s
    while (status := git(repository, "status", "--porcelain")) and time.monotonic() < deadline:
        pause()
    return status


def _places(sent: Sent) -> list[tuple[str, int]]:
    folders = ["messages", f"agents/{sent.sender}/outbox", *(f"agents/{name}/inbox" for name in sent.recipients)]
    return [(folder, sent.message_id) for folder in folders]


def _folder_and_id(path: str) -> tuple[str, int]:
    """`agents/BlueLake/inbox/2026/11/0/…__7.md` is ("agents/BlueLake/inbox", 7)."""
    found = _MAIL_FILE.search(path)
    assert found is not None
    parts = path.split("/")
    return "/".join(parts[:3] if parts[0] == "agents" else parts[:1]), int(found[1])


def _verify_faults(server: Served) -> list[str]:
    done = server.am("doctor", "verify")
    return [] if done.returncode == 0 else [f"am doctor verify gives {done.returncode}: {done.stdout}{done.stderr}"]
