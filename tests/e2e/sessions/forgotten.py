"""An agent whose context was cut: it has forgotten its name and its token, and comes back to its mail and its files."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tests.e2e.sessions.chores import (
    Team,
    acknowledge,
    answer,
    come_back,
    look,
    own,
    read_thread,
    send,
    take_mail,
    work_on,
)
from tests.e2e.sessions.player import Call, Cost, Fix, Player, put, renamed
from tests.served import Served

PROJECT = "/code/shop"
NAME = "BlueLake"
THREAD = "SHOP-57"
_TEAM = {"RedStone": "codex-cli", "GreenField": "gemini-cli", NAME: "claude-code"}
_AGENTS = Call("list_agents", {"project_key": PROJECT})


def play(server: Served, cost: Cost, form: str) -> None:
    """BlueLake worked here yesterday; what it left is there already and costs nothing."""
    theirs = _leave_behind(server)
    blue = Player(server, cost, project=PROJECT, profile="core", form=form)
    _find_itself(blue)
    _catch_up(blue, theirs)
    _ask_around(blue)
    team = Team(server, PROJECT)
    work_on([blue], team, "taxes", "refunds", "invoices", "receipts", "coupons")
    _go_on(blue)
    team.close()
    blue.close()


def _leave_behind(server: Served) -> int:
    """Gives the id of a message between two others."""
    with server.connect() as calls:
        for name, program in _TEAM.items():
            calls.call("macro_start_session", human_key=PROJECT, agent_name=name, program=program, model="a")
        calls.call(
            "file_reservation_paths", project_key=PROJECT, agent_name=NAME, paths=["src/cart/**", "docs/cart.md"]
        )
        for number in range(8):
            calls.call(
                "send_message",
                project_key=PROJECT,
                sender_name="RedStone" if number % 2 else "GreenField",
                to=[NAME],
                subject=f"Part {number} of the checkout",
                body_md=f"Part {number} is in review: `src/cart/part_{number}.py`; please look at the names.",
                thread_id=THREAD,
                ack_required=number < 5,
            )
        sent = calls.call(
            "send_message",
            project_key=PROJECT,
            sender_name="RedStone",
            to=["GreenField"],
            subject="Forms and payments",
            body_md="Between us two.",
        )
        return int(sent["deliveries"][0]["payload"]["id"])


def _find_itself(blue: Player) -> None:
    blue.mistake(
        "a call without a name",
        Call("fetch_inbox", {"project_key": PROJECT}),
        put("agent_name", NAME, told=NAME, lookup=_AGENTS),
    )
    blue.name = NAME
    blue.mistake(
        "a token that is none",
        Call(
            "register_agent",
            {
                "project_key": PROJECT,
                "name": NAME,
                "program": "claude-code",
                "model": "opus-4.1",
                "registration_token": "amt_which-was-it",
            },
        ),
        Fix(re.compile(r"none at all|without"), lambda call: call.without("registration_token")),
    )
    come_back(blue)


def _catch_up(blue: Player, theirs: int) -> None:
    items: list[Any] = sorted(take_mail(blue), key=lambda item: int(item["id"]))
    asked = [item for item in items if item["ack_required"]]
    blue.mistake(
        "an id as text",
        Call("acknowledge_message", {**own(blue), "message_id": f"#{asked[0]['id']}"}),
        put("message_id", asked[0]["id"], told="whole number"),
    )
    blue.mistake(
        "a message of others",
        Call("acknowledge_message", {**own(blue), "message_id": theirs}),
        put(
            "message_id",
            asked[1]["id"],
            told="not_a_recipient",
            lookup=Call("fetch_inbox", own(blue)),
        ),
        met=lambda value: bool(value["acknowledged"]),
    )
    acknowledge(blue, [item["id"] for item in asked[2:4]])
    answer(blue, asked[4], "The names are fine; part 4 may go in.")
    look(blue)


def _ask_around(blue: Player) -> None:
    mail: dict[str, Any] = {
        "project_key": PROJECT,
        "sender_name": NAME,
        "subject": "I am back on the cart",
        "body_md": "Parts 0 to 4 are read. Who has the taxes now?",
    }
    blue.mistake(
        "two names in one text",
        Call("send_message", {**mail, "to": "RedStone, GreenField"}),
        put("to", ["RedStone", "GreenField"], told=r"\blist\b|\[\W*RedStone|RedStone and GreenField", lookup=_AGENTS),
    )
    blue.mistake(
        "user as recipient",
        Call("send_message", {**mail, "to": ["user"], "subject": "May I take the taxes?"}),
        put("to", ["Human"], told=r"\bHuman\b", lookup=_AGENTS),
    )
    blue.mistake(
        "a project by the last part of its path",
        Call("send_message", {**mail, "project_key": "shop", "to": ["RedStone"], "thread_id": THREAD}),
        put("project_key", PROJECT, told=PROJECT, lookup=Call("resource://projects", {})),
    )
    blue.mistake(
        "a query by another name",
        Call("search_messages", {"project_key": PROJECT, "text": "taxes", "order": "relevance"}),
        renamed("text", "query"),
    )
    blue.mistake(
        "an order that there is not",
        Call("search_messages", {"project_key": PROJECT, "query": "part", "limit": 5, "order": "date"}),
        put("order", "newest", told=r"\bnewest\b"),
    )
    blue.mistake(
        "a name with a letter too many",
        Call("whois", {"project_key": PROJECT, "agent_name": "RedStones", "include_recent_commits": False}),
        put("agent_name", "RedStone", told=r"\bRedStone\b", lookup=_AGENTS),
    )
    read_thread(blue, THREAD)


def _go_on(blue: Player) -> None:
    blue.mistake(
        "an extension in minutes",
        Call("renew_file_reservations", {**own(blue), "extend_minutes": 30}),
        Fix(
            re.compile(r"\bextend_seconds\b"),
            lambda call: replace(call.without("extend_minutes").having("extend_seconds", 1800)),
        ),
    )
    blue.mistake(
        "a path of a wider lease",
        Call("release_file_reservations", {**own(blue), "paths": ["src/cart/totals.py"]}),
        put("paths", ["src/cart/**"], told=r"src/cart/\*\*", lookup=Call("resource://file_reservations/code-shop", {})),
        met=lambda value: value["released"] == 1,
    )
    send(blue, ["RedStone"], "The cart is free", "All but docs/cart.md.", thread_id=THREAD)
    look(blue)
