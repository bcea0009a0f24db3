"""No task and no thread without a keeper, but those that have a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcp_agent_mail
from tests.architecture.kept import made_in

SOURCE = Path(mcp_agent_mail.__file__).parent

OUR_OWN_WORK = "computes, or touches files of the store alone, in the course of a call that awaits it"
ALLOWED = {
    ("core/concurrency/keeper.py", "create_task"): "the keeper itself",
    (
        "core/concurrency/looks.py",
        "Thread",
    ): "whatever a look raises goes to its caller; one that hangs is counted as lost",
    ("core/concurrency/computation.py", "Thread"): "bounded work whose caller keeps a place in Turns until it ends",
    ("core/git/process.py", "Timer"): "ends a Git that is late; its call ends with it",
    ("store/engine/writer.py", "Thread"): "its end is told to everybody who waits and who comes, and health says error",
    (
        "store/engine/sqlite/long_reads.py",
        "run_in_executor",
    ): "the end of a thread that opened a connection nobody waits for now",
    (
        "store/engine/sqlite/long_reads.py",
        "ensure_future",
    ): "work on a lent connection: who asked for it waits for its end",
    ("store/engine/writer.py", "to_thread"): "the end of the writer's thread, which takes what is queued",
    ("archive/steps.py", "Thread"): "in the archiver: what it raises is raised where its step is awaited",
    ("llm/lite_llm.py", "Thread"): "what a model's library raises goes to the call that awaits it",
    ("core/running_server.py", "Thread"): "a hook's or guard's question for 300 ms, in a process of seconds",
    ("clients/hook/wake.py", "Thread"): "ends a watcher's process; without it the watcher ends with its wait",
    ("cli/agentmail/mcp_server.py", "Thread"): "tells that tmux is gone, or starts a server: a call says what is wrong",
    ("cli/stdio/proxy.py", "Thread"): "one call of a client: what goes wrong is its answer",
    ("cli/stdio/session_stream.py", "Thread"): "a client's stream: what breaks it opens it again, until the input ends",
    ("cli/build_slots/supervisor.py", "Thread"): "waits for the command that `am run` runs",
    ("server/observability/tracing.py", "Thread"): "the last spans, for two seconds at the stop",
    ("server/observability/tracing.py", "to_thread"): "waits for that thread, with a time limit",
    ("server/observability/metrics.py", "to_thread"): "an import",
    ("features/health/silence.py", "to_thread"): "a few milliseconds of the C library, in a pass of a keeper",
    (
        "server/observability/line_queue.py",
        "Thread",
    ): "shows lines: nobody waits for them, a terminal that has gone is its end",
    ("server/subscriptions.py", "create_task"): "part of a stream's request: writes into it, and ends with it",
    (
        "server/transport/hearing.py",
        "ensure_future",
    ): "part of a call: listens for its client while it waits, and ends with it",
    (
        "server/transport/progress_stream.py",
        "create_task",
    ): "part of a call: tells its client that it is under way, and ends with it",
    ("features/archiving/threads.py", "Thread"): "in the archiver: whoever collects its job hears what it ended of",
    (
        "notify/webhooks.py",
        "TaskGroup",
    ): "in the keeper's own task: what one webhook's raises ends all, and they begin anew",
    ("notify/webhooks.py", "create_task"): "likewise",
    ("bootstrap/custom_calls.py", "create_task"): "part of a call, or kept by LeftCalls until it ends",
    ("bootstrap/left_calls.py", "ThreadPoolExecutor"): "what tools do in threads goes to the call that awaits it",
    ("server/process_end.py", "Thread"): "ends the process, when all else has",
    ("features/guarding/spool.py", "to_thread"): OUR_OWN_WORK,
    ("features/archiving/offline_drain.py", "to_thread"): "a command without a server, which waits for it",
}


@pytest.fixture(scope="module")
def made() -> set[tuple[str, str]]:
    return made_in(SOURCE)


def test_every_task_and_thread_has_a_keeper_or_a_reason(made: set[tuple[str, str]]) -> None:
    assert made - set(ALLOWED) == set(), (
        "give it a Keeper (core/concurrency/keeper.py), or Looks (core/concurrency/looks.py)"
    )


def test_every_reason_is_still_needed(made: set[tuple[str, str]]) -> None:
    assert set(ALLOWED) - made == set()


def test_a_bare_task_is_found(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("import asyncio\nasyncio.create_task(work())\nthreading.Thread(target=f)\n")

    assert made_in(tmp_path) == {("module.py", "create_task"), ("module.py", "Thread")}
