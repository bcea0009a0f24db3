"""Every row of the facts about postal, and which test shows it: counted, so that none is forgotten.

The facts are of that system's published specification, of its program, and of what was decided where they differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

SURFACE = {
    "start": "one uvicorn command, here an ASGI module and `am facade postal --port 7777`",
    "endpoint": "POST, GET, DELETE /agents/{agent}/mcp/: JSON answers, session header mcp-session-id",
    "no-slash": "no trailing slash: a 307 there, 200 here",
    "agent-values": "any path segment there; letters, digits, - and _ here, 400 for others",
    "identity": "from the path of each request, not from the session",
    "other-routes": "/docs and /openapi.json there; 404 here, and / and a health route in both",
    "server-info": "name generic, protocol echoed, tools with listChanged",
    "tool-1": "send_to_agent(name, msg, msg_id=null)",
    "tool-2": "check_mail()",
    "readme-names": "send_message and check_mailbox are aliases",
    "send-result": "one text, the raw id, no structured content",
    "check-result": "one text, indented JSON with id, from_agent, content; from and created beside",
    "check-empty": "waits there for ever, here up to a bound, then null",
    "client-cli": "a client of MCP that sends and checks",
    "client-config": "a URL without a slash, for any MCP client",
    "environment": "no settings of a client, no header needed",
    "promises": "ids of the sender's, retries, FIFO, two loops, no duplicates",
}
ERRORS = {
    "unfit-name": "name '', 'a b', 'a/b', 'a.b': isError, Invalid agent name.",
    "fit-name": "name 'é', 'x_y-1', oneself, an unknown one: accepted",
    "empty-message": "msg '': accepted",
    "wrong-arguments": "msg missing, an extra argument: isError, validation error",
    "unknown-tool": "isError, Unknown tool: nope",
    "no-session": "a call without a session: 400 there, served here",
    "unknown-session": "400 there, served here",
    "accept": "Accept without JSON: 406; without event-stream alone it is served here",
    "content-type": "not JSON: 415",
    "no-json": "400, -32700",
    "too-large": "over 4 MB: 413",
    "plain-form": "the specification's own curl: -32602 there, served here",
}
FAULTS = {
    "P1": "an id sent again wedges the server there",
    "P2": "a client that leaves while it waits loses the next message there",
    "P3": "one client's DELETE ends all sessions there",
    "P4": "order within a second",
    "P5": "two readers, one message: exactly one gets it",
    "P6": "agents stop looping: a wait that ends in null goes on with the next",
}
REQUIREMENTS = {
    "FA1": "both paths, 200, no redirect; on our port and by option on one of its own",
    "FA2": "both MCP eras; the loss of a session kills no call",
    "FA3": "exactly two tools; aliases unlisted",
    "FA4": "identity by path, mailboxes made, the wire name kept as an alias",
    "FA5": "bounded wait, then null; progress for a progress token",
    "FA6": "from and from_agent, id, content; extra keys after those",
    "FA7": "an id is one message for its place; other content is an error",
    "FA8": "read once the answer was written, else back at the head",
    "FA9": "strict FIFO",
    "FA11": "a bearer token is optional; 401 where one is configured",
    "FA12": "strict: no path reads an agent's mail that no operator linked",
}
ACCEPTANCE = {
    "PM-01": "initialize, tools/list: exactly the two",
    "PM-02": "the same without a slash",
    "PM-03": "a send gives an id of 36 characters",
    "PM-04": "a check gives id, from_agent, content",
    "PM-07": "five sends, five checks, one order",
    "PM-08": "the same msg_id twice: one message",
    "PM-11": "unfit names",
    "PM-15": "two wait, one message",
    "PM-19": "a loop of 20 each way",
    "PM-22": "a restart between send and check",
}
CORRECTIONS = {
    "B1": "an answer may have the id of what it answers, for ever",
    "B2": "the wait over MCP, none in the plain form",
    "B3": "bare values, 400 with an error object, 415, 404",
    "B4": "created beside the four keys; the wait as a metric",
    "B5": "a full mailbox: Mailbox of NAME is full (N unread).",
    "B6": "the path's name obeys the same rule",
    "B7": "a progressToken and text/event-stream: an event stream",
    "B8": "uvicorn MODULE:api --port 8000, no setting but STORAGE_ROOT, no warning",
    "B9": "the first start makes the store",
    "B10": "unread survives kill -9, what was taken stays taken",
    "letter-case": "Bob and bob are one mailbox here",
    "D": "to oneself is delivered; aliases in the plain form too",
}
ROWS = {**SURFACE, **ERRORS, **FAULTS, **REQUIREMENTS, **ACCEPTANCE, **CORRECTIONS}

ELSEWHERE = {
    "schema": "the importer reads that system's database",
    "FA10": "likewise",
    "tests": "that system has none",
}
"""Rows that nothing on the wire shows."""

PAGE = {
    "paths": "FA1",
    "eras": "FA2",
    "two-tools": "PM-01",
    "takes": "tool-1",
    "aliases": "readme-names",
    "server": "server-info",
    "who": "identity",
    "makes": "FA4",
    "id": "send-result",
    "message": "check-result",
    "names": "unfit-name",
    "empty-body": "empty-message",
    "arguments": "wrong-arguments",
    "unknown-tool": "unknown-tool",
    "retry": "PM-08",
    "answer-id": "B1",
    "clash": "P1",
    "order": "PM-07",
    "one-taker": "PM-15",
    "hang-up": "P2",
    "written": "B10",
    "wait": "check-empty",
    "progress": "B7",
    "depth": "B5",
    "plain": "B3",
    "plain-refused": "plain-form",
    "json-only": "content-type",
    "own-port": "other-routes",
    "token": "FA11",
    "session-end": "P3",
    "bad-path": "B6",
    "case": "letter-case",
    "no-block": "FA5",
}
"""Of each row of the page about neighbours, the row here that says the same."""

SHOWN: dict[str, list[str]] = {}
"""By row, the tests that show it."""

_Test = TypeVar("_Test", bound=Callable[..., object])


def shows(*rows: str) -> Callable[[_Test], _Test]:
    """Says which rows a test shows; its transcript is golden under the name of the first."""

    def mark(test: _Test) -> _Test:
        for row in rows:
            assert row in ROWS, row
            SHOWN.setdefault(row, []).append(f"{test.__module__}.{test.__name__}")
        test.__dict__["transcript"] = rows[0]
        return test

    return mark
