"""Writes what every client reads in every case: `python -m tests.clients.golden_outputs`. A test compares.

A case is played for each event of each contract, also where it can say nothing there: the file shows that it does not.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook.output import HookOutput, neutral
from mcp_agent_mail.clients.hook.payload import HookPayload
from mcp_agent_mail.clients.hook.run import HookRun
from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.running_server import Deadline
from tests.clients.hook_server import NOTHING, HookAnswers, given, hook_server, message
from tests.clients.payloads import FOREIGN, payload, subagents

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "clients"
AGENT = "BlueLake"
PATIENT_S = 30.0
"""So that a busy machine changes nothing of what is said."""
_FAR = iso(Micros(4_102_444_800 * SECOND))
_LEFT = re.compile(r"\(in [0-9]+ days\)")

REPRIME = {
    "agent": AGENT,
    "project": "/code/app",
    "peers": ["RedStone", "GreenHill"],
    "peers_more": 0,
    "leases": [{"path_pattern": "src/**", "expires_ts": _FAR}],
    "leases_more": 0,
    "unread": 2,
    "to_acknowledge": [{"id": 7, "from": "RedStone", "subject": "Please confirm"}],
    "to_acknowledge_more": 0,
}
STOP = {
    "id": 9,
    "from": "Human",
    "verified": True,
    "subject": "Stop",
    "text": "Stop at once.\nThe branch is wrong.",
}
HELD = {
    "id": 3,
    "agent": "RedStone",
    "path_pattern": "src/**",
    "exclusive": True,
    "reason": "refactoring",
    "expires_ts": _FAR,
}

CASES = (
    *("nothing", "mail", "count", "reprime", "stop", "held", "held_warn"),
    *("subagent", "foreign", "no_session", "no_server"),
)
_NAMES = ("session_id", "conversation_id", "sessionId", "trajectory_id", "taskId", "session")


def play(client: str, event: str, case: str, root: Path, answers: HookAnswers) -> HookOutput:
    """What the client reads."""
    contract = read_contract(client)
    code = root / "code"
    value = subagents(client, event, str(code)) if case == "subagent" else payload(client, event, str(code))
    if case == "foreign":
        value |= FOREIGN[client]
    if case == "no_session":
        value = {key: one for key, one in value.items() if key not in _NAMES}
    answers.only_asked = True
    answers.event, answers.check = _answers(case)
    environ = {
        "HOME": str(root / "home" / f"{client}-{event}-{case}"),
        "PATH": os.environ["PATH"],
        "AGENT_NAME": AGENT,
        "AGENT_MAIL_URL": "http://127.0.0.1:1" if case == "no_server" else answers.url,
        **({"AGENT_MAIL_GUARD_MODE": "warn"} if case == "held_warn" else {}),
    }
    told = HookPayload(contract, value)
    if told.is_foreign():
        return neutral(contract["events"][event]["neutral"])
    reply = HookRun(contract, event, told, environ, Deadline(PATIENT_S)).reply()
    reply.after(is_flushed=True)
    return reply.printed


def _answers(case: str) -> tuple[Any, Any]:
    free = {"agent": AGENT, "held": [], "held_count": 0, "agent_known": True}
    if case in ("mail", "subagent", "no_session", "foreign"):
        high = message(1, importance="high", subject="Build is red", first_line="See line 3 of the log.")
        return given(high, unread=4, more=0), free
    if case == "count":
        return {**NOTHING, "unread": 4}, free
    if case == "reprime":
        return {**NOTHING, "unread": 2, "reprime": REPRIME}, free
    if case == "stop":
        return given(stop=STOP, unread=1), free
    if case in ("held", "held_warn"):
        held = {"path": "src/app.py", "holder": HELD, "is_own_too": False}
        return dict(NOTHING), {**free, "held": [held], "held_count": 1}
    return dict(NOTHING), free


def outputs(client: str, root: Path, answers: HookAnswers) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Event, case, and what is printed, with the passing of days taken out."""
    for event in read_contract(client)["events"]:
        for case in CASES:
            printed = play(client, event, case, root, answers)
            shown = {"stdout": printed.stdout, "stderr": printed.stderr, "code": printed.code}
            text = json.dumps(shown).replace(str(root), "/there")
            yield event, case, json.loads(_LEFT.sub("(in N days)", text))


def golden(client: str) -> dict[str, dict[str, Any]]:
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch, hook_server() as answers:
        root = Path(scratch).resolve()
        (root / "code" / ".git" / "objects").mkdir(parents=True)
        (root / "code" / ".git" / "refs").mkdir()
        (root / "code" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        found: dict[str, dict[str, Any]] = {}
        try:
            for event, case, shown in outputs(client, root, answers):
                found.setdefault(event, {})[case] = shown
        finally:
            os.chdir(here)
    return found


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for client in CLIENTS:
        text = json.dumps(golden(client), indent=1, ensure_ascii=False) + "\n"
        (GOLDEN / f"{client}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
