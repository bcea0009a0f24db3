"""Contents of attachments, kept by many at once: what the recorded process does, and what must be left of it."""

from __future__ import annotations

import hashlib
import random
import threading
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from tests.power.log import Log

THREADS = 6
CONTENTS = 20
MAX_BYTES = 40_000


def live(root: Path, log: Log, seed: int) -> None:
    """Every second content is kept by all threads, at about the same time; an answer says that one is on disk."""
    files = AttachmentFiles(root / ATTACHMENTS_FOLDER)
    threads = [threading.Thread(target=_keep_some, args=(files, log, seed, number)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _keep_some(files: AttachmentFiles, log: Log, seed: int, thread: int) -> None:
    for number in range(CONTENTS):
        whose = 0 if number % 2 else thread
        chance = random.Random(f"{seed} {whose} {number}")
        stored = files.keep(files.stage([chance.randbytes(chance.randint(0, MAX_BYTES))], MAX_BYTES))
        log.answered({"sha256": stored.sha256})


def faults_of_contents(root: Path, answered: set[str]) -> list[str]:
    """What was answered is there; what has its name in place is whole, answered or not; leftovers go."""
    files = AttachmentFiles(root / ATTACHMENTS_FOLDER)
    files.remove_leftovers()
    there = {kept.sha256 for kept in files.each()}
    faults = [f"{sha256} was answered and is gone" for sha256 in sorted(answered - there)]
    for sha256 in sorted(there):
        with files.open(sha256) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                faults.append(f"{sha256} holds something else")
    return faults
