"""The proof that a client is set up: its entry is read back and called as it says, and a message to a scratch agent
comes out of the hook command that is installed, and out of the watcher of idle sessions, where there is one.

What is called and run is our own, once the file has been found to say the same: never what a file says, which a
repository may have brought along.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from mcp_agent_mail.clients.contracts.reader import Contract, read_contract
from mcp_agent_mail.clients.hook.wake import WOKEN
from mcp_agent_mail.clients.setup.contract_wishes import watching
from mcp_agent_mail.clients.setup.mcp_call import list_tools
from mcp_agent_mail.clients.setup.read_back import NotReadBack, find_hook_file, read_entry, require_hook
from mcp_agent_mail.clients.setup.wishes import FileWish, Part
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import new_token
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import SCRATCH_PROGRAM

HOOK_WITHIN_S = 20.0
_MAX_SHOWN = 200
_LEFT_ALONE = "the file was left alone"
_NAMES_FOR_HOOKS = frozenset(
    {
        *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "PYTHONPATH", "TMPDIR", "USER"),
        *("AGENT_MAIL_ENV_FILE", "AGENT_MAIL_TOKEN", "AGENT_MAIL_URL", "INTEGRATION_BEARER_TOKEN"),
        *("HTTP_HOST", "HTTP_PATH", "HTTP_PORT", "HOST", "PORT", "MCP_MAIL_STORE", "STORAGE_ROOT"),
    }
)
"""What a hook needs to be found and to find the server, and no other secret of the shell's."""
_TASK = "proof: "

# Any: the answers are plain JSON.
Call = Callable[[str, Mapping[str, Any]], Any]
"""Runs a tool of the server as its operator. Raises AgentMailError."""


class ProofOutcome(StrEnum):
    """`not possible`: the client has no way in which it could be shown."""

    PROVEN = "proven"
    FAILED = "failed"
    LEFT_OUT = "left out"
    NOT_POSSIBLE = "not possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofStep:
    name: str
    outcome: ProofOutcome
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What proofs are run with. `project` is where the scratch agents are, `am` the path of our program; of no file but
    those `as_wished` anything is proven. `within`: the project whose files they are.
    """

    call: Call
    project: Path
    environ: Mapping[str, str]
    am: str
    as_wished: Collection[Path]
    within: Path | None = None


def prove(client: str, wishes: Sequence[FileWish], bench: Bench) -> list[ProofStep]:
    """Each step for one client. Raises nothing that a client can be at fault for."""
    steps = [_prove_entry(wishes, bench), _prove_hook(client, wishes, bench)]
    return steps if read_contract(client)["wake"]["event"] is None else [*steps, _prove_wake(client, wishes, bench)]


def _prove_entry(wishes: Sequence[FileWish], bench: Bench) -> ProofStep:
    wish = next((wish for wish in wishes if wish.part is Part.MCP), None)
    if wish is None:
        return ProofStep(name="entry", outcome=ProofOutcome.NOT_POSSIBLE, note="the client reads no MCP entry there")
    if wish.path not in bench.as_wished:
        return ProofStep(name="entry", outcome=ProofOutcome.LEFT_OUT, note=_LEFT_ALONE)
    try:
        entry = read_entry(wish, bench.environ, within=bench.within)
        count = list_tools(entry)
    except NotReadBack as failed:
        return ProofStep(name="entry", outcome=ProofOutcome.FAILED, note=str(failed)[:_MAX_SHOWN])
    except Exception as failed:  # noqa: BLE001  # the files are written by now, and that has to be reported
        note = f"it makes no sense: {type(failed).__name__}: {failed}"
        return ProofStep(name="entry", outcome=ProofOutcome.FAILED, note=note[:_MAX_SHOWN])
    note = f"{count} tools at {entry.url}"
    if entry.unset:
        note += f"; {', '.join(sorted(set(entry.unset)))} is not set here, and has to be where the client runs"
    return ProofStep(name="entry", outcome=ProofOutcome.PROVEN, note=note)


def _prove_hook(client: str, wishes: Sequence[FileWish], bench: Bench) -> ProofStep:
    contract = read_contract(client)
    event = _telling_event(contract)
    if event is None:
        note = contract["advisory"] or "the client has no hook that carries text"
        return ProofStep(name="hook", outcome=ProofOutcome.NOT_POSSIBLE, note=note)
    return _prove_told(_Told(step="hook", event=event, words=event, code=0), contract, wishes, bench)


def _prove_wake(client: str, wishes: Sequence[FileWish], bench: Bench) -> ProofStep:
    """That the client wakes a session by what the watcher says is not shown."""
    contract = read_contract(client)
    event = contract["wake"]["event"]
    return _prove_told(_Told(step="wake", event=event, words=watching(event), code=WOKEN), contract, wishes, bench)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What a step runs: the hook of an event by the words behind its client's name, which should end with `code`."""

    step: str
    event: str
    words: str
    code: int


