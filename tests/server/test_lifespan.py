"""A server from its start to its stop, in this process: what is opened, told and closed, and who may not start."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import FailPoint, Faults
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.server.lifespan import GC_THRESHOLDS, Running, StopTime, _store, run_server, tune_collector
from mcp_agent_mail.server.transport.listener import PortTaken, open_listener
from mcp_agent_mail.store.engine.lock import StoreInUse, StoreLock
from mcp_agent_mail.store.instrumented_store import InstrumentedStore
from tests.archive_harness import open_archive_harness
from tests.served import pause
from tests.server.whole_app import settings_of

ENDS_WITHIN_S = 30.0


def served(directory: Path, **settings: str) -> Settings:
    return settings_of(directory, HTTP_PORT="0", SHUTDOWN_TIMEOUT_SECONDS="20", **settings)


@pytest.fixture
def collector() -> Iterator[None]:
    """As it was, afterwards."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collector")
async def test_a_server_tells_where_it_is_answers_and_leaves_nothing_behind(tmp_path: Path) -> None:
    settings = served(tmp_path)
    announced: asyncio.Queue[Running] = asyncio.Queue()
    reached: list[FailPoint] = []
    serving = asyncio.create_task(run_server(settings, announced.put_nowait, Faults(fault_hook=reached.append)))
    running = await asyncio.wait_for(announced.get(), ENDS_WITHIN_S)
    root = settings.storage_root

    token, owner = (root / "operator.token").read_text(), json.loads((root / "server.json").read_text())
    async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
        ready = await client.get("/health/readiness")
        health = (await client.post("/rpc/health_check", json={})).json()
        await client.post("/rpc/ensure_project", json={"human_key": "/code/app"})
        async with asyncio.timeout(ENDS_WITHIN_S):
            while not (root / "archive.lock").exists():  # The archiver is started a moment later.
                await asyncio.to_thread(pause)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(serving, ENDS_WITHIN_S)

    assert (ready.status_code, health["store"]["owner_pid"], health["http_port"]) == (
        200,
        os.getpid(),
        int(running.url.rpartition(":")[2]),
    )
    assert (running.pid, running.mcp_path, running.storage_root) == (os.getpid(), "/mcp", root)
    assert (owner["url"], token.startswith("amo_")) == (running.url, True)
    assert not (root / "operator.token").exists()
    assert not (root / "mail.sqlite3-wal").exists()
    assert [reached.count(point) for point in (FailPoint.START, FailPoint.STOP)] == [4, 2]
    assert len(list(root.glob("projects/*/.git"))) == 1
    with StoreLock(root, settings.database_path):
        pass


@pytest.mark.usefixtures("collector")
async def test_who_signs_in_is_told_the_port_that_was_bound(tmp_path: Path) -> None:
    jwts = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": "s" * 40, "HTTP_JWT_ISSUER": "https://id.example"}
    announced: asyncio.Queue[Running] = asyncio.Queue()
    serving = asyncio.create_task(run_server(served(tmp_path, **jwts), announced.put_nowait))
    running = await asyncio.wait_for(announced.get(), ENDS_WITHIN_S)

    async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
        document = await client.get("/.well-known/oauth-protected-resource/mcp", headers={"Host": "evil.example"})
        refused = await client.post("/mcp", json={})
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(serving, ENDS_WITHIN_S)

    assert document.json()["resource"] == f"{running.url}/mcp"
    named = f'Bearer resource_metadata="{running.url}/.well-known/oauth-protected-resource"'
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, named)


@contextmanager
def as_stderr(file: Path) -> Iterator[None]:
    """What this process writes to its stderr goes to `file`, as that of a server in the background does."""
    before = os.dup(2)
    with file.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@pytest.mark.usefixtures("collector")
