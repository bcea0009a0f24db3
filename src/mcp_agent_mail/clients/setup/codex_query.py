"""Whether Codex's user trusts our hooks: `codex app-server` says it of each hook that it reads."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping

from mcp_agent_mail.clients.setup.wishes import Json, is_ours

WITHIN_S = 10.0
_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_TRUSTED = "trusted"


def read_trust(environ: Mapping[str, str]) -> dict[str, str] | None:
    """By event as we install it, what Codex says of our hook among the user's (trusted, untrusted, modified); None
    where nobody can be asked, or says nothing that we know.

    It is asked in an empty folder, and of that: where we stand, a repository's configuration could be read, and obeyed.
    """
    program = shutil.which("codex", path=environ.get("PATH", ""))
    if program is None:
        return None
    found: dict[str, str] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="am-setup-") as nowhere:
            told = _ask(program, environ, nowhere)["data"]
        for hook in [hook for entry in told for hook in entry["hooks"]]:
            # It says `preToolUse` of what stands in its files as `PreToolUse`.
            event = str(hook["eventName"])[:1].upper() + str(hook["eventName"])[1:]
            if is_ours(hook, f"hook codex {event}"):
                found[event] = str(hook["trustStatus"])
    except (OSError, subprocess.SubprocessError, LookupError, TypeError, ValueError, RecursionError):
        return None
    return found


def in_words(trust: Mapping[str, str] | None) -> str:
    """What `--status` says of it."""
    if not trust:
        return "untrusted until you say otherwise in /hooks; Codex itself could not be asked"
    waiting = sorted(event for event, status in trust.items() if status != _TRUSTED)
    if not waiting:
        return "trusted"
    return f"untrusted: {', '.join(waiting)}. Codex skips them in silence until you trust them: run /hooks there"


def _ask(program: str, environ: Mapping[str, str], folder: str) -> Json:
    """The result of `hooks/list`."""
    hello = {"clientInfo": {"name": "am_setup", "title": "am setup", "version": "1"}}
    messages = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "initialized"},
        {"id": 1, "method": "hooks/list", "params": {"cwds": [folder]}},
    ]
    with subprocess.Popen(
        [program, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environ),
        cwd=folder,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
            process.stdin.flush()
            for line in _lines(process.stdout.fileno()):
                answer = json.loads(line)
                if not isinstance(answer, dict):
                    raise TypeError("what it says is no message")
                if answer.get("id") == 1:
                    return answer["result"]
        finally:
            process.kill()
    raise ValueError("it ended without an answer")


def _lines(source: int) -> Iterator[bytes]:
    """What comes within WITHIN_S seconds, line by line. Raises TimeoutError."""
    ends_at = time.monotonic() + WITHIN_S
    received = b""
    while len(received) <= _MAX_ANSWER_BYTES:
        ready, _, _ = select.select([source], [], [], max(0.0, ends_at - time.monotonic()))
        if not ready:
            raise TimeoutError("it did not answer in time")
        piece = os.read(source, 65_536)
        if not piece:
            return
        *lines, received = (received + piece).split(b"\n")
        yield from lines
