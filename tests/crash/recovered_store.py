"""A small store with all that recovery has to bring back, and what must be true of it whatever was killed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, UNTOUCHED_S, AttachmentFiles
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.features.recovery.backups.backup import faults_of_store, untold
from tests.crash.attached import faults_of_contents
from tests.crash.nursery import Ended, Request

NURSERY = Path(__file__).with_name("nursery.py")
APP, LIB = "/code/app", "/code/lib"
_QUERIES = (
    "SELECT m.id, a.name, m.subject, m.body_md FROM messages m JOIN agents a ON a.id = m.sender_id ORDER BY m.id",
    (
        "SELECT r.message_id, a.name, r.kind, r.held_code, r.read_ts IS NULL, r.ack_ts IS NULL"
        " FROM recipients r JOIN agents a ON a.id = r.agent_id ORDER BY 1, 2"
    ),
    "SELECT message_id, attachments FROM message_attachments ORDER BY 1",
    (
        "SELECT l.id, a.name, l.path_pattern, l.fencing, l.ended_by"
        " FROM leases l JOIN agents a ON a.id = l.agent_id ORDER BY l.id"
    ),
    "SELECT key, value FROM meta WHERE key = 'store_id'",
)

Known = tuple[Any, ...]
"""All rows that tell of mail, leases and whose store it is, as SQLite has them."""


@dataclass(frozen=True)
class Place:
    """A folder of a round: a store, backups, a saved file, and room for what commands make."""

    base: Path

    @property
    def store(self) -> Path:
        return self.base / "store"

    @property
    def backups(self) -> Path:
        return self.base / "backups"

    @property
    def backup(self) -> Path:
        """The oldest one."""
        return min(path for path in self.backups.iterdir() if not path.name.startswith("."))

    @property
    def saved(self) -> Path:
        return self.base / "saved.tar"

    @property
    def made(self) -> Path:
        """A store that a command makes beside this one."""
        return self.base / "made"

    @property
    def environment(self) -> dict[str, str]:
        return {"STORAGE_ROOT": str(self.store), "BACKUP_DIR": str(self.backups)}

    @property
    def contents(self) -> AttachmentFiles:
        return AttachmentFiles(self.store / ATTACHMENTS_FOLDER)

    def known(self, store: Path | None = None) -> Known | None:
        """None where there is no database."""
        database = (store or self.store) / "mail.sqlite3"
        if not database.exists():
            return None
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return tuple(tuple(connection.execute(query).fetchall()) for query in _QUERIES)

    def faults(self, store: Path | None = None) -> list[str]:
        """Of a store, as `am doctor verify` finds them, and of what its mail carries."""
        root = store or self.store
        if not (root / "mail.sqlite3").exists():
            return ["there is no store"]
        known = self.known(root)
        assert known is not None
        carried = {one["sha256"] for _, listed in known[2] for one in json.loads(listed)}
        assert carried
        found = faults_of_store(root, root / "mail.sqlite3", untold, shows_files=lambda _: True)
        return [*found, *faults_of_contents(root, carried)]

    def names(self) -> set[str]:
        """What lies there, less what is always there."""
        own = {path.relative_to(self.base).as_posix() for path in (*self.base.iterdir(), *self.store.iterdir())}
        return own - ALWAYS


ALWAYS = {
    *("store", "backups", "saved.tar", "store/mail.sqlite3", "store/mail.sqlite3-wal", "store/mail.sqlite3-shm"),
    *("store/projects", "store/attachments", "store/server.lock", "store/archives.lock", "store/operator.token"),
}


class Nursery:
    """Where commands are born. `with Nursery(folder) as nursery:`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._output = folder / "output"

    def __enter__(self) -> Self:
        home = {"HOME": str(self._folder), "PATH": os.environ["PATH"]}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(NURSERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._folder,
            env=home,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, place: Place, arguments: list[str], **fate: Any) -> Ended:  # of a Request
        """The command, waited for."""
        request = Request(arguments=arguments, environment=place.environment, output=str(self._output), **fate)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(request)) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))

    @property
    def said(self) -> str:
        """What the last one printed."""
        return self._output.read_text()


