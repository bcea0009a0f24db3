"""What everybody in a flood asks, as bytes, and what a server is filled with before."""

from __future__ import annotations

import http.client
import json
from typing import Any

from benchmarks.mix import agent_names
from benchmarks.wire import Refused

PROJECT = "/bench/flood"
FLOODER = "FloodGate"
LIBRARY = "OldLibrary"
"""Whose inbox is long."""
LONG_MAILS = 20
LONG_MAIL_BYTES = 50_000
LIVENESS = b"GET /health/liveness HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF = (b"POST /rpc/health_check HT", b"POST /rpc/health_check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ")
HALF_BODY = b"application/json\r\nContent-Length: 4000000\r\n\r\n" + b" " * 40_000
"""What half a request is: a target, some headers, or with this behind them a part of a body."""


def post(tool: str, arguments: dict[str, Any], token: str) -> bytes:
    """A call over `/rpc` by whose token it is."""
    body = json.dumps(arguments).encode()
    head = (
        f"POST /rpc/{tool} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def inbox(name: str, token: str) -> bytes:
    return post("fetch_inbox", {"project_key": PROJECT, "agent_name": name, "limit": 5}, token)


def long_inbox(token: str) -> bytes:
    """A megabyte of answer."""
    arguments = {"project_key": PROJECT, "agent_name": LIBRARY, "limit": LONG_MAILS, "include_bodies": True}
    return post("fetch_inbox", arguments, token)


def letter(sender: str, to: str, token: str) -> bytes:
    arguments = {"project_key": PROJECT, "sender_name": sender, "to": [to], "subject": "flood", "body_md": "One line."}
    return post("send_message", arguments, token)


def fill(port: int, others: int, operator_token: str) -> dict[str, str]:
    """A project with so many agents beside the flooder and the library; by its name the token issued to each: by that
    rates tell them apart.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(tool: str, token: str = operator_token, **arguments: object) -> Any:  # noqa: ANN401  # plain JSON
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        connection.request("POST", f"/rpc/{tool}", json.dumps(arguments), headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != http.client.OK:
            raise Refused(f"{tool}: {answer.status} {text[:300]!r}")
        return json.loads(text)

    ask("ensure_project", human_key=PROJECT)
    tokens = {}
    for name in [FLOODER, LIBRARY, *agent_names(others)]:
        ask("register_agent", project_key=PROJECT, program="bench", model="none", name=name)
        tokens[name] = ask("create_issued_token", project_key=PROJECT, agent_name=name)["token"]
    mail = {"project_key": PROJECT, "sender_name": LIBRARY, "to": [LIBRARY], "body_md": "a" * LONG_MAIL_BYTES}
    for number in range(LONG_MAILS):
        ask("send_message", tokens[LIBRARY], **mail, subject=f"{number}")
    connection.close()
    return tokens
