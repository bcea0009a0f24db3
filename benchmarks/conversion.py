"""What it takes to bring an archive to a new version of the format: `python -m benchmarks.conversion STORE`.

STORE was made by a program of the version before, say by its own `python -m benchmarks.care --scratch STORE`. A server
is started on it; while it converts the archives mail goes on, one message a second. Told are the seconds until the last
archive is converted and its files are in place, how late the mail was in Git meanwhile, the archiver's memory,
what `am doctor verify` finds, also in the middle, and what of the history is still there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.care import peak_of, verify
from benchmarks.processes import Server, start_ours
from benchmarks.restart import call, until_drained
from benchmarks.stand import require_archiver
from benchmarks.wire import Rpc
from mcp_agent_mail.archive.known_version import is_outdated
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER

MAIL_EVERY_S = 1.0
WITHIN_S = 1_800.0
SENDER = "BlueLake"


def git(archive: Path, *arguments: str) -> str:
    command = ["git", "-C", str(archive), "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def archives(root: Path) -> list[Path]:
    return [path for path in sorted((root / PROJECTS_FOLDER).iterdir()) if (path / ".git").is_dir()]


def convert(root: Path, project: str) -> dict[str, Any]:
    """Start a server on the store, and look on until every archive is of this version."""
    server = start_ours(root, set(os.sched_getaffinity(0)), Rpc())
    began = time.perf_counter()
    try:
        archiver = require_archiver(server)
        call(server, "register_agent", project_key=project, program="bench", model="none", name=SENDER)
        lags = [_send(server, root, project, number) for number in _until_converted(server, len(archives(root)), began)]
        seconds = time.perf_counter() - began
        _until_on_disk(root, began)
        return {
            "seconds": round(seconds, 1),
            "seconds_until_on_disk": round(time.perf_counter() - began, 1),
            "mail_meanwhile": len(lags),
            "in_git_after_s_at_most": round(max(lags, default=0.0), 2),
            "archiver_peak_mib": peak_of(archiver),
        }
    finally:
        server.stop()


def _until_converted(server: Server, count: int, began: float) -> Iterator[int]:
    number = 0
    while call(server, "health_check")["archive"]["converted"] < count:
        _require_time(began)
        number += 1
        yield number
        time.sleep(MAIL_EVERY_S)


def _until_on_disk(root: Path, began: float) -> None:
    """The index is refreshed once the archive has been quiet for two seconds, and with it all is on disk."""
    while any(is_outdated(path) for path in archives(root)):
        _require_time(began)
        time.sleep(MAIL_EVERY_S)


def _require_time(began: float) -> None:
    if time.perf_counter() - began > WITHIN_S:
        raise SystemExit(f"not converted within {WITHIN_S:.0f} s")


def _send(server: Server, root: Path, project: str, number: int) -> float:
    subject = f"Meanwhile {number}"
    call(
        server, "send_message", project_key=project, sender_name=SENDER, to=[SENDER], subject=subject, body_md="Go on."
    )
    return until_drained(root)


def history(archive: Path) -> dict[str, object]:
    """What of the commits and of a file's history is there."""
    oldest = git(archive, "ls-tree", "-r", "--name-only", "main", "--", "messages/").splitlines()[0]
    return {
        "commits": int(git(archive, "rev-list", "--count", "main")),
        "conversions": len(git(archive, "log", "--grep=^Archive-Format: ", "--format=%h", "main").split()),
        "file": oldest,
        "its_commits": git(archive, "log", "--follow", "--format=%h %s", "main", "--", oldest).splitlines(),
        "status": len(git(archive, "status", "--porcelain").splitlines()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conversion", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--project", default="/care-bench", help="the project that mail is sent in meanwhile")
    asked = parser.parse_args()
    before = {path.name: int(git(path, "rev-list", "--count", "main")) for path in archives(asked.store)}
    figures = {
        "commits_before": before,
        **convert(asked.store, asked.project),
        "verify": verify(asked.store),
        "history": {path.name: history(path) for path in archives(asked.store)},
    }
    print(json.dumps(figures, indent=2))
    return 0 if figures["verify"]["clean"] else 1


if __name__ == "__main__":
    sys.exit(main())
