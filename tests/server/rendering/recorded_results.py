"""Twelve typical results, recorded by real calls: `python -m tests.server.rendering.recorded_results` makes them anew.

They are what the reference page's counts of the formats are about (formats_page.py).
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.server.whole_app import WholeApp, open_whole_app

GOLDEN = Path(__file__).parents[2] / "golden" / "recorded_results.json"
APP = "/code/shop"
TEAM = {
    "BlueLake": ("claude-code", "opus-4.1", "Checkout: cart totals and taxes"),
    "RedStone": ("codex-cli", "gpt-5-codex", "Payment providers"),
    "GreenField": ("gemini-cli", "gemini-2.5-pro", "Accessible forms"),
    "QuietFox": ("claude-code", "sonnet-4.5", "Database migrations"),
    "SilverBirch": ("cursor-agent", "composer-1", "End-to-end tests"),
    "AmberCreek": ("opencode", "qwen3-coder", "Release notes and docs"),
}
THREAD = "SHOP-42"
_LETTERS = (
    ("RedStone", "Which tax tables does the cart use?", {"thread_id": THREAD}),
    ("GreenField", "Labels of the address form", {"topic": "forms"}),
    ("RedStone", "Payment webhook arrives twice", {"thread_id": THREAD, "importance": "high"}),
    ("QuietFox", "Migration 0042 is in review", {"thread_id": "SHOP-57", "ack_required": True}),
    ("SilverBirch", "Checkout test fails on main since noon", {"importance": "urgent", "ack_required": True}),
    ("AmberCreek", "Release notes need your part", {"topic": "release"}),
    ("RedStone", "Webhook: duplicates are dropped by event id now", {"thread_id": THREAD}),
    ("GreenField", "Contrast of the pay button", {"topic": "forms"}),
)
_OWN_PATHS = ["src/cart/**", "src/tax/rates.py", "tests/cart/", "docs/checkout.md", "src/api/cart_*.py", "README.md"]
LISTS = ("fetch_inbox", "thread", "list_agents", "file_reservation_paths", "file_reservations")
"""Those that are lists of five or more items without bodies."""
LINES = ("fetch_inbox", "thread", "list_agents", "file_reservations", "search_messages")
"""Those of which Markdown is one line an item."""
_OTHERS_PATHS = {
    "RedStone": ["src/payments/**", "src/api/webhooks.py", "tests/payments/"],
    "GreenField": ["src/forms/*.py", "static/forms/"],
    "QuietFox": ["migrations/**", "src/models.py"],
}


_BODIES = (
    (
        "{}.\n\n- The cart keeps its totals in cents; see `src/cart/totals.py`.\n"
        "- Please answer here before you change the public names, so that the tests of the checkout stay green.\n"
    ),
    "{}: done, the tests of the checkout are green.",
    "{}? The cart needs it before the release on Friday.\n\n```py\ntotal = sum(line.cents for line in cart)\n```\n",
)


def _body(subject: str) -> str:
    return _BODIES[len(subject) % len(_BODIES)].format(subject)


async def _read(app: WholeApp, uri: str) -> Any:
    return await app.call("read_resource", uri=uri)


async def _team(app: WholeApp) -> None:
    await app.call("ensure_project", human_key=APP)
    for name, (program, model, task) in TEAM.items():
        await app.call(
            "register_agent", project_key=APP, name=name, program=program, model=model, task_description=task
        )


async def _mail(app: WholeApp) -> None:
    for sender, subject, more in _LETTERS:
        await app.call(
            "send_message",
            project_key=APP,
            sender_name=sender,
            to=["BlueLake"],
            subject=subject,
            body_md=_body(subject),
            **more,
        )


async def _leases(app: WholeApp) -> None:
    for name, paths in _OTHERS_PATHS.items():
        await app.call("file_reservation_paths", project_key=APP, agent_name=name, paths=paths, reason="SHOP-42")


async def record(folder: Path) -> dict[str, Any]:
    """Each result by what was called; the order is that of the page."""
    async with open_whole_app(folder) as app:
        await _team(app)
        await _mail(app)
        await _leases(app)
        blue: dict[str, Any] = {"project_key": APP, "agent_name": "BlueLake"}
        asked: dict[str, Callable[[], Awaitable[Any]]] = {
            "fetch_inbox": lambda: app.call("fetch_inbox", **blue),
            "fetch_inbox with bodies": lambda: app.call("fetch_inbox", **blue, include_bodies=True),
            "acknowledge_message": lambda: app.call("acknowledge_message", **blue, message_id=4),
            "send_message": lambda: app.call(
                "send_message",
                project_key=APP,
                sender_name="BlueLake",
                to=["RedStone", "QuietFox"],
                subject="Totals are in cents from now on",
                body_md=_body("Totals are in cents from now on"),
                thread_id=THREAD,
            ),
            "reply_message": lambda: app.call(
                "reply_message", project_key=APP, sender_name="BlueLake", message_id=3, body_md=_body("Fixed")
            ),
            "thread": lambda: _read(app, f"resource://thread/{THREAD}?project={APP}&include_bodies=false"),
            "list_agents": lambda: app.call("list_agents", project_key=APP),
            "file_reservation_paths": lambda: app.call(
                "file_reservation_paths", **blue, paths=_OWN_PATHS, reason="SHOP-42"
            ),
            "file_reservation_paths in conflict": lambda: app.call(
                "file_reservation_paths", **blue, paths=["src/models.py", "src/checkout.py"], reason="SHOP-42"
            ),
            "file_reservations": lambda: _read(app, "resource://file_reservations/code-shop"),
            "search_messages": lambda: app.call("search_messages", project_key=APP, query="cart OR checkout"),
            "macro_start_session": lambda: app.call(
                "macro_start_session",
                human_key=APP,
                agent_name="BlueLake",
                program="claude-code",
                model="opus-4.1",
                file_reservation_paths=["src/checkout.py"],
            ),
        }
        return {name: await ask() for name, ask in asked.items()}


def recorded() -> dict[str, Any]:
    """The results of the last recording."""
    results: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return results


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = asyncio.run(record(Path(folder)))
    GOLDEN.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