def _prove_told(told: _Told, contract: Contract, wishes: Sequence[FileWish], bench: Bench) -> ProofStep:
    hooks = [wish for wish in wishes if wish.part is Part.HOOKS]
    if not hooks:
        return ProofStep(name=told.step, outcome=ProofOutcome.NOT_POSSIBLE, note="the client reads no hooks there")
    file = find_hook_file(hooks, contract["client"], told.words)
    if file is None:
        return ProofStep(name=told.step, outcome=ProofOutcome.FAILED, note=f"no file has a hook for {told.words}")
    if file.path not in bench.as_wished:
        return ProofStep(name=told.step, outcome=ProofOutcome.LEFT_OUT, note=_LEFT_ALONE)
    try:
        require_hook(file, contract["client"], told.words, within=bench.within)
        note = _deliver(contract, told, bench)
        if contract["events"][told.event]["install"] is None:
            note += f", run as the plugin does; that {contract['title']} loads the plugin is not shown"
    except (NotReadBack, AgentMailError, OSError, subprocess.SubprocessError, LookupError, TypeError) as failed:
        said = failed.message if isinstance(failed, AgentMailError) else str(failed)
        return ProofStep(name=told.step, outcome=ProofOutcome.FAILED, note=said[:_MAX_SHOWN])
    return ProofStep(name=told.step, outcome=ProofOutcome.PROVEN, note=note)


def _telling_event(contract: Contract) -> str | None:
    """The event that tells the most: any mail, else what is high, else what is urgent."""
    events = contract["events"]
    for least in ("any", "high", "urgent"):
        for name, event in events.items():
            if event["tells"] == least and (event["install"] is not None or event["output"] == "plugin"):
                return str(name)
    return None


def _deliver(contract: Contract, told: _Told, bench: Bench) -> str:
    """Send a message to a scratch agent and find it in what the hook prints. Raises NotReadBack, AgentMailError."""
    key = str(bench.project)
    bench.call("ensure_project", {"human_key": key})
    named: list[str] = []
    try:
        for role in ("sender", "receiver"):
            registered = bench.call(
                "register_agent",
                {"project_key": key, "program": SCRATCH_PROGRAM, "model": "none", "task_description": f"{_TASK}{role}"},
            )
            named.append(str(registered["name"]))
        sender, receiver = named
        word = f"setup-proof-{new_token('')[:12]}"
        bench.call(
            "send_message",
            {
                "project_key": key,
                "sender_name": sender,
                "to": [receiver],
                "subject": word,
                "body_md": "A message of am setup, to see that it comes out of the hook.",
                "importance": "urgent",
            },
        )
        for last_try in (False, False, True):
            try:
                _require_told(contract, told, receiver, word, bench)
                break
            except NotReadBack:
                if last_try:
                    raise
    finally:
        for name in named:
            with suppress(AgentMailError):
                bench.call("deregister_agent", {"project_key": key, "agent_name": name})
    return f"a message came out of {told.words}"


def _require_told(contract: Contract, told: _Told, receiver: str, word: str, bench: Bench) -> None:
    """Raise NotReadBack unless the hook prints `word` in a session of its own. It gives the server 300 ms: on a machine
    that is busy just now it may say nothing, and another session is told the same.
    """
    with tempfile.TemporaryDirectory(prefix="am-setup-") as state:
        payload = _payload(contract, told.event, bench.project)
        command = [bench.am, "hook", contract["client"], *told.words.split()]
        printed = _run(command, told.code, payload, _environment(bench, receiver, state))
    if word not in printed:
        raise NotReadBack(f"the message did not come out of {shlex.join(command)}; it printed {printed[:80]!r}")


def retire_scratch_agents(call: Call, project: Path) -> None:
    """Those that a killed proof has left in a project. The journal is held: no proof of this user is under way.

    A server that does not let it happen is passed over.
    """
    key = str(project)
    with suppress(AgentMailError, LookupError, TypeError):
        for agent in call("list_agents", {"project_key": key})["agents"]:
            if agent["program"] == SCRATCH_PROGRAM and str(agent["task_description"]).startswith(_TASK):
                call("deregister_agent", {"project_key": key, "agent_name": agent["name"]})


def _payload(contract: Contract, event: str, project: Path) -> dict[str, Any]:
    """What the client would say of that event, as far as its contract says where things stand."""
    payload: dict[str, Any] = {"hook_event_name": event}
    for place, value in (("session", f"setup-{new_token('')[:12]}"), ("cwd", str(project))):
        if contract[place]:
            _put(payload, contract[place][0], value)
    return payload


def _put(payload: dict[str, Any], path: Sequence[str | int], value: str) -> None:
    first, *rest = path
    if not rest:
        payload[str(first)] = value
    elif isinstance(rest[0], int):
        payload[str(first)] = [value]
    else:
        _put(payload.setdefault(str(first), {}), rest, value)


def _environment(bench: Bench, agent: str, state: str) -> dict[str, str]:
    """What the hook keeps of this session goes with us."""
    kept = {name: value for name, value in bench.environ.items() if name in _NAMES_FOR_HOOKS}
    return {**kept, "AGENT_NAME": agent, "AGENT_MAIL_PROJECT": str(bench.project), "XDG_STATE_HOME": state}


def _run(command: Sequence[str], code: int, payload: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """What the command prints: a watcher that wakes speaks on standard error."""
    ended = subprocess.run(
        command,
        input=json.dumps(payload).encode(),
        capture_output=True,
        timeout=HOOK_WITHIN_S,
        env=dict(environ),
        cwd=os.sep,
        check=False,
    )
    if ended.returncode != code:
        said = ended.stderr[:100].decode("utf-8", "replace")
        raise NotReadBack(f"{shlex.join(command)} ended with {ended.returncode}: {said}")
    return (ended.stderr if code == WOKEN else ended.stdout).decode("utf-8", "replace")
