"""Every task beside the requests, met by every kind of exception: it is logged, health tells it, the work goes on."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

import mcp_agent_mail
from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed
from tests.architecture.kept import names_of_keepers
from tests.faults.harness import BLUE, PLACE, PROJECT, RED, WITHIN_S, harness, until

E = TypeVar("E", bound=Exception)

ALL_ON = {
    "NOTIFICATIONS_ENABLED": "true",
    "RETENTION_REPORT_ENABLED": "true",
    "TOOL_METRICS_EMIT_ENABLED": "true",
    "WEBHOOK_URLS": "https://mail.example/hook",
    "WEBHOOK_SECRET": "k" * 32,
}
OPERATOR = Credentials(via="local", bearer_token="unused")
_AT_NEED = ("activity", "delivery-marks", "issued-tokens")
"""They run while something is to be written; each has a test of its own below."""
_ALONE = {"idle-mailboxes", "jwt-keys", "server-log", "store-owner"}
"""Made by the server's own start, and tested there."""


def every_error() -> Iterator[Exception]:
    """One of each type that we define, of SQLite's, of the system's, of a bug's."""
    for kind in sorted(_below(AgentMailError), key=lambda kind: f"{kind.__module__}.{kind.__qualname__}"):
        error = kind.__new__(kind)
        AgentMailError.__init__(error, f"injected {kind.__qualname__}")
        yield error
    yield from (kind(f"injected {kind.__name__}") for kind in sorted(_below(sqlite3.Error), key=str))
    yield from (OSError("injected OSError"), TimeoutError("injected TimeoutError"), ValueError("injected ValueError"))
    yield from (AssertionError("injected AssertionError"), Exception("injected Exception"))


def _below(kind: type[E]) -> set[type[E]]:
    return {kind}.union(*(_below(lower) for lower in kind.__subclasses__()))


@asynccontextmanager
async def everything_on(root: Path) -> AsyncIterator[Services]:
    """The services of a server with every worker that settings can switch on."""
    environ = {"STORAGE_ROOT": str(root), "AGENT_MAIL_ENV_FILE": os.devnull, **ALL_ON}
    settings = load_settings(environ, cwd=root).settings
    async with Store(root / "mail.sqlite3") as store:
        services = build_services(settings, store, place=PLACE, operator_token="unused")
        try:
            yield services
        finally:
            await services.close(timeout_s=WITHIN_S)


async def health(services: Services) -> dict[str, Any]:
    answer: dict[str, Any] = await services.tools.run("health_check", {}, Credentials(via="rpc"))
    return answer


def inject(keeper: Keeper, errors: list[Exception]) -> Callable[[], None]:
    """Each run of its work raises the next one, without a pause; the last run waits for the returned call."""
    left, go_on, work = list(errors), asyncio.Event(), keeper._work
    keeper._first_pause_s = 0.0

    async def fail_first() -> None:
        if left:
            raise left.pop(0)
        await go_on.wait()
        await work()

    keeper._work = fail_first
    return go_on.set


async def test_health_knows_every_keeper_there_is(tmp_path: Path) -> None:
    async with everything_on(tmp_path) as services:
        known = {keeper.name for keeper in services.keepers()}

    assert known | _ALONE == names_of_keepers(Path(mcp_agent_mail.__file__).parent)


async def test_no_exception_ends_a_task_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    errors = list(every_error())
    async with everything_on(tmp_path) as services:
        keepers = [keeper for keeper in services.keepers() if keeper.name not in _AT_NEED]
        go_on = [inject(keeper, errors) for keeper in keepers]
        with caplog.at_level(logging.WARNING):
            services.start()
            await until(
                _all(lambda: all(keeper.figures().restarts == len(errors) for keeper in keepers)),
                lambda: str({keeper.name: keeper.figures().restarts for keeper in keepers}),
            )
        sick = await health(services)
        let_work(services, go_on)
        await until(_all(lambda: all(keeper.error is None for keeper in keepers)), lambda: str(_wrong(keepers)))
        well = await health(services)

    assert {keeper.name: logged(caplog, keeper) for keeper in keepers} == {
        keeper.name: {str(error) for error in errors} for keeper in keepers
    }
    assert told_by_health(sick) == {keeper.name for keeper in keepers}
    assert (sick["status"], well["status"], well["failing"]) == ("degraded", "ok", [])