@dataclass(frozen=True)
class Pattern:
    """Made once, for copies. `before`: what its backup and its saved file know; `after`: what the store does."""

    place: Place
    before: Known
    after: Known
    unused: str


@contextmanager
def copied(place: Place, base: Path) -> Iterator[Place]:
    """Gone at the end."""
    shutil.copytree(place.base, base, symlinks=True)
    try:
        yield Place(base)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def make_pattern(base: Path, nursery: Nursery) -> Pattern:
    place = Place(base)
    place.store.mkdir(parents=True, mode=0o700)
    with acting(place) as act:
        _begin(act)
    before = place.known()
    assert nursery.run(place, ["doctor", "backup"]).code == 0, nursery.said
    assert nursery.run(place, ["archive", "save", str(place.saved)]).code == 0, nursery.said
    with acting(place) as act:
        _go_on(act)
    after = place.known()
    assert before is not None
    assert after is not None
    assert len(before[0]) < len(after[0])
    assert any(held for *_, held, _, _ in before[1])
    assert place.faults() == []
    return Pattern(place=place, before=before, after=after, unused=_leave_unused(place))


@contextmanager
def acting(place: Place) -> Iterator[Any]:  # a call by the tool's name
    """Calls of tools, as a command without a server makes them; at the end all is in Git."""
    settings = load_settings(place.environment, cwd=place.base).settings
    gateway = InProcessGateway(settings)
    gateway.open()
    try:
        yield lambda tool, **arguments: gateway.call(tool, arguments)
    finally:
        gateway.close()


def _begin(act: Any) -> None:
    for key, names in ((APP, ("BlueLake", "RedStone")), (LIB, ("GreenHill",))):
        act("ensure_project", human_key=key)
        for name in names:
            act("register_agent", project_key=key, program="test", model="test", name=name)
    act("set_contact_policy", project_key=LIB, agent_name="GreenHill", policy="contacts_only")
    sent = _send(act, "Plan", to=["RedStone"], attachment_paths=[_data(b"the plan")], ack_required=True)
    _send(act, "Blind", to=["RedStone"], bcc=["BlueLake"], attachment_paths=[_data(b"for few")])
    _send(act, "Held", to=[f"GreenHill@{LIB}"])
    message_id = sent["deliveries"][0]["payload"]["id"]
    act("acknowledge_message", project_key=APP, agent_name="RedStone", message_id=message_id)
    act("file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=["src/**"])


def _go_on(act: Any) -> None:
    _send(act, "More", to=["RedStone"], attachment_paths=[_data(b"more of it")])
    act("release_file_reservations", project_key=APP, agent_name="BlueLake")
    act("file_reservation_paths", project_key=APP, agent_name="RedStone", paths=["docs/*.md"])


def _send(act: Any, subject: str, **more: Any) -> Mapping[str, Any]:
    sent: Mapping[str, Any] = act(
        "send_message", project_key=APP, sender_name="BlueLake", subject=subject, body_md=f"{subject} it is", **more
    )
    return sent


def _data(content: bytes) -> str:
    return f"data:text/plain;base64,{b64encode(content).decode()}"


def _leave_unused(place: Place) -> str:
    """Contents that nobody has touched for long, some of which mail carries; one that it does not."""
    files = place.contents
    for number in range(4):
        files.keep(files.stage(iter([b"nobody carries %d" % number]), 100))
    long_ago = time.time() - 2 * UNTOUCHED_S
    for path in (place.store / ATTACHMENTS_FOLDER).glob("??/*"):
        os.utime(path, (long_ago, long_ago))
    return hashlib.sha256(b"nobody carries 0").hexdigest()
