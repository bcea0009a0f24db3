"""`am run` as people run it: a real server, real children, real signals."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import am
from tests.cli.conftest import Post

ECHO = 'echo "$AM_SLOT|$AGENT|$PROJECT|$BRANCH|$CACHE_KEY"'
ENDS_WITHIN_S = 60.0
TRAP = 'trap "echo got {name}; exit 3" {name}; echo ready; while :; do sleep 0.02; done'


def run(post: Post, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    settings = {"AGENT_NAME": "BlueLake", "AGENT_MAIL_PROJECT": post.project, **more}
    home = post.server.root.parent
    return am(*arguments, home=home, cwd=home, stdin="", STORAGE_ROOT=str(post.server.root), **settings)


def start(post: Post, *arguments: str) -> subprocess.Popen[str]:
    environment = {**post.server.environment(), "AGENT_NAME": "BlueLake", "AGENT_MAIL_PROJECT": post.project}
    return subprocess.Popen(
        [sys.executable, "-m", "mcp_agent_mail", "run", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=post.project,
    )


def call(post: Post, tool: str, agent: str, slot: str, **more: Any) -> Any:
    with post.server.connect() as connection:
        given = {"project_key": post.project, "agent_name": agent, "slot": slot, **more}
        return connection.call(f"{tool}_build_slot", **given)


def is_free(post: Post, slot: str) -> bool:
    taken = call(post, "acquire", "RedStone", slot)["granted"] is not None
    call(post, "release", "RedStone", slot)
    return taken


# --- What the command is told --------------------------------------------------------------------


def test_the_command_is_told_its_slot_agent_project_branch_and_cache_key(post: Post) -> None:
    done = run(post, "run", "told", "--", "sh", "-c", ECHO)

    slot, agent, project, branch, key = done.stdout.strip().split("|")
    assert (slot, agent, project, branch) == ("told", "BlueLake", post.project, "")
    assert key.startswith("am.")
    assert key.endswith(".BlueLake.~detached")


def test_without_a_name_nothing_runs_and_the_ways_to_give_one_are_said(post: Post) -> None:
    done = run(post, "run", "nameless", "--", "echo", "ran", AGENT_NAME="")

    assert (done.returncode, done.stdout) == (1, "")
    assert "--agent NAME" in done.stderr


# --- How it ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
    ],
)
def test_the_exit_code_is_the_commands_and_the_slot_is_released(post: Post, command: str, code: int) -> None:
    done = run(post, "run", "ends", "--", "sh", "-c", command)

    assert done.returncode == code
    assert is_free(post, "ends")


def test_a_command_that_cannot_be_run_leaves_no_slot_held(post: Post, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")

    missing = run(post, "run", "broken", "--", "no-such-command-anywhere")
    not_executable = run(post, "run", "broken", "--", str(plain))

    assert (missing.returncode, not_executable.returncode) == (127, 126)
    assert is_free(post, "broken")


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1"])
def test_a_signal_goes_on_to_the_command_which_decides(post: Post, name: str) -> None:
    running = start(post, f"signal-{name}", "--", "sh", "-c", TRAP.format(name=name))
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"

    running.send_signal(getattr(signal, f"SIG{name}"))
    out, err = running.communicate(timeout=ENDS_WITHIN_S)

    assert (out, running.returncode) == (f"got {name}\n", 3), err
    assert is_free(post, f"signal-{name}")


def test_a_command_that_a_signal_ends_ends_am_run_with_its_number(post: Post) -> None:
    running = start(post, "default", "--", "sh", "-c", "echo ready; exec sleep 600")
    assert running.stdout is not None
    running.stdout.readline()

    running.terminate()
    running.communicate()

    assert running.returncode == 128 + signal.SIGTERM
    assert is_free(post, "default")


IN_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
COUNTS = """
import os, signal
def count(*_):
    times.append(1)
    os.kill(os.getppid(), signal.SIGINT)
    os.kill(os.getppid(), signal.SIGUSR1)
times, passed_on = [], []
signal.signal(signal.SIGINT, count)
signal.signal(signal.SIGUSR1, lambda *_: passed_on.append(1))
print("ready", flush=True)
while not passed_on:
    signal.pause()
