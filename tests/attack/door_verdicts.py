"""What each door answers to whoever comes with which token, in which mode, and to what a web page can send.

    python -m tests.attack.door_verdicts

writes docs/reference/who-comes-in.md anew.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.domain.doors.names import Door
from tests.facades.all_doors import AllDoors, open_all_doors
from tests.server.whole_app import OPERATOR

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "who-comes-in.md"
SERVER_TOKEN = "the-token-of-this-whole-server"
MODES = ("open", "strict")
_JSON = "application/json"
_MODERN = "2026-07-28"
_PROFILE = {"program": "tests", "model": "none"}
NATIVE = "BlueLake"
"""An agent of this server, with a token of its own, in the project of the doors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request at a door, by a name that the door has for its own or by the native agent's."""

    door: str
    says: str
    path: str
    method: str = "POST"
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    port: Door | None = None


def _modern(tool: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
    headers = {"MCP-Protocol-Version": _MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers


def asks(project: str) -> list[Ask]:
    """Each is asked by everybody. None of them leaves anything that the next would find changed."""
    inbox, of_mcp = _modern("check_my_messages", {"project_key": project, "agent_name": NATIVE})
    check, of_check = _modern("check_mail", {})
    plain = {"tool": "check_mail", "args": {}}
    return [
        Ask(
            door="claims",
            says=f"`check_my_messages` of {NATIVE}",
            path="/mcp?profile=claims",
            body=inbox,
            headers=of_mcp,
        ),
        *(
            Ask(
                door="postal",
                says=f"`check_mail` of {name}, {form}",
                path=f"/agents/{name}/mcp",
                body=body,
                headers=head,
            )
            for name in ("bob", NATIVE)
            for form, body, head in (("plain", plain, {}), ("MCP", check, of_check))
        ),
        Ask(door="postal", says="`check_mail` of bob, own port", path="/agents/bob/mcp", body=plain, port=Door.POSTAL),
        *_mailbox_asks(),
        *(
            Ask(
                door="AgentMail",
                says=f"`agentmail receive` of {name}",
                path="/agentmail/pop",
                body={"project": project, "name": name},
            )
            for name in ("amy", NATIVE)
        ),
        Ask(
            door="AgentMail",
            says=f"`agentmail send` to {NATIVE}, which is no window",
            path="/agentmail/send",
            body={"project": project, "name": "amy", "to": NATIVE, "body": "b", "window": False},
        ),
    ]


def _mailbox_asks() -> list[Ask]:
    check, of_check = _modern("check_inbox", {})
    door, port = "ClaudeMailbox", Door.CLAUDE_MAILBOX
    asked = [Ask(door=door, says="`/health`", path="/health", method="GET", port=port)]
    asked.append(Ask(door=door, says="`/v1/list`", path="/v1/list", method="GET", port=port))
    for name in ("carol", NATIVE):
        who, to_self = {"X-Mailbox": name}, {"to": "dave", "body": "b"}
        asked += [
            Ask(door=door, says=f"`/v1/send` of {name}", path="/v1/send", body=to_self, headers=who, port=port),
            Ask(
                door=door,
                says=f"`check_inbox` of {name}",
                path="/mcp",
                body=check,
                headers={**of_check, **who},
                port=port,
            ),
        ]
    return asked


OF_SERVER = ("server's", "server's and agent's", "wrong agent's")
"""Those that bring the server's token."""
CREDENTIALS = (
    "no token",
    "server's",
    "agent's",
    "agent's as bearer",
    "server's and agent's",
    "wrong",
    "wrong agent's",
    "operator's",
)


def _proof(credential: str, agent_token: str) -> dict[str, str]:
    bearer = {
        "server's": SERVER_TOKEN,
        "server's and agent's": SERVER_TOKEN,
        "agent's as bearer": agent_token,
        "wrong": "wrong",
        "wrong agent's": SERVER_TOKEN,
        "operator's": OPERATOR,
    }.get(credential)
    agent = {"agent's": agent_token, "server's and agent's": agent_token, "wrong agent's": "amt_wrong"}.get(credential)
    return {
        **({} if bearer is None else {"Authorization": f"Bearer {bearer}"}),
        **({} if agent is None else {"X-Agent-Token": agent}),
    }


FOREIGN: Mapping[str, Mapping[str, str]] = {
    "foreign Host": {"Host": "evil.example"},
    "foreign Origin": {"Origin": "http://evil.example"},
    "form": {"Content-Type": "application/x-www-form-urlencoded"},
}


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """A row of the table. `columns` are by server: mode, and with its token or without; `foreign` what anything else
    than a plain request gets in any of them. `is_open`: whoever asks needs no token.
    """

    door: str
    asked: str
    credential: str
    columns: Mapping[str, str]
    foreign: Mapping[str, str]

    @property
    def is_open(self) -> bool:
        return "`/health`" in self.asked


async def ask_all(directory: Path) -> list[Verdict]:
    """Four servers, one after the other."""
    heard: dict[tuple[str, str, str], dict[str, str]] = {}
    foreign: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for mode in MODES:
        for with_token in (False, True):
            name = f"{mode}, server's token" if with_token else mode
            place = directory / name.replace(", ", "-").replace(" ", "-").replace("'", "")
            place.mkdir()
            settings = {"AGENT_AUTH": mode, **({"HTTP_BEARER_TOKEN": SERVER_TOKEN} if with_token else {})}
            async with open_all_doors(place, **settings) as doors:
                agent_token = await _native(doors, with_token=with_token)
                for ask in asks(doors.project):
                    for credential in CREDENTIALS:
                        key, proof = (ask.door, ask.says, credential), _proof(credential, agent_token)
                        heard.setdefault(key, {})[name] = await _verdict(doors, ask, proof)
                        for kind, more in FOREIGN.items():
                            told = foreign.setdefault(key, {}).setdefault(kind, set())
                            has_none = kind == "form" and ask.body is None
                            told.add("-" if has_none else await _verdict(doors, ask, {**proof, **more}))
    return [
        Verdict(*key, columns, {kind: ", ".join(sorted(told)) for kind, told in foreign[key].items()})
        for key, columns in heard.items()
    ]


async def _native(doors: AllDoors, *, with_token: bool) -> str:
    """The native agent's token."""
    proof = {"Authorization": f"Bearer {SERVER_TOKEN}"} if with_token else {}
    await doors.client.post(f"{doors.url}/rpc/ensure_project", json={"human_key": doors.project}, headers=proof)
    made = await doors.client.post(
        f"{doors.url}/rpc/register_agent",
        json={"project_key": doors.project, "name": NATIVE, **_PROFILE},
        headers=proof,
    )
    token: str = made.json()["registration_token"]
    return token


async def _verdict(doors: AllDoors, ask: Ask, headers: Mapping[str, str]) -> str:
    given = {"Content-Type": _JSON, "Accept": f"{_JSON}, text/event-stream", **ask.headers, **headers}
    content = None if ask.body is None else json.dumps(ask.body).encode()
    answer = await doors.client.request(ask.method, f"{doors.at(ask.port)}{ask.path}", content=content, headers=given)
    is_json = answer.headers.get("content-type", "").startswith(_JSON)
    return _told(answer.status_code, answer.json() if is_json else None)


def _told(status: int, value: Any) -> str:
    """The status, and of a refusal above HTTP the kind."""
    result = value.get("result") if isinstance(value, dict) else None
    if isinstance(result, dict) and result.get("isError"):
        error = (result.get("structuredContent") or {}).get("error")
        return f"{status} {error['type'] if error else 'refused'}"
    error = value.get("error") if isinstance(value, dict) else None
    return f"{status} {error['type']}" if isinstance(error, dict) and "type" in error else str(status)


_HEAD = """\
# Who comes in at which door

<!-- Made by `python -m tests.attack.door_verdicts` of what servers answered over HTTP; a test compares. -->

Each door asked by everybody, of a server in each mode, without a token of the server's and with one
(`HTTP_BEARER_TOKEN`). `bob` and the like are names of that door, `BlueLake` an agent of this server with a token of its
own. The last three columns are what the same request got with a `Host` or an `Origin` that is not the server's, and
with its body sent as a form of a web page is: the same on all four servers unless several stand there. Tokens of agents
are asked for and judged by `claims` alone: the other doors look at the server's token, and prove nobody by any other.
What the kinds mean is said in [errors](errors.md), what follows of it in the
[threat model](../concepts/threat-model.md#doors).
"""


def page(verdicts: list[Verdict]) -> str:
    """A table for each thing that was asked, with those in one row that got the same."""
    lines, door = [_HEAD], ""
    for one in verdicts:
        if one.door != door:
            lines += [f"\n## {(door := one.door)}\n"]
        if one.credential == CREDENTIALS[0]:
            lines += _table([row for row in verdicts if (row.door, row.asked) == (one.door, one.asked)])
    return "".join(lines)


def _table(verdicts: list[Verdict]) -> list[str]:
    names = list(verdicts[0].columns)
    heads = ["token", *names, *FOREIGN]
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in verdicts:
        cells = (*(one.columns[name] for name in names), *one.foreign.values())
        rows.setdefault(cells, []).append(one.credential)
    return [
        f"\n{verdicts[0].asked}\n\n",
        f"| {' | '.join(heads)} |\n",
        f"|{'---|' * len(heads)}\n",
        *(f"| {' | '.join(('; '.join(tokens), *cells))} |\n" for cells, tokens in rows.items()),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        PAGE.write_text(page(asyncio.run(ask_all(Path(directory).resolve()))), encoding="utf-8")