def logged(caplog: pytest.LogCaptureFixture, keeper: Keeper) -> set[str]:
    """The errors that lines of the log tell of this task."""
    facts = [getattr(record, "facts", {}) for record in caplog.records]
    return {one["error"] for one in facts if one.get("task") == keeper.name}


def let_work(services: Services, go_on: list[Callable[[], None]]) -> None:
    """Let them all work, and give those that wait for something something to do."""
    for release in go_on:
        release()
    services.archiving._wake.set()
    if services.workers.signals is not None:
        services.workers.signals.note(frozenset())


def told_by_health(answer: dict[str, Any]) -> set[str]:
    """Which tasks it says fail, each with since when and why."""
    return {one["task"] for one in answer["failing"] if one["since"] and one["error"]}


def _wrong(keepers: list[Keeper]) -> list[object]:
    return [keeper.figures() for keeper in keepers if keeper.error is not None]


def _all(is_true: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return is_true()

    return look


@pytest.mark.parametrize("error", [StoreFailed("injected"), OSError("injected"), ZeroDivisionError("injected")])
async def test_activity_that_could_not_be_written_is_written_later(tmp_path: Path, error: Exception) -> None:
    async with everything_on(tmp_path) as services:
        key = "/code/app"
        await services.tools.run("ensure_project", {"human_key": key}, Credentials(via="rpc"))
        keeper = services.activity.keeper
        go_on = inject(keeper, [error])
        services.activity._interval_s = 0.0
        await services.tools.run(
            "register_agent",
            {"project_key": key, "name": "BlueLake", "program": "tests", "model": "none"},
            Credentials(via="rpc"),
        )
        go_on()

        await until(_all(lambda: not services.activity._noted and keeper.error is None), lambda: str(keeper.figures()))

        assert keeper.figures().restarts == 1


@pytest.mark.parametrize("error", [StoreFailed("injected"), OSError("injected"), ZeroDivisionError("injected")])
async def test_the_use_of_a_token_that_could_not_be_written_is_written_later(tmp_path: Path, error: Exception) -> None:
    async with everything_on(tmp_path) as services:
        made = await services.tools.run("create_issued_token", {}, OPERATOR)
        book = services.token_book
        go_on = inject(book.keeper, [error])
        book._interval_s = 0.0
        book.note_use(made["id"])
        go_on()

        await until(_all(lambda: not book._used and book.keeper.error is None), lambda: str(book.keeper.figures()))

        assert book.keeper.figures().restarts == 1
        (listed,) = await services.tools.run("list_issued_tokens", {}, OPERATOR)
        assert listed["last_used_ts"] is not None


@pytest.mark.parametrize("error", [StoreFailed("injected"), OSError("injected"), ZeroDivisionError("injected")])
async def test_steps_of_delivery_that_could_not_be_written_are_written_later(tmp_path: Path, error: Exception) -> None:
    async with harness(tmp_path / "store", starts=False) as home:
        message_id = await home.send()
        marks = home.services.delivery_marks
        marks._interval_s = 0.0
        go_on = inject(marks.keeper, [error])
        red = await home.call("whois", project_key=PROJECT, agent_name=RED)
        marks.note_handed(AgentId(red["id"]), [MessageId(message_id)])
        go_on()

        await until(_all(lambda: not marks._handed and marks.keeper.error is None), lambda: str(marks.keeper.figures()))
        status = await home.call("message_status", project_key=PROJECT, message_id=message_id, agent_name=BLUE)

        assert marks.keeper.figures().restarts == 1
        assert status["recipients"][0]["status"] == "handed_over"
