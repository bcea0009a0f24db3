"""Two agents want the same files: one finds them taken, they write to each other, and share the work."""

from __future__ import annotations

import re

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
from tests.e2e.sessions.player import Call, Cost, Fix, Player, by_tool, put, renamed
from tests.served import Served

PROJECT = "/code/shop"
THREAD = "SHOP-42"
_LISTED = r"\blist\b|\[\W*src"


def play(server: Served, cost: Cost, form: str) -> None:
    """BlueLake has the cart; RedStone needs one file of it for its payments."""
    blue = Player(server, cost, project=PROJECT, profile="core", form=form, name="BlueLake")
    red = Player(server, cost, project=PROJECT, profile="core", form=form, name="RedStone")
    team = Team(server, PROJECT)
    _begin(blue, red)
    _collide(red)
    _share(blue, red)
    work_on([blue, red], team, "taxes", "refunds", "invoices", "receipts")
    _leave(blue, red)
    team.close()
    blue.close()
    red.close()


def _begin(blue: Player, red: Player) -> None:
    for player, what in ((blue, "the project as project_key at the start"), (red, "the project as cwd at the start")):
        wrong = what.split()[3]
        player.mistake(
            what,
            Call(
                "macro_start_session",
                {wrong: PROJECT, "agent_name": player.name, "program": "claude-code", "model": "opus-4.1"},
            ),
            renamed(wrong, "human_key"),
        )
    released = Call("release_file_reservations", own(blue))
    blue.mistake(
        "paths as one text",
        Call(
            "file_reservation_paths",
            {**own(blue), "paths": "src/cart/**, src/tax/rates.py", "ttl_seconds": 7200, "reason": THREAD},
        ),
        put("paths", ["src/cart/**", "src/tax/rates.py"], told=_LISTED, lookup=released),
        met=lambda value: len(value["granted"]) == 2,
    )
    for number, subject in enumerate(("Rounding of taxes", "Currency of the cart", "Names of the totals")):
        send(blue, ["RedStone"], subject, f"Part {number} of the cart is mine; tell me before you change it.")


def _collide(red: Player) -> None:
    take_mail(red)
    red.mistake(
        "a tool by another name",
        Call("reserve_files", {**own(red), "paths": ["src/cart/totals.py"]}),
        by_tool("file_reservation_paths"),
        met=lambda value: bool(value["conflicts"]),
    )
    red.mistake(
        "words of mail for argument names",
        Call(
            "send_message",
            {
                "project": PROJECT,
                "from": "RedStone",
                "recipients": ["BlueLake"],
                "subject": "May I have src/cart/totals.py for an hour?",
                "message": "The webhook needs `paid_cents` there.",
                "thread_id": THREAD,
                "ack_required": True,
            },
        ),
        renamed("project", "project_key"),
        renamed("from", "sender_name"),
        renamed("recipients", "to", told=r"\bto\b"),
        renamed("message", "body_md"),
    )
    red.mistake(
        "an importance that there is not",
        Call(
            "send_message",
            {
                "project_key": PROJECT,
                "sender_name": "RedStone",
                "to": ["BlueLake"],
                "subject": "Payments wait for it",
                "body_md": "The release is on Friday.",
                "importance": "critical",
                "ack_required": True,
                "thread_id": THREAD,
            },
        ),
        put("importance", "urgent", told=r"\burgent\b"),
    )


def _share(blue: Player, red: Player) -> None:
    look(blue)
    blue.mistake("an inbox tool by another name", Call("check_inbox", own(blue)), by_tool("fetch_inbox"))
    first, *_ = items = sorted(take_mail(blue), key=lambda item: int(item["id"]))
    blue.mistake(
        "the body as text",
        Call(
            "reply_message",
            {
                "project_key": PROJECT,
                "message_id": first["id"],
                "sender_name": "BlueLake",
                "text": "Take it; I go on with the taxes.",
            },
        ),
        renamed("text", "body_md"),
    )
    acknowledge(blue, [item["id"] for item in items])
    blue.mistake(
        "a path out of a wider lease",
        Call("release_file_reservations", {**own(blue), "paths": ["src/cart/totals.py"]}),
        Fix(
            re.compile(r"src/cart/\*\*"),
            lambda call: call.having("paths", ["src/cart/**"]),
            Call("resource://file_reservations/code-shop", {}),
        ),
        met=lambda value: value["released"] == 1,
    )
    red.mistake(
        "a duration in words",
        Call("file_reservation_paths", {**own(red), "paths": ["src/cart/totals.py"], "ttl_seconds": "1h"}),
        put("ttl_seconds", 3600, told=r"whole number|seconds"),
        met=lambda value: len(value["granted"]) == 1,
    )
    for item in take_mail(red):
        answer(red, item, "Thank you, I have it until three.")
    look(blue)
    send(red, ["BlueLake"], "paid_cents is in", "In 3f2a1c; the tests are green.", thread_id=THREAD, ack_required=True)
    send(red, ["BlueLake"], "Two more names moved", "`due_cents` and `tax_cents`.", thread_id=THREAD, ack_required=True)
    for item in take_mail(blue):
        if item["ack_required"]:
            answer(blue, item, "Seen, the cart uses them.")


def _leave(blue: Player, red: Player) -> None:
    come_back(blue)
    blue.mistake(
        "a time in words",
        Call("fetch_inbox", {**own(blue), "since_ts": "10 minutes ago"}),
        put("since_ts", "2026-01-31T09:30:00Z", told=r"ISO 8601"),
    )
    read_thread(red, THREAD)
    red.mistake(
        "a call without the project",
        Call("release_file_reservations", {"agent_name": "RedStone"}),
        put("project_key", PROJECT, told=r"needs project_key|[Mm]issing[^.]*project_key|project_key is"),
    )
    take_mail(red)
