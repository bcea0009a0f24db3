"""What each real program says of our server and our hooks: the command that asks it, and where the answer stands.

None needs an account or its vendor. What a program does not say is None, and nothing is concluded from its files.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.clients.contracts.reader import SERVER

ANSWER_WITHIN_S = 120.0

# Plain JSON.
Json = Any


class Refused(Exception):
    """The program ended with an error: it does not take what stands in its files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Our server as the program shows it."""

    url: str | None
    is_connected: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A program at somebody's home, who is in it."""

    program: Path
    home: Path
    environ: Mapping[str, str]

    def say(self, *words: str, **more: str) -> str:
        """What it prints on stdout. Raises Refused."""
        return self._run(words, more)[0]

    def say_aside(self, *words: str, **more: str) -> str:
        """What it prints on stderr. Raises Refused."""
        return self._run(words, more)[1]

    def _run(self, words: Sequence[str], more: Mapping[str, str]) -> tuple[str, str]:
        process = subprocess.Popen(
            [self.program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home,
            env={**self.environ, **more},
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=ANSWER_WITHIN_S)
        finally:
            _end(process)
        if process.returncode != 0:
            raise Refused(f"{self.program.name} {' '.join(words)} ended with {process.returncode}: {out}{err}")
        return out, err


def _end(process: subprocess.Popen[str]) -> None:
    """With whatever it has started beside."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


# --- Our server ---------------------------------------------------------------------------------------------------


def _claude(asked: Asked) -> Shown | None:
    """`agent-mail: URL (HTTP) - ✔ Connected`: it calls the server."""
    found = re.search(rf"^{SERVER}: (\S+) \(HTTP\) - (.*)$", asked.say("mcp", "list"), re.MULTILINE)
    return Shown(url=found[1], is_connected=found[2].endswith(" Connected")) if found else None


def _codex(asked: Asked) -> Shown | None:
    """The list is of the file alone; the app-server connects, and says which tools it was given."""
    rows = {row["name"]: row for row in json.loads(asked.say("mcp", "list", "--json"))}
    if SERVER not in rows:
        return None
    status = {row["name"]: row for row in _ask_codex(asked, "mcpServerStatus/list", {})["data"]}
    return Shown(url=rows[SERVER]["transport"]["url"], is_connected="send_message" in status[SERVER]["tools"])


def _gemini(asked: Asked) -> Shown | None:
    """`✓ agent-mail: URL (http) - Connected`, on stderr: in a folder that is trusted, else it calls nobody."""
    said = asked.say_aside("mcp", "list", GEMINI_CLI_TRUST_WORKSPACE="true")
    assert "MCP servers" in said, f"not a list: {said}"
    found = re.search(rf"^\S+ {SERVER}: (\S+) \(http\) - (.*)$", said, re.MULTILINE)
    return Shown(url=found[1], is_connected=found[2] == "Connected") if found else None


def _opencode(asked: Asked) -> Shown | None:
    """`✓ agent-mail connected`, and the URL on the next line."""
    said = re.sub(r"\x1b\[[0-9;]*m", "", asked.say("mcp", "list"))
    found = re.search(rf"^\S+ +\S+ {SERVER} (\w+)\s*\n(?:[^\n]*\n)*?\S* +(http\S+)\s*$", said, re.MULTILINE)
    return Shown(url=found[2], is_connected=found[1] == "connected") if found else None


def _copilot(asked: Asked) -> Shown | None:
    """The file alone, as it reads it."""
    row = json.loads(asked.say("mcp", "list", "--json"))["mcpServers"].get(SERVER)
    return Shown(url=row["url"] if row["enabled"] else None, is_connected=None) if row else None


def _cline(asked: Asked) -> Shown | None:
    """Which transport it takes for ours, and that it is on; no URL."""
    rows = {row["name"]: row for row in json.loads(asked.say("config", "mcp", "--json"))}
    row = rows.get(SERVER)
    if row is None:
        return None
    assert (row["transportType"], row["disabled"]) == ("streamableHttp", False)
    return Shown(url=None, is_connected=None)


def _droid(asked: Asked) -> Shown | None:
    """`agent-mail  http  connected  [user]`: it calls the server; no URL."""
    found = re.search(rf"^ +{SERVER} +http +(.*?) +\[user\]", asked.say("mcp", "list"), re.MULTILINE)
    return Shown(url=None, is_connected=found[1] == "connected") if found else None


def _amp(asked: Asked) -> Shown | None:
    """The file alone, as it reads it."""
    rows = {row["name"]: row for row in json.loads(asked.say("mcp", "list", "--json"))}
    return Shown(url=rows[SERVER]["spec"]["url"], is_connected=None) if SERVER in rows else None


LOOKS: Mapping[str, Callable[[Asked], Shown | None]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "copilot": _copilot,
    "cline": _cline,
    "droid": _droid,
    "amp": _amp,
}
SAYS_NO_URL = {"cline", "droid"}
SAYS_CONNECTED = {"claude", "codex", "gemini", "opencode", "droid"}


# --- Our hooks ----------------------------------------------------------------------------------------------------


def _codex_hooks(asked: Asked) -> set[str]:
    """Codex's own list, by event as it stands in the file; what it could not read would be an error there."""
    (entry,) = _ask_codex(asked, "hooks/list", {"cwds": [str(asked.home)]})["data"]
    assert (entry["errors"], entry["warnings"]) == ([], [])
    ours = [hook for hook in entry["hooks"] if " hook codex " in hook["command"] and hook["enabled"]]
    return {f"{hook['eventName'][0].upper()}{hook['eventName'][1:]}" for hook in ours}


def _opencode_hooks(asked: Asked) -> set[str]:
    """The plugins of its resolved configuration."""
    plugins = json.loads(asked.say("debug", "config")).get("plugin", [])
    return {Path(plugin).name for plugin in plugins}


def _cline_hooks(asked: Asked) -> set[str]:
    return {row["fileName"] for row in json.loads(asked.say("config", "hooks", "--json"))}


HOOK_LOOKS: Mapping[str, Callable[[Asked], set[str]]] = {
    "codex": _codex_hooks,
    "opencode": _opencode_hooks,
    "cline": _cline_hooks,
}
"""The clients that say which hooks they have read; the others tell only in a session with a model."""


def _ask_codex(asked: Asked, method: str, params: Json) -> Json:
    """The result of one call to `codex app-server`."""
    hello = {"clientInfo": {"name": "tests", "title": "tests", "version": "1"}}
    messages = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "initialized"},
        {"id": 1, "method": method, "params": params},
    ]
    process = subprocess.Popen(
        [asked.program, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=asked.home,
        env=asked.environ,
        start_new_session=True,
    )
    patience = threading.Timer(ANSWER_WITHIN_S, process.kill)
    patience.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 1:
                return answer["result"]
    finally:
        patience.cancel()
        _end(process)
    raise Refused(f"codex app-server did not answer {method}")
