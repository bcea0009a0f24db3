"""What the official MCP client says to a server with the profile, and what it hears: recorded row by row.

    python -m tests.facades.claims.transcript

writes the golden file anew. Times, tokens, commits and the places of this run stand in it as words.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.facades.claims.claims_client import Caller, ClaimsServer
from tests.served import Served

GOLDEN = Path(__file__).parents[2] / "golden" / "claims" / "transcript.json"
_APP, _LIB = "/code/app", "/code/lib"
_WORDS = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:]+\.\d+\+00:00"), "<time>"),
    (re.compile(r"amt_[\w-]+"), "<token>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"[\w-]*\b(app|lib)-[0-9a-f]{6,}\b"), r"<slug of \1>"),
    (re.compile(r'"age_s": \d+'), '"age_s": 0'),
)
_ME: dict[str, Any] = {"program": "tests", "model": "none"}
_IN_APP: dict[str, Any] = {"project_key": _APP}
_BLUE: dict[str, Any] = {**_IN_APP, "agent_name": "BlueLake"}
_RED: dict[str, Any] = {**_IN_APP, "agent_name": "RedStone"}
_LETTER: dict[str, Any] = {**_IN_APP, "from_agent": "BlueLake", "to": ["RedStone"]}
_PICTURE = (
    "![dot](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg==)"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange. `facts` are the rows that it shows; `by` is the connection, and `keep` what of a long answer is
    told.
    """

    facts: tuple[str, ...]
    call: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    uri: str = ""
    by: str = "claims"
    keep: tuple[str, ...] = ()


def _call(tool: str, *facts: str, by: str = "claims", keep: Sequence[str] = (), **arguments: Any) -> Step:
    return Step(facts, call=tool, arguments=arguments, by=by, keep=tuple(keep))


def _read(uri: str, *facts: str, by: str = "claims") -> Step:
    return Step(facts, uri=uri, by=by)


_CREATING = (
    _call("list_agents", "makes-project", **_IN_APP),
    _call("create_agent", "makes-project", project_key="app", **_ME),
    _call("create_agent", "makes-project", "hint-alnum", "tokens", **_IN_APP, **_ME, name_hint="Blue-Lake!"),
    _call("create_agent", **_IN_APP, **_ME, task_description="Lexer", name_hint="RedStone"),
    _call("create_agent", **_IN_APP, **_ME, name_hint="GrayFox"),
    _call("create_agent", "task-optional", project_key=_LIB, **_ME, keep=["program", "task_description"]),
    _call("create_agent", project_key=_LIB, **_ME, name_hint="BlueLake", keep=["name", "project_key"]),
    _call("create_agent", "hint-taken", project_key=_LIB, **_ME, name_hint="bluelake", keep=["program"]),
    _call(
        "whois",
        "whois",
        "case",
        **_IN_APP,
        agent_name="redstone",
        keep=["name", "program", "model", "task_description"],
    ),
    _call("ensure_project", "no-ensure-project", human_key=_APP),
)

_MAIL = (
    _call("send_message", "unknown-sender", **{**_LETTER, "from_agent": "PinkHill"}, subject="s", body_md="b"),
    _call(
        "send_message",
        "recipients",
        "importance",
        **_LETTER,
        cc=["GrayFox"],
        bcc=["BlueLake"],
        subject="Plan",
        body_md="The parser is mine.",
        importance="high",
        ack_required=True,
        thread_id="T-1",
    ),
    _call("send_message", "images", **_LETTER, subject="Picture", body_md=_PICTURE, convert_images=True),
    _call("check_my_messages", "check-bodies", "check-marks-nothing", "importance", "recipients", **_RED),
    _call("check_my_messages", "check-bodies", "images", **_RED, include_bodies=True),
    _call("check_my_messages", "check-marks-nothing", "check-urgent", **_RED, urgent_only=True),
    _call("check_my_messages", "check-limit", **_RED, limit=1),
    _call("check_my_messages", "check-since", "iso", **_RED, since_ts=4_000_000_000.5),
    _call("check_my_messages", "iso", **_RED, since_ts="2096-01-01T00:00:00Z"),
    _call("acknowledge_message", "ack", **_RED, message_id=1),
    _call("acknowledge_message", "ack", **_RED, message_id=1),
    _call(
        "reply_message",
        "reply-thread",
        "reply-subject",
        **_IN_APP,
        from_agent="RedStone",
        reply_to_message_id=1,
        body_md="Then the lexer is mine: [ ] @RedStone writes the lexer.",
    ),
    _call(
        "reply_message",
        "reply-thread",
        "reply-subject",
        **_IN_APP,
        from_agent="RedStone",
        reply_to_message_id=2,
        body_md="Seen.",
    ),
    _call("reply_message", "reply-subject", **_IN_APP, from_agent="BlueLake", reply_to_message_id=4, body_md="Good."),
    _call("list_agents", "active", "list-recent", **_IN_APP, active_within_s=3_600),
    _call("search_messages", "search-newest", **_IN_APP, query="parser"),
    _call("search_messages", "search-newest", project_key=_LIB, query="parser"),
    _call("search_messages", "search-syntax", **_IN_APP, query='"parser is"'),
    _call("search_messages", "search-syntax", **_IN_APP, query="lex*"),
    _call("search_messages", "search-syntax", **_IN_APP, query="parser AND plan"),
    _call("search_messages", "search-syntax", **_IN_APP, query="seen OR good", limit=5),
    _call("summarize_thread", "summary", **_IN_APP, thread_id="T-1"),
    _call("summarize_thread", "summary", **_IN_APP, thread_id="T-1", include_examples=True),
)

