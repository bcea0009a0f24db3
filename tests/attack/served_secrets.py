"""A server with a secret in every kind of record, and somebody of every kind to ask for them.

Each secret is a word of its own that nobody who asks sends: the words that stand in an answer are what was read.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.served import Connection, Json, Served

APP, LIB, SPARE = "/code/reading-app", "/code/reading-lib", "/code/reading-spare"
THREAD, TOPIC, PRODUCT = "T-reading", "reading", "reading-product"
BLIND = "GreenField"
WINDOW = "7e0a0f52-58a6-4c8e-9a0a-5d1b6f2a7c99"

SECRETS = {
    "profile": "zqprofile",
    "mail": "zqopen",
    "blind copy": "zqblind",
    "mail to both projects": "zqcross",
    "blind copy to elsewhere": "zqelsewhere",
    "held mail": "zqheld",
    "contact request": "zqreason",
    "lease": "zqlease",
    "slot": "zqslot",
    "guard event": "zqguard",
    "window id": WINDOW,
    "window name": "zqwindow",
    "blind recipient's name": '"bcc":["GreenField"]',
}
"""What there is to read. The last is the shape of an answer, not a word."""

TELLS_WHO = re.compile(r'"bcc":\["GreenField"\]|"name":"GreenField","kind":"bcc"|"ts":"[^"]*","agent":"LoneWolf')
"""All shapes in which answers tell who got a blind copy: messages and outboxes, statuses, feeds. LoneWolf has read its
blind copy, and nothing else.
"""

ATTACHED = b'"zqblind"'
"""Carried by the blind copy. A resource gives it in base64."""

ATTACHED_SHA256 = hashlib.sha256(ATTACHED).hexdigest()

CALLERS = ("anonymous", "stranger", "member", "blind recipient", "operator")


@dataclass(frozen=True, slots=True)
class ServedSecrets:
    server: Served
    tokens: dict[str, str]
    ids: dict[str, int]

    def connect(self, caller: str) -> Connection:
        if caller == "anonymous":
            return self.server.connect()
        if caller == "operator":
            token = (self.server.root / "operator.token").read_text().strip()
            return self.server.connect(Authorization=f"Bearer {token}")
        name = {"stranger": "SlyCat", "member": "QuietFox", "blind recipient": BLIND}[caller]
        return self.server.connect(**{"X-Agent-Token": self.tokens[name]})

    def as_agent(self, name: str, **headers: str) -> Connection:
        return self.server.connect(**{"X-Agent-Token": self.tokens[name], **headers})


def words_in(answer: Json) -> list[str]:
    """The secrets that stand in an answer, by what they are secrets of."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    # Values that are JSON in a string (digests, MCP's text blocks) are looked through too.
    flat = re.sub(r"\\+\"", '"', text)
    flat = flat.replace(base64.b64encode(ATTACHED).decode(), ATTACHED.decode())
    found = [of for of, word in SECRETS.items() if word.lower() in flat.lower()]
    who = "blind recipient's name"
    return [*found, who] if who not in found and TELLS_WHO.search(flat) else found


@contextmanager
def serve_secrets(root: Path, auth: str) -> Iterator[ServedSecrets]:
    with Served(root, AGENT_AUTH=auth, LLM_ENABLED="false") as server:
        served = ServedSecrets(server, {}, {})
        _settle(served)
        _write(served)
        server.await_drained()
        yield served


