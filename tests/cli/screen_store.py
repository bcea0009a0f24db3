"""A store for screens: mail, agents, reservations and contacts whose ages are the same for half an hour."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.store.database import Store
from tests.seeded_store import SetClock
from tests.server.whole_app import OPERATOR, PLACE, settings_of

PROJECT = "/code/shop"
HOUR = 3_600
_BEGUN_S = 3 * 24 * HOUR + HOUR / 2
"""The half hour keeps every age half an hour away from the next one."""

Call = Callable[..., Awaitable[Any]]


def make_screen_store(folder: Path) -> Path:
    """The store's directory, in `folder`; everything in it is in Git too."""
    settings = settings_of(folder)
    asyncio.run(_fill(settings))
    return settings.storage_root


async def _fill(settings: Settings) -> None:
    clock = SetClock(now=Micros(system_clock() - int(_BEGUN_S * SECOND)))
    async with Store(settings.database_path, clock=clock) as store:
        services = build_services(settings, store, place=PLACE, operator_token=OPERATOR, clock=clock)
        credentials = Credentials(via="local", bearer_token=OPERATOR)

        async def call(tool: str, /, **arguments: Any) -> Any:
            given = arguments if tool == "ensure_project" else {"project_key": PROJECT, **arguments}
            return await services.tools.run(tool, given, credentials)

        await _register(call)
        await _write(call, clock)
        await services.close(timeout_s=30)
        assert await drain_in_process(store, archiver_settings(settings), timeout_s=60) == []


async def _register(call: Call) -> None:
    await call("ensure_project", human_key=PROJECT)
    await call("ensure_project", human_key="/code/warehouse/services/stock-and-delivery/backend")
    agents = (
        ("BlueLake", "claude-code", "opus-4.1", "Splits the monolith's parser into lexer, grammar and tree builder"),
        ("RedStone", "codex-cli", "gpt-5-codex", "Integration tests of the check-out"),
        ("GreenField", "gemini-cli", "gemini-2.5-pro-preview-06-05", ""),
    )
    for name, program, model, task in agents:
        await call("register_agent", name=name, program=program, model=model, task_description=task)
    await call("set_contact_policy", agent_name="GreenField", policy="contacts_only")


async def _write(call: Call, clock: SetClock) -> None:
    """Three days ago, one day later, and five and two hours ago."""
    letters: dict[str, Any] = {"sender_name": "BlueLake", "to": ["RedStone"], "cc": ["Human"]}
    await call(
        "send_message",
        **letters,
        subject="Who takes the parser?",
        body_md="I have the lexer.\n\nYours?",
        attachment_paths=["data:text/plain,lexer%20then%20grammar"],
        thread_id="parser-split",
        importance="high",
        ack_required=True,
    )
    clock.step(24 * HOUR)
    await call("reply_message", message_id=1, sender_name="RedStone", body_md="Mine, *done* by noon.")
    await call(
        "send_message",
        sender_name="RedStone",
        to=["Human"],
        subject="[bold]\u202eknil of the orders page, 日本語",
        body_md="\x1b[31mred\x1b[0m",
    )
    clock.step(43 * HOUR)
    await call(
        "send_message",
        sender_name="RedStone",
        to=["Human", "BlueLake"],
        subject="The check-out accepts a negative quantity and books it as a refund: stop the release?",
        body_md="Seen in `cart.py`, with a test.",
        thread_id="check-out-negative-quantities",
        importance="urgent",
        ack_required=True,
    )
    await call("acknowledge_message", agent_name="BlueLake", message_id=4)
    await call("acknowledge_message", agent_name="Human", message_id=1)
    await call("mark_message_read", agent_name="Human", message_id=3)
    await call("request_contact", from_agent="RedStone", to_agent="GreenField", reason="The prices of the check-out")
    await call("send_message", sender_name="BlueLake", to=["GreenField"], subject="Prices", body_md="Where from?")
    clock.step(3 * HOUR)
    await _reserve(call)


async def _reserve(call: Call) -> None:
    own = {"agent_name": "BlueLake", "reason": "parser-split", "ttl_seconds": 6 * HOUR}
    await call("file_reservation_paths", **own, paths=["src/parser/**", "tests/parser/test_tree_builder.py"])
    await call("file_reservation_paths", agent_name="RedStone", paths=["docs/"], exclusive=False, ttl_seconds=9 * HOUR)
    await call("release_file_reservations", agent_name="RedStone")