_CLAIM: dict[str, Any] = {"ttl_seconds": 600, "exclusive": True, "reason": "parser"}
_CLAIMS = (
    _call("claim_paths", "claim-answer", **_BLUE, **_CLAIM, paths=["src/*.py"]),
    _call(
        "claim_paths", "claim-answer", "granted-once", "intersect", **_RED, **_CLAIM, paths=["src/a.py", "docs/a.md"]
    ),
    _call("claim_paths", "claim-shared", **_RED, paths=["b.md"], exclusive=False),
    _call("claim_paths", "claim-shared", **_BLUE, paths=["b.md"], exclusive=False),
    _call("claim_paths", "claim-shared", **_BLUE, paths=["b.md"], exclusive=True),
    _call("claim_paths", "bounds", **_BLUE, paths=["c.md"], ttl_seconds=59),
    _call("release_claims", "bounds", **_BLUE, paths=[]),
    _call("release_claims", "release", **_BLUE, paths=["src/*.py", "docs/a.md"]),
    _call("claim_paths", "release", **_RED, **_CLAIM, paths=["src/a.py"]),
    _call("install_precommit_guard", **_IN_APP, code_repo_path=_APP, keep=["status"]),
    _call("uninstall_precommit_guard", "unguard", code_repo_path=_APP, keep=["removed"]),
)

_READS = (
    _read(
        "resource://inbox/RedStone?project=/code/app&since_ts=0&urgent_only=true&include_bodies=true&limit=5",
        "inbox-uri",
    ),
    _read("resource://inbox/BlueLake?limit=1", "inbox-latest"),
    _call("check_my_messages", "inbox-latest", project_key=_LIB, agent_name="BlueLake"),
    _read("resource://inbox/BlueLake?limit=1", "inbox-latest"),
    _read("resource://message/1", "message-uri"),
    _read("resource://message/1?project=/code/app", "message-uri"),
    _read("resource://thread/T-1?project=/code/app", "thread-uri"),
    _call(
        "send_message",
        "thread-latest",
        project_key=_LIB,
        from_agent="BlueLake",
        to=["BlueLake"],
        subject="Mine",
        body_md="b",
        thread_id="T-1",
    ),
    _read("resource://thread/T-1?include_bodies=true", "thread-uri", "thread-latest"),
    _read("resource://inbox/BlueLake", "alone", by="native"),
    _read("resource://thread/T-1", "alone", by="native"),
    _call("claim_paths", "alone", by="native", **_BLUE, paths=["a.py"]),
    _call("check_my_messages", "alone", by="native", **_BLUE),
    _call("claim_paths", "header", by="header", **_BLUE, paths=["d.md"]),
)

STEPS = (*_CREATING, *_MAIL, *_CLAIMS, *_READS)
_BY = {"claims": ("?profile=claims", {}), "native": ("", {}), "header": ("", {"X-Tool-Profile": "claims"})}


async def record(root: Path) -> list[dict[str, Any]]:
    """The transcript, of a server process of its own over a store below `root`."""
    for place in ("app", "lib"):
        (root / place).mkdir(parents=True)
        await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(root / place)], check=True)
    server = Served(root / "store", CLAIMS_ENABLED="true")
    await asyncio.to_thread(server.start)
    try:
        async with _connected(f"http://127.0.0.1:{server.port}") as callers:
            listed = (await callers["claims"].session.list_tools()).tools
            tools = {tool.name: tool.input_schema for tool in listed}
            heard: list[dict[str, Any]] = [_row(("thirteen",), "tools/list", sorted(tools))]
            heard += [_row((f"takes-{name}",), "inputSchema", schema, name) for name, schema in sorted(tools.items())]
            heard += [await _take(callers[step.by], step, root) for step in STEPS]
            return heard
    finally:
        await asyncio.to_thread(server.stop)


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[dict[str, Caller]]:
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(ClaimsServer(url).connected(query, headers))
            for name, (query, headers) in _BY.items()
        }


def _row(facts: Sequence[str], said: str, answer: Any, name: str = "") -> dict[str, Any]:
    return {"shows": list(facts), "says": f"{said} {name}".strip(), "hears": answer}


async def _take(caller: Caller, step: Step, root: Path) -> dict[str, Any]:
    by = "" if step.by == "claims" else f" ({step.by})"
    if step.uri:
        answer = await _read_answer(caller, step.uri.replace("/code", str(root)))
        return _row(step.facts, f"resources/read{by}", _plain(answer, root), step.uri)
    arguments = json.loads(json.dumps(step.arguments).replace("/code/", f"{root}/"))
    result = await caller.session.call_tool(step.call, arguments)
    answer = result.structured_content
    if step.keep and isinstance(answer, dict):
        answer = {key: answer[key] for key in step.keep}
    row = _row(step.facts, f"tools/call{by}", _plain(answer, root), step.call)
    return {**row, "with": dict(step.arguments), **({"is_error": True} if result.is_error else {})}


async def _read_answer(caller: Caller, uri: str) -> Any:
    try:
        return await caller.read(uri)
    except Exception as refused:  # noqa: BLE001  # what the client raises is what it heard
        return {"refused": str(refused)}


def _plain(answer: Any, root: Path) -> Any:
    text = json.dumps(answer, ensure_ascii=False).replace(str(root), "/code")
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return json.loads(text)


def document(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(document(asyncio.run(record(Path(directory).resolve()))), encoding="utf-8")