def _settle(served: ServedSecrets) -> None:
    with served.server.connect() as anyone:
        for project in (APP, LIB, SPARE):
            anyone.call("ensure_project", human_key=project)
        agents = [(APP, name) for name in ("BlueLake", "RedStone", BLIND, "GreyOwl", "QuietFox")]
        agents += [(LIB, "SlyCat"), (LIB, "LoneWolf"), (SPARE, "SpareOne")]
        for project, name in agents:
            profile = {"program": "tests", "model": "none", "task_description": SECRETS["profile"]}
            made = anyone.call("register_agent", project_key=project, name=name, **profile)
            served.tokens[name] = made["registration_token"]
    window = {"program": "tests", "model": "none", "name": "BlueLake", "project_key": APP}
    with served.as_agent("BlueLake", **{"X-Agent-Window": WINDOW}) as blue:
        blue.call("register_agent", **window)
        blue.call("rename_window", project_key=APP, window_uuid=WINDOW, new_display_name=SECRETS["window name"])
        blue.call("ensure_product", name=PRODUCT)
        blue.call("products_link", product_key=PRODUCT, project_key=APP)
    with served.as_agent("GreyOwl") as owl:
        owl.call("set_contact_policy", project_key=APP, agent_name="GreyOwl", policy="contacts_only")


def _write(served: ServedSecrets) -> None:
    with served.as_agent("BlueLake") as blue:

        def send(of: str, **to: Json) -> None:
            word = SECRETS[of]
            # Each in a commit of its own, which says what it is about.
            served.server.await_drained()
            sent = blue.call(
                "send_message",
                project_key=APP,
                sender_name="BlueLake",
                thread_id=THREAD,
                topic=TOPIC,
                **{"subject": f"About {word}", "body_md": f"Decision: {word} it is.", "ack_required": True, **to},
            )
            served.ids[of] = sent["deliveries"][0]["payload"]["id"]
            served.server.await_drained()

        send("mail", to=["RedStone"])
        carried = f"data:text/plain;base64,{base64.b64encode(ATTACHED).decode()}"
        send("blind copy", bcc=[BLIND], attachment_paths=[carried])
        blue.call(
            "request_contact",
            project_key=APP,
            from_agent="BlueLake",
            to_agent=f"LoneWolf@{LIB}",
            reason="for the matrix",
        )
    with served.as_agent("LoneWolf") as wolf:
        answer = {"project_key": LIB, "to_agent": "LoneWolf", "from_agent": "BlueLake", "from_project": APP}
        wolf.call("respond_contact", **answer, accept=True)
    with served.as_agent("BlueLake") as blue:
        both = {"project_key": APP, "sender_name": "BlueLake", "thread_id": THREAD, "topic": TOPIC}
        for of, kind in (("mail to both projects", "to"), ("blind copy to elsewhere", "bcc")):
            word = SECRETS[of]
            to = {kind: [f"LoneWolf@{LIB}"], "subject": f"About {word}", "body_md": f"Decision: {word}."}
            served.server.await_drained()
            sent = blue.call("send_message", **both, **to)
            served.ids[of] = sent["deliveries"][0]["payload"]["id"]
            served.server.await_drained()
        held = {"subject": SECRETS["held mail"], "body_md": SECRETS["held mail"], "to": ["GreyOwl"]}
        blue.call("send_message", **both, **held)
        blue.call(
            "request_contact",
            project_key=APP,
            from_agent="BlueLake",
            to_agent="GreyOwl",
            reason=SECRETS["contact request"],
        )
        lease = {"paths": ["src/held.py"], "reason": SECRETS["lease"]}
        blue.call("file_reservation_paths", project_key=APP, agent_name="BlueLake", **lease)
        blue.call("acquire_build_slot", project_key=APP, agent_name="BlueLake", slot=SECRETS["slot"])
        blue.call("summarize_recent", project_key=APP, since_hours=1)
        _report(blue)
    with served.as_agent("LoneWolf") as wolf:
        blind = served.ids["blind copy to elsewhere"]
        wolf.call("mark_message_read", project_key=LIB, agent_name="LoneWolf", message_id=blind)


def _report(blue: Connection) -> None:
    event = {
        "event_key": "ab" * 16,
        "hook": "pre-commit",
        "action": "refused",
        "ts": "2026-11-20T00:00:00Z",
        "project": APP,
        "agent": "BlueLake",
        "repository": "/code/app",
        "detail": {"note": SECRETS["guard event"]},
    }
    answer = blue.request(
        "POST", "/guard/events", json.dumps({"events": [event]}).encode(), {"Content-Type": "application/json"}
    )
    assert answer.status == 200, answer
