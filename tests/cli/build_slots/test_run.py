"""`am run` and `am env` as people run them: a real server, real children, real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.build_slots.context import SlotContext, cache_key
from mcp_agent_mail.cli.build_slots.slot_lease import SlotLease, SlotTerms
from mcp_agent_mail.cli.build_slots.supervisor import Supervisor
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.core.settings.server import load_settings
from tests.cli.command_line import am
from tests.cli.conftest import Post
from tests.workspace.code_repository import begin

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


def test_a_cache_key_is_told_apart_by_each_of_its_parts() -> None:
    keys = {
        cache_key(store, {"id": number}, agent, branch)
        for store in ("s1", "s2")
        for number in (1, 11)
        for agent in ("A", "A-b")
        for branch in ("main", "b.main", "feature/x", "feature%2Fx", "detached", None)
    }

    assert len(keys) == 2 * 2 * 2 * 6
    assert not any("/" in key for key in keys)


def test_env_prints_lines_that_a_shell_reads_back(post: Post, tmp_path: Path) -> None:
    code = begin(tmp_path / "it's $HOME; code")
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key=str(code))
        connection.call("register_agent", project_key=str(code), name="BlueLake", program="t", model="t")
    lines = run(post, "env", "a 'slot'", AGENT_MAIL_PROJECT=str(code)).stdout

    read_back = subprocess.run(
        ["sh", "-c", f"{lines}\n{ECHO}"], capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}
    )

    assert read_back.stdout.split("|")[:3] == ["a 'slot'", "BlueLake", str(code)]


def test_env_as_json_names_the_agent_as_it_is_registered(post: Post) -> None:
    told = json.loads(run(post, "env", "--json", AGENT_NAME="bluelake").stdout)

    assert list(told) == ["AGENT", "PROJECT", "BRANCH", "CACHE_KEY"]
    assert told["AGENT"] == "BlueLake"


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


def test_a_slot_that_the_agent_held_before_is_left_held(post: Post) -> None:
    call(post, "acquire", "BlueLake", "mine")

    done = run(post, "run", "mine", "--", "true")

    assert done.returncode == 0
    assert "left held" in done.stderr
    assert not is_free(post, "mine")
    call(post, "release", "BlueLake", "mine")


# --- Renewing ------------------------------------------------------------------------------------


def holding_of(post: Post, slot: str) -> SlotLease:
    environment = {"STORAGE_ROOT": str(post.server.root), "HOME": str(post.server.root.parent)}
    context = CliContext(load_settings(environment, cwd=post.server.root).settings)
    place = SlotContext(project_key=post.project, agent="BlueLake", branch=None)
    return SlotLease(context, place, SlotTerms(slot=slot, ttl_s=60, exclusive=True))


def test_a_held_slot_is_renewed(post: Post) -> None:
    holding = holding_of(post, "renewed")
    holding.take(wait_s=0, pause=lambda _: True)
    before = call(post, "acquire", "RedStone", "renewed")["conflicts"][0]["expires_ts"]

    holding.keep()

    assert call(post, "acquire", "RedStone", "renewed")["conflicts"][0]["expires_ts"] > before
    assert 15 < holding.next_at - time.monotonic() <= 20
    holding.give_back()
    assert is_free(post, "renewed")


def test_a_lost_slot_is_taken_again_when_it_is_free(post: Post) -> None:
    holding = holding_of(post, "lost")
    holding.take(wait_s=0, pause=lambda _: True)
    call(post, "release", "BlueLake", "lost")

    holding.keep()

    assert not is_free(post, "lost")
    holding.give_back()


def test_a_slot_lost_to_another_is_said_once_and_left_to_it(post: Post, capsys: pytest.CaptureFixture[str]) -> None:
    holding = holding_of(post, "taken")
    holding.take(wait_s=0, pause=lambda _: True)
    call(post, "release", "BlueLake", "taken")
    call(post, "acquire", "RedStone", "taken")

    holding.keep()
    holding.keep()
    holding.give_back()

    said = capsys.readouterr().err
    assert said.count("held by RedStone") == 1
    assert "goes on without it" in said
    assert call(post, "release", "RedStone", "taken")["released"] is True


def test_work_is_done_beside_the_command_whenever_it_is_due() -> None:
    done: list[float] = []
    reading, writing = os.pipe()

    def work() -> None:
        done.append(time.monotonic())
        if len(done) == 3:
            os.write(writing, b"enough\n")

    with Supervisor() as supervisor:
        command = [sys.executable, "-c", f"import os; os.read({reading}, 1)"]
        os.set_inheritable(reading, True)
        code = supervisor.run(command, os.environ, next_at=lambda: 0.0 if len(done) < 3 else float(2**31), work=work)

    os.close(reading)
    os.close(writing)
    assert (code, len(done)) == (0, 3)


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