async def test_a_server_whose_numbers_cannot_be_noted_starts_and_says_so(tmp_path: Path) -> None:
    settings = served(tmp_path)
    with open_archive_harness(settings.storage_root) as harness:
        project = harness.add_project("/code/app")
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        harness.archive()
        harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(harness.database, tmp_path / "older.sqlite3")
        harness.send(blue, [red])
        harness.archive()
        database = harness.database
    shutil.copy(tmp_path / "older.sqlite3", database)
    database.rename(settings.database_path)
    (settings.storage_root / "numbers.json").mkdir()
    announced: asyncio.Queue[Running] = asyncio.Queue()
    serving = asyncio.create_task(run_server(settings, announced.put_nowait))
    running = await asyncio.wait_for(announced.get(), ENDS_WITHIN_S)

    async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
        health = (await client.post("/rpc/health_check", json={})).json()
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(serving, ENDS_WITHIN_S)

    assert "numbers.json" in json.dumps(health)


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("is_ours", [True, False])
async def test_a_server_looks_after_its_log_where_that_is_its_stderr(tmp_path: Path, is_ours: bool) -> None:
    settings = served(tmp_path)
    announced: asyncio.Queue[Running] = asyncio.Queue()

    with as_stderr(settings.storage_root / "server.log" if is_ours else tmp_path / "other.log"):
        serving = asyncio.create_task(run_server(settings, announced.put_nowait))
        running = await asyncio.wait_for(announced.get(), ENDS_WITHIN_S)
        async with httpx.AsyncClient(base_url=running.url) as client:
            figures = (await client.get("/metrics")).text
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(serving, ENDS_WITHIN_S)

    assert 'task_failing{task="store-owner"} 0.0' in figures
    assert ('task_failing{task="server-log"} 0.0' in figures) is is_ours


async def refused(settings: Settings) -> AgentMailError:
    def announce(running: Running) -> None:
        raise AssertionError(running)

    with pytest.raises(AgentMailError) as caught:
        await asyncio.wait_for(run_server(settings, announce), ENDS_WITHIN_S)
    return caught.value


async def test_a_taken_store_is_told_before_anything_is_opened(tmp_path: Path) -> None:
    settings = served(tmp_path)

    with StoreLock(settings.storage_root, settings.database_path):
        error = await refused(settings)

    assert isinstance(error, StoreInUse)
    assert f"process {os.getpid()}" in error.message
    assert not settings.database_path.exists()


async def test_a_taken_port_is_told_before_the_store_is_opened_and_the_lock_is_given_back(tmp_path: Path) -> None:
    with open_listener("127.0.0.1", 0) as listener:
        settings = settings_of(tmp_path, HTTP_PORT=str(listener.getsockname()[1]))
        error = await refused(settings)

    assert isinstance(error, PortTaken)
    assert not settings.database_path.exists()
    assert not (settings.storage_root / "operator.token").exists()
    with StoreLock(settings.storage_root, settings.database_path):
        pass


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_what_fails_in_the_middle_of_a_start_closes_what_was_opened(tmp_path: Path, nth: int) -> None:
    settings = served(tmp_path)
    reached = 0

    def fail(point: FailPoint) -> None:
        nonlocal reached
        reached += point is FailPoint.START
        if reached == nth:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        await run_server(settings, lambda _: None, Faults(fault_hook=fail))

    assert not (settings.storage_root / "operator.token").exists()
    with StoreLock(settings.storage_root, settings.database_path):
        pass


@pytest.mark.parametrize("is_counted", [True, False])
def test_the_store_counts_its_work_where_that_is_asked_for(tmp_path: Path, is_counted: bool) -> None:
    settings = settings_of(tmp_path, INSTRUMENTATION_ENABLED=str(is_counted), INSTRUMENTATION_SLOW_QUERY_MS="7")

    store = _store(settings, lambda _: None)

    assert isinstance(store, InstrumentedStore) is is_counted
    assert (store.queries and store.queries.slow_ms) == (7 if is_counted else None)


def test_the_time_of_a_stop_runs_from_its_beginning() -> None:
    stopping = StopTime(10.0)

    before = stopping.left_s()
    stopping.begin()
    after = stopping.left_s()
    over = StopTime(0.0)
    over.begin()

    assert before == 10.0
    assert 0 < after < before
    assert over.left_s() == 0.0


@pytest.mark.usefixtures("collector")
def test_what_was_imported_is_not_walked_over_again() -> None:
    tune_collector()

    assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), gc.isenabled()) == (GC_THRESHOLDS, True)