print("times", len(times), flush=True)
"""
"""`am run` hears SIGINT once more, for sure after the command did; passed on, it would come before SIGUSR1."""


def test_ctrl_c_in_a_terminal_reaches_the_command_once(post: Post) -> None:
    command = [sys.executable, "-m", "mcp_agent_mail", "run", "terminal", "--", sys.executable, "-c", COUNTS]
    running = subprocess.Popen(
        [sys.executable, "-c", IN_A_TERMINAL, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**post.server.environment(), "AGENT_NAME": "BlueLake", "AGENT_MAIL_PROJECT": post.project},
        bufsize=0,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    said = b""
    while b"ready" not in said:
        said += running.stdout.read(1)

    out, _ = running.communicate(b"\x03")

    assert b"times 1" in out
    assert running.returncode == 0
    assert is_free(post, "terminal")


# --- A slot in use -------------------------------------------------------------------------------


def test_a_slot_in_use_is_told_with_its_holder_and_nothing_runs(post: Post) -> None:
    held = call(post, "acquire", "RedStone", "busy")["granted"]

    done = run(post, "run", "busy", "--", "echo", "ran")

    call(post, "release", "RedStone", "busy")
    assert (done.returncode, done.stdout) == (75, "")
    assert f"Slot busy is held by RedStone until {held['expires_ts']}" in done.stderr
    assert "--wait SECONDS" in done.stderr


def test_shared_runs_get_on_with_each_other(post: Post) -> None:
    call(post, "acquire", "RedStone", "shared", exclusive=False)

    alone = run(post, "run", "shared", "--", "true")
    together = run(post, "run", "shared", "--shared", "--", "true")

    call(post, "release", "RedStone", "shared")
    assert (alone.returncode, together.returncode) == (75, 0)


def test_whoever_waits_gets_the_slot_when_it_is_released(post: Post) -> None:
    call(post, "acquire", "RedStone", "awaited")
    waiting = start(post, "awaited", "--wait", "60", "--", "echo", "ran")
    assert waiting.stderr is not None
    said = waiting.stderr.readline()

    call(post, "release", "RedStone", "awaited")
    out, _ = waiting.communicate()

    assert "waiting: Slot awaited is held by RedStone" in said
    assert (out, waiting.returncode) == ("ran\n", 0)


def test_a_signal_ends_the_waiting_and_nothing_runs(post: Post) -> None:
    call(post, "acquire", "RedStone", "hopeless")
    waiting = start(post, "hopeless", "--wait", "600", "--", "echo", "ran")
    assert waiting.stderr is not None
    waiting.stderr.readline()

    waiting.terminate()
    out, _ = waiting.communicate()
    call(post, "release", "RedStone", "hopeless")

    assert (out, waiting.returncode) == ("", 128 + signal.SIGTERM)


# --- No server -----------------------------------------------------------------------------------


def test_without_a_server_the_store_itself_is_asked(stopped_post: Post) -> None:
    done = run(stopped_post, "run", "offline", "--", "sh", "-c", ECHO)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("offline|BlueLake|")
    assert stopped_post.server.am("doctor", "verify").returncode == 0


def test_without_a_store_it_is_refused_unless_it_is_to_run_anyway(tmp_path: Path) -> None:
    refused = am("run", "x", "--", "echo", "ran", home=tmp_path, HTTP_PORT="1", AGENT_NAME="BlueLake")
    command = ("--", "sh", "-c", ECHO)
    anyway = am("run", "x", "--anyway", *command, home=tmp_path, HTTP_PORT="1", AGENT_NAME="BlueLake")

    assert (refused.returncode, refused.stdout) == (69, "")
    assert (anyway.returncode, anyway.stdout) == (0, "|BlueLake|||\n")
    assert "without the slot" in anyway.stderr


def test_an_unfit_time_is_a_mistake_of_the_command_line(post: Post) -> None:
    done = run(post, "run", "x", "--ttl", "5", "--", "true")

    assert done.returncode == 2
