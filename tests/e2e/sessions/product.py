"""Two repositories under a product: the shop's agent needs a change of the API's, whom it has never met."""

from __future__ import annotations

import re
from typing import Any

from tests.e2e.sessions.chores import Team, acknowledge, answer, look, own, read_thread, send, take_mail, work_on
from tests.e2e.sessions.player import Call, Cost, Fix, Player, instead, put, renamed
from tests.served import Served

SHOP, API = "/code/shop", "/code/store-api"
THREAD = "API-9"
_PRODUCT = Call("resource://product/store", {})


def play(server: Served, cost: Cost, form: str) -> None:
    """A person has linked the projects; QuietFox hears only those whom it has approved."""
    with server.connect() as calls:
        for project, name in ((SHOP, "GreenField"), (API, "QuietFox"), (API, "AmberCreek")):
            calls.call("macro_start_session", human_key=project, agent_name=name, program="claude-code", model="a")
        calls.call("ensure_product", product_key="store", name="store")
        for project in (SHOP, API):
            calls.call("products_link", product_key="store", project_key=project)
        calls.call("set_contact_policy", project_key=API, agent_name="QuietFox", policy="contacts_only")
    blue = Player(server, cost, project=SHOP, profile="core", form=form, name="BlueLake")
    fox = Player(server, cost, project=API, profile="core", form=form, name="QuietFox")
    _begin(blue)
    _meet(blue, fox)
    _work(blue, fox)
    for player in (blue, fox):
        team = Team(server, player.project)
        if player is fox:
            fox.done("set_contact_policy", **own(fox), policy="auto")
        work_on([player], team, "taxes", "refunds", "invoices", "receipts")
        team.close()
    _end(blue, fox)
    blue.close()
    fox.close()


def _begin(blue: Player) -> None:
    blue.mistake(
        "a relative path",
        Call(
            "macro_start_session",
            {"human_key": "code/shop", "agent_name": "BlueLake", "program": "claude-code", "model": "opus-4.1"},
        ),
        put("human_key", SHOP, told="absolute path"),
    )
    blue.mistake(
        "the project as cwd",
        Call("list_agents", {"cwd": SHOP}),
        renamed("cwd", "project_key"),
        met=lambda value: bool(value["agents"]),
    )
    # Who works on the API? The product's other projects, where the list does not tell them.
    if "elsewhere" not in blue.done("list_agents", project_key=SHOP):
        product = blue.read("resource://product/store")
        slug = next(project["slug"] for project in product["projects"] if project["human_key"] == API)
        blue.read(f"resource://agents/{slug}")


def _meet(blue: Player, fox: Player) -> None:
    sent = blue.mistake(
        "a project of the address by the last part of its path",
        Call(
            "send_message",
            {
                "project_key": SHOP,
                "sender_name": "BlueLake",
                "to": ["QuietFox@store-api"],
                "subject": "Paid cents in the webhook?",
                "body_md": "The shop needs `paid_cents` in the payload of /webhooks/paid.",
                "thread_id": THREAD,
            },
        ),
        put("to", [f"QuietFox@{API}"], told=API, lookup=_PRODUCT),
    )
    held = sent["deliveries"][0]["payload"]["id"]
    blue.mistake(
        "a contact's name with two letters changed",
        Call(
            "request_contact",
            {"project_key": SHOP, "from_agent": "BlueLake", "to_agent": "AmberCreak", "to_project": API},
        ),
        put("to_agent", "AmberCreek", told=r"\bAmberCreek\b", lookup=Call("list_agents", {"project_key": API})),
        met=lambda value: value["to"] == "AmberCreek",
    )
    requests: list[Any] = take_mail(fox)
    (asking,) = (item for item in requests if "BlueLake" in item["subject"])
    reply = {"project_key": API, "sender_name": "QuietFox", "body_md": "I look at it at once."}
    fox.mistake(
        "a reply to held mail",
        Call("reply_message", {**reply, "message_id": held}),
        put("message_id", asking["id"], told=r"\bfetch_inbox\b|\brespond_contact\b"),
    )
    right = {"project_key": API, "to_agent": "QuietFox", "from_agent": "BlueLake", "accept": True}
    fox.mistake(
        "from and to of a contact swapped",
        Call("respond_contact", {**right, "to_agent": "BlueLake", "from_agent": "QuietFox", "from_project": SHOP}),
        instead(
            Call("respond_contact", right),
            told=r"[Ss]wap|from_agent=.?BlueLake|to_agent=.?QuietFox",
            lookup=Call("list_contacts", own(fox)),
        ),
        put("from_project", SHOP, told=rf"{SHOP}\b"),
        met=lambda value: bool(value["approved"]) and value["to"] == "QuietFox",
    )
    acknowledge(fox, [item["id"] for item in requests if item["ack_required"]])


