"""After a restart: is everything that was acknowledged still there, once, and in Git?

Looks at SQLite, the inboxes as the server gives them, and the archives with plain Git. Gives the
faults as text instead of asserting, so that a test can also demand that there are some.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from tests.crash.attached import faults_of_contents
from tests.crash.clients import LOOKS
from tests.crash.evidence import Evidence
from tests.crash.mail_steps import OF_CLIENTS
from tests.crash.record import Record, Sent
from tests.served import Connection, Served, git, pause

PAGE = 500
IDLE_WITHIN_S = 15.0
_MAIL_FILE = re.compile(r"__(\d+)\.md$")


Verify = Callable[[Served], list[str]]


def am_verify(server: Served) -> list[str]:
    done = server.am("doctor", "verify")
    return [] if done.returncode == 0 else [f"am doctor verify gives {done.returncode}: {done.stdout}{done.stderr}"]


def verify_here(server: Served) -> list[str]:
    """The same without a process of its own, which costs more than everything else here."""
    report = verify_archives(server.root, server.database, progress=lambda _done, _total: None)
    found = (*verify_store(server.database), *report.findings)
    return [f"verify: {one.check}: {one.problem}: {one.path}" for one in found]


def faults_after(
    server: Served, record: Record, *, idle_within_s: float = IDLE_WITHIN_S, verify: Verify = am_verify
) -> list[str]:
    """Every way in which the running, drained server differs from the record."""
    with server.connect() as connection:
        evidence = Evidence(server, connection, record)
        return [
            *record.unexpected,
            *_store_faults(evidence),
            *_inbox_faults(connection, record),
            *_receipt_faults(evidence),
            *_archive_faults(evidence, idle_within_s),
            *_content_faults(server, evidence),
            *(fault for look in LOOKS for fault in look.faults(evidence)),
            *verify(server),
        ]


def _store_faults(evidence: Evidence) -> list[str]:
    sent_mail = evidence.record.sent
    rows = {row[0]: row[1:] for row in evidence.rows("SELECT id, subject, body_md FROM messages WHERE NOT is_system")}
    times = Counter(body for _, body in rows.values() if body.startswith(OF_CLIENTS))
    ((check,),) = evidence.rows("PRAGMA integrity_check")
    broken_keys = evidence.rows("PRAGMA foreign_key_check")
    faults = [f"message {sent.message_id} is not in SQLite" for sent in sent_mail if sent.message_id not in rows]
    faults += [
        f"message {sent.message_id} differs in SQLite"
        for sent in sent_mail
        if sent.message_id in rows and rows[sent.message_id] != (sent.subject, sent.body)
    ]
    faults += [f"sent once, stored {n} times: {body[:40]}" for body, n in times.items() if n > 1]
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


def _receipt_faults(evidence: Evidence) -> list[str]:
    query = (
        "SELECT p.human_key, a.name, r.message_id, r.read_ts, r.ack_ts FROM recipients r "
        "JOIN agents a ON a.id = r.agent_id JOIN projects p ON p.id = a.project_id"
    )
    stored = {(key, name, message_id): (read, ack) for key, name, message_id, read, ack in evidence.rows(query)}
    nothing = (None, None)
    record = evidence.record
    faults = [f"the reading of {key} is lost" for key in record.read if stored.get(key, nothing)[0] is None]
    return faults + [
        f"the acknowledgement of {key} is lost" for key in record.acknowledged if stored.get(key, nothing)[1] is None
    ]


def _archive_faults(evidence: Evidence, idle_within_s: float) -> list[str]:
    """Canonical copy, outbox copy and one inbox copy per recipient, each once, and a clean repository."""
    faults: list[str] = []
    for project, repository in evidence.archives.items():
        if not repository.exists():
            faults.append(f"{project} is not in Git")
            continue
        folders = Counter(_folder_and_id(path) for path in evidence.files(project) if _MAIL_FILE.search(path))
        faults += [f"{place} is {n} times in Git" for place, n in folders.items() if n > 1]
        for sent in evidence.record.sent:
            if sent.project == project:
                faults += [f"{place} is not in Git" for place in _places(sent) if place not in folders]
        if status := _once_idle(idle_within_s, partial(_status, repository)):
            faults.append(f"{repository.name}: git status is not clean: {status[:300]}")
        if damage := _once_idle(idle_within_s, partial(_damage, repository)):
            faults.append(f"{repository.name}: git fsck: {damage[:300]}")
    return faults


def _content_faults(server: Served, evidence: Evidence) -> list[str]:
    """What mail carries, beside the database and in the archive of its project."""
    sent_mail = evidence.record.sent
    faults = faults_of_contents(server.root, {sha256 for sent in sent_mail for sha256 in sent.carried})
    for project in evidence.archives:
        there = {Path(path).stem for path in evidence.files(project) if path.startswith("attachments/")}
        wanted = {sha256 for sent in sent_mail if sent.project == project for sha256 in sent.carried}
        faults += [f"content {sha256} is not in the archive of {project}" for sha256 in sorted(wanted - there)]
    return faults


def _once_idle(within_s: float, look: Callable[[], str]) -> str:
    """What is wrong, as soon as nothing is: the archiver refreshes the index and joins packs once it is idle."""
    deadline = time.monotonic() + within_s
    while (wrong := look()) and time.monotonic() < deadline:
        pause()
    return wrong


def _status(repository: Path) -> str:
    """Without the lock that `git status` would take to note what it has learnt: the archiver needs it just now."""
    return git(repository, "--no-optional-locks", "status", "--porcelain")


def _damage(repository: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), "fsck", "--strict"], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr if done.returncode else ""


def _places(sent: Sent) -> list[tuple[str, int]]:
    folders = ["messages", f"agents/{sent.sender}/outbox", *(f"agents/{name}/inbox" for name in sent.recipients)]
    return [(folder, sent.message_id) for folder in folders]


def _folder_and_id(path: str) -> tuple[str, int]:
    """`agents/BlueLake/inbox/2026/11/0/…__7.md` is ("agents/BlueLake/inbox", 7)."""
    found = _MAIL_FILE.search(path)
    assert found is not None
    parts = path.split("/")
    return "/".join(parts[:3] if parts[0] == "agents" else parts[:1]), int(found[1])
