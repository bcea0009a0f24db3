"""What a restart costs where many archives were left unfinished: `python -m benchmarks.restart`.

A store of many projects, each with an archive (copies of one that the product has written), some of them as an
unclean stop leaves them. A server is started on it, told of one mail as soon as it answers, and stopped once that
is in Git: seconds to the first commit, seconds of the stop, what is unfinished then, and the memory of the archiver.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.processes import Server, pss_mib
from benchmarks.report import publish
from benchmarks.stand import Stand, require_archiver
from benchmarks.wire import Refused, Rpc
from mcp_agent_mail.archive.recovery import is_unfinished
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.store.engine.sqlite.connection import open_reading, open_writing
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.transaction import Tx

TEMPLATE = "/restart/template"
NAMES = ("BlueLake", "RedStone")
FIRST_WITHIN_S = 120.0
_POLL_S = 0.02


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restart", description=__doc__)
    parser.add_argument("--projects", type=int, default=5_000)
    parser.add_argument("--unfinished", type=int, default=800, help="so many archives are as an unclean stop left them")
    parser.add_argument("--watch", type=float, default=0.0, help="seconds between the first commit and the stop")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/restart.json"), help="where it goes")
    return parser.parse_args(argv)


def call(server: Server, tool: str, **arguments: object) -> dict[str, Any]:
    """What the tool answers. Raises Refused for anything but a success."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=FIRST_WITHIN_S)
    with closing(connection):
        connection.request("POST", f"/rpc/{tool}", json.dumps(arguments), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
    if answer.status != http.client.OK:
        raise Refused(f"{tool}: {answer.status} {body[:400]!r}")
    given: dict[str, Any] = json.loads(body)
    return given


def pending(root: Path) -> int:
    with closing(open_reading(root / "mail.sqlite3")) as connection:
        return Outbox(connection).backlog(system_clock()).pending_events


def until_drained(root: Path, within_s: float = FIRST_WITHIN_S) -> float:
    began = time.perf_counter()
    while pending(root):
        if time.perf_counter() - began > within_s:
            raise Refused(f"{pending(root)} events are pending after {within_s} s")
        time.sleep(_POLL_S)
    return time.perf_counter() - began


def make_template(stand: Stand) -> Path:
    """One archive as the product writes it, whole."""
    root = stand.scratch / "store"
    server = stand.ours(root, Rpc())
    try:
        call(server, "ensure_project", human_key=TEMPLATE)
        for name in NAMES:
            call(server, "register_agent", project_key=TEMPLATE, name=name, program="bench", model="none")
        send(server, TEMPLATE)
        until_drained(root)
    finally:
        stand.stop(server)
    (archive,) = [path for path in (root / PROJECTS_FOLDER).iterdir() if path.is_dir()]
    return archive


def send(server: Server, project: str) -> None:
    call(server, "send_message", project_key=project, sender_name=NAMES[0], to=[NAMES[1]], subject="Hi", body_md="x")


def fill(root: Path, template: Path, projects: int, unfinished: int) -> None:
    """Copies share their files, which nothing changes in place; the newest ones are the unfinished ones."""
    tip = (template / ".git/refs/heads/main").read_text().strip()
    with closing(open_writing(root / "mail.sqlite3")) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN")
        tx = Tx(connection, system_clock)
        last = tx.outbox.highest_seq()
        for number in range(projects):
            slug, now = f"restart-{number}", system_clock()
            project = tx.projects.add(slug=slug, human_key=f"/restart/{number}", plain_slug=slug, now=now)
            kinds = {"Human": AgentKind.HUMAN, "System": AgentKind.SYSTEM}
            for name in ("Human", "System", *NAMES):
                new = NewAgent(
                    project_id=project.id,
                    kind=kinds.get(name, AgentKind.AGENT),
                    name=name,
                    program="bench",
                    model="none",
                    task_description="",
                    attachments_policy=AttachmentsPolicy.AUTO,
                    token_hash=None,
                )
                tx.agents.add(new, now)
            tx.outbox.mark(
                ArchiveCommit(project_id=project.id, hexsha=tip, summary="copied", authored_ts=now, last_seq=last)
            )
            archive = root / PROJECTS_FOLDER / slug
            shutil.copytree(template, archive, copy_function=os.link)
            if number >= projects - unfinished:
                (archive / ".git/agent-mail/open").write_text(tip)
        connection.execute("COMMIT")


def measure(stand: Stand, project: str, watch_s: float) -> dict[str, float]:
    """Start, send, wait for Git, stop; the first commit counts from the first answer."""
    root = stand.scratch / "store"
    server = stand.ours(root, Rpc())
    began = time.perf_counter()
    try:
        send(server, project)
        until_drained(root)
        first_s = time.perf_counter() - began
        archiver = require_archiver(server)
        sizes = [pss_mib(server.process.pid).get(archiver, 0.0)]
        while time.perf_counter() - began < first_s + watch_s:
            time.sleep(0.5)
            sizes.append(pss_mib(server.process.pid).get(archiver, 0.0))
    finally:
        stop_began = time.perf_counter()
        stand.stop(server)
    return {
        "answers_s": round(server.first_answer_s, 2),
        "first_commit_s": round(first_s, 2),
        "stop_s": round(time.perf_counter() - stop_began, 2),
        "archiver_mib": round(max(sizes), 1),
        "left_unfinished": sum(is_unfinished(path) for path in (root / PROJECTS_FOLDER).iterdir() if path.is_dir()),
        "pending": pending(root),
    }


def main() -> int:
    chosen = parse(sys.argv[1:])
    with (
        tempfile.TemporaryDirectory(prefix="agent-mail-restart-", dir=chosen.scratch) as scratch,
        Stand(Path(scratch), is_bound=False) as stand,
    ):
        template = make_template(stand)
        fill(stand.scratch / "store", template, chosen.projects, chosen.unfinished)
        print(f"{chosen.projects} projects, {chosen.unfinished} of them unfinished")
        with stand.beside("to a whole archive, stopped at once"):
            whole = measure(stand, "/restart/0", 0.0)
        with stand.beside("to an unfinished one"):
            unfinished = measure(stand, f"/restart/{chosen.projects - 1}", chosen.watch)
    print(f"to a whole archive, stopped at once: {whole}\nto an unfinished one: {unfinished}")
    return publish([], stand.seen, chosen.json, whole=whole, unfinished=unfinished)


if __name__ == "__main__":
    sys.exit(main())
