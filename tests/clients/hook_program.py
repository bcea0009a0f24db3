"""`am hook` as a client runs it: a process of its own, with a home of the test's."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.clients.contracts.reader import read_contract
from mcp_agent_mail.clients.hook.payload import HookPayload
from mcp_agent_mail.clients.hook.run import HookRun, Reply
from mcp_agent_mail.clients.hook.session_file import state_folder
from mcp_agent_mail.core.running_server import Deadline
from tests.clients.payloads import payload

WITHIN_S = 60.0
PATIENT_S = 20.0
_PATIENT = f"""
import sys
from mcp_agent_mail.clients.hook import entry
from mcp_agent_mail.core import running_server
running_server.PATIENCE_S, entry.ALARM_S, sys.argv[0] = {PATIENT_S}, 2 * {PATIENT_S}, "am"
from mcp_agent_mail.__main__ import main
main()
"""
_KEPT = ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_CONFIG")


@dataclass
class HookHome:
    """`root` is a temporary folder: the home, and a project in `code` that is a Git repository as far as one looks."""

    root: Path
    settings: dict[str, str] = field(default_factory=dict)
    is_patient: bool = True
    """Does it wait for its server as long as a busy machine takes? Tests of how long it waits say no."""

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        for folder in ("objects", "refs"):
            (self.code / ".git" / folder).mkdir(parents=True, exist_ok=True)
        (self.code / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    @property
    def code(self) -> Path:
        return self.root / "code"

    @property
    def states(self) -> Path:
        return Path(state_folder(self.environment()))

    def state(self, name: str = "claude-s-1") -> dict[str, Any]:
        """What the file of a session holds."""
        state: dict[str, Any] = json.loads((self.states / f"{name}.json").read_text())
        return state

    def change_state(self, **values: Any) -> None:
        (self.states / "claude-s-1.json").write_text(json.dumps({**self.state(), **values}))

    def environment(self, **settings: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {**kept, "HOME": str(self.root / "home"), "TZ": "UTC", **self.settings, **settings}

    def payload(self, client: str, event: str, **more: Any) -> dict[str, Any]:
        return payload(client, event, str(self.code), **more)

    def command(self, client: str, event: str) -> list[str]:
        if not self.is_patient:
            return [sys.executable, "-m", "mcp_agent_mail", "hook", client, event]
        return [sys.executable, "-c", _PATIENT, "hook", client, event]

    def run(
        self, client: str, event: str, value: Any = None, *, stdin: bytes | None = None, **settings: str
    ) -> subprocess.CompletedProcess[bytes]:
        """`stdin` is what the client writes, else `value`, else a payload of that event."""
        told = value if value is not None else self.payload(client, event)
        return subprocess.run(
            self.command(client, event),
            cwd=self.code,
            env=self.environment(**settings),
            input=stdin if stdin is not None else json.dumps(told).encode(),
            capture_output=True,
            check=False,
            timeout=WITHIN_S,
        )

    def reply(self, client: str, event: str, value: Any = None, **settings: str) -> Reply:
        """The same within this process, up to what is printed."""
        contract = read_contract(client)
        told = value if value is not None else self.payload(client, event)
        environ, patience = self.environment(**settings), Deadline(PATIENT_S if self.is_patient else None)
        # The guard goes to the folder that it judges, which is for the rest of its own process.
        with contextlib.chdir(Path.cwd()):
            return HookRun(contract, event, HookPayload(contract, told), environ, patience).reply()

    def play(self, client: str, event: str, value: Any = None, *, is_flushed: bool = True, **settings: str) -> str:
        """What is printed, and what is done after that."""
        reply = self.reply(client, event, value, **settings)
        reply.after(is_flushed=is_flushed)
        return reply.printed.stdout


def registered(name: str = "GreenHill") -> dict[str, Any]:
    """The answer of `register_agent`."""
    return {"id": 3, "name": name, "program": "claude-code", "model": "m", "task_description": ""}


def as_blocks(result: dict[str, Any]) -> list[dict[str, str]]:
    """What a client makes of a tool's answer."""
    return [{"type": "text", "text": json.dumps(result)}]