def _work(blue: Player, fox: Player) -> None:
    (request,) = (item for item in take_mail(fox) if item["thread_id"] == THREAD)
    fox.mistake(
        "words of mail for argument names in a reply",
        Call(
            "reply_message",
            {"project": API, "id": request["id"], "sender": "QuietFox", "body": "Yes: from version 3 on."},
        ),
        renamed("project", "project_key"),
        renamed("id", "message_id"),
        renamed("sender", "sender_name"),
        renamed("body", "body_md"),
    )
    fox.mistake(
        "several files as one text",
        Call("file_reservation_paths", {**own(fox), "paths": "src/webhooks.py src/payload.py"}),
        put(
            "paths",
            ["src/webhooks.py", "src/payload.py"],
            told=r"\blist\b|\[\W*src",
            lookup=Call("release_file_reservations", own(fox)),
        ),
        met=lambda value: len(value["granted"]) == 2,
    )
    for version in range(3):
        send(
            fox,
            [f"BlueLake@{SHOP}"],
            f"Draft {version} of the payload",
            f"`paid_cents` is in draft {version}; say what is missing.",
            thread_id=THREAD,
            ack_required=True,
        )
    blue.mistake(
        "a limit in words",
        Call("fetch_inbox", {**own(blue), "limit": "all"}),
        put("limit", 50, told="whole number"),
    )
    asked = [item["id"] for item in take_mail(blue) if item["ack_required"]]
    blue.done(
        "respond_contact",
        project_key=SHOP,
        to_agent="BlueLake",
        from_agent="QuietFox",
        from_project=API,
        accept=True,
    )
    acknowledge(blue, asked)
    drafts = [item for item in take_mail(blue) if item["ack_required"]]
    assert len(drafts) == 3, drafts
    acknowledge(blue, [item["id"] for item in drafts[1:]])
    answer(blue, drafts[0], "The currency is missing.")
    look(fox)


def _end(blue: Player, fox: Player) -> None:
    take_mail(fox)
    blue.mistake(
        "a project misspelt",
        Call("search_messages", {"project_key": "/code/shpo", "query": "paid_cents"}),
        put("project_key", SHOP, told=rf"{SHOP}\b", lookup=_PRODUCT),
    )
    blue.mistake(
        "a thread with blanks",
        Call(
            "send_message",
            {
                "project_key": SHOP,
                "sender_name": "BlueLake",
                "to": [f"QuietFox@{API}"],
                "subject": "Thank you",
                "body_md": "The shop takes version 3.",
                "thread_id": "the API thread",
            },
        ),
        Fix(re.compile(r"an id like|A-Z"), lambda call: call.having("thread_id", THREAD)),
    )
    fox.mistake(
        "a consent in words",
        Call(
            "respond_contact",
            {
                "project_key": API,
                "to_agent": "QuietFox",
                "from_agent": "GreenField",
                "from_project": SHOP,
                "accept": "ok",
            },
        ),
        put("accept", value=True, told=r"\btrue\b"),
    )
    fox.mistake(
        "a policy that there is not",
        Call("set_contact_policy", {**own(fox), "policy": "everyone"}),
        put("policy", "open", told=r"\bopen\b"),
    )
    read_thread(blue, THREAD)
    take_mail(fox)
    fox.done("release_file_reservations", **own(fox))
