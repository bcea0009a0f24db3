"""`am hook` as a process: it ends with the contract's neutral output whatever happens, and soon."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import read_contract
from mcp_agent_mail.clients.hook.output import neutral
from mcp_agent_mail.clients.hook.payload import MAX_BYTES
from tests.clients.golden_outputs import STOP
from tests.clients.hook_program import WITHIN_S, HookHome
from tests.clients.hook_server import HookAnswers, given, hook_server, message
from tests.served import pause

SOON_S = 60.0
"""A second, and what a busy machine takes to start Python."""


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        yield answers


@pytest.fixture
def home(tmp_path: Path, answers: HookAnswers) -> HookHome:
    return HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "AGENT_MAIL_URL": answers.url})


def test_mail_is_printed_and_then_confirmed(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(message(1))

    done = home.run("claude", "UserPromptSubmit")

    assert (done.returncode, done.stderr) == (0, b"")
    assert "#1 from RedStone" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert [path.rpartition("/")[2] for path, _ in answers.asked] == ["event", "told"]
    assert answers.bodies("/told") == [
        {"project_key": str(home.code), "agent_name": "BlueLake", "session": "claude-s-1", "claim": "claim-1"}
    ]


def test_what_could_not_be_printed_is_not_confirmed(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(message(1))
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        home.command("claude", "UserPromptSubmit"),
        env=home.environment(),
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
    ) as running:
        os.close(writing)

        _, complaint = running.communicate(json.dumps(home.payload("claude", "UserPromptSubmit")).encode(), WITHIN_S)

    assert (running.returncode, complaint) == (0, b"")
    assert answers.bodies("/event") != []
    assert answers.bodies("/told") == []


@pytest.mark.parametrize("stdin", [b"", b"{", b"[]", b'"x"', b"null", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_payload_gets_the_neutral_output(stdin: bytes, home: HookHome, answers: HookAnswers) -> None:
    done = home.run("gemini", "BeforeAgent", stdin=stdin)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")
    assert answers.asked == []


def test_a_payload_may_be_a_mebibyte_long_and_no_longer(home: HookHome, answers: HookAnswers) -> None:
    frame = len(json.dumps(home.payload("claude", "PostToolUse", tool_response="")))
    fits = home.payload("claude", "PostToolUse", tool_response="x" * (MAX_BYTES - frame))
    longer = home.payload("claude", "PostToolUse", tool_response="x" * (MAX_BYTES - frame + 1))

    done = [home.run("claude", "PostToolUse", value) for value in (fits, longer)]

    assert [one.returncode for one in done] == [0, 0]
    assert len(answers.bodies("/event")) == 1


def test_without_a_standard_output_nothing_is_confirmed_and_nothing_else_is_written_to(
    home: HookHome, answers: HookAnswers
) -> None:
    answers.event = given(message(1))
    payload = json.dumps(home.payload("claude", "UserPromptSubmit")).encode()
    words = ["sh", "-c", '"$@" >&-', "sh", *home.command("claude", "UserPromptSubmit")]

    done = subprocess.run(
        words, env=home.environment(), input=payload, capture_output=True, check=False, timeout=WITHIN_S
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert answers.bodies("/event") != []
    assert answers.bodies("/told") == []


@pytest.mark.parametrize(
    ("client", "event", "stdout"),
    [
        ("nobody", "Stop", b""),
        ("claude", "Stopp", b""),
        ("gemini", "Stop", b"{}\n"),
        ("cline", "x", b'{"cancel":false}\n'),
    ],
)
def test_an_unknown_client_or_event_is_said_on_one_line(client: str, event: str, stdout: bytes, home: HookHome) -> None:
    done = home.run(client, event, {})

    assert (done.returncode, done.stdout) == (0, stdout)
    assert done.stderr.startswith(b"agent-mail hook: ")
    assert done.stderr.count(b"\n") == 1


def test_of_an_unknown_event_those_that_the_client_has_are_said(home: HookHome) -> None:
    complaint = home.run("claude", "sessionstart", {}).stderr.decode()

    assert complaint.startswith("agent-mail hook: claude has no event 'sessionstart': SessionStart, UserPromptSubmit, ")
    assert complaint.endswith(", SessionEnd.\n")


def test_a_client_that_is_not_named_is_no_fault_of_python(home: HookHome) -> None:
    done = subprocess.run(
        home.command("claude", "Stop")[:-2], env=home.environment(), input=b"", capture_output=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1


def test_a_payload_of_another_client_gets_silence(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(message(1))
    cursors = {**home.payload("claude", "Stop"), "cursor_version": "3.12.17"}

    done = home.run("claude", "Stop", cursors)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert answers.asked == []


def test_a_server_that_hangs_costs_a_third_of_a_second(home: HookHome, answers: HookAnswers) -> None:
    answers.is_hung = True
    home.is_patient = False
    started = time.monotonic()

    done = home.run("codex", "Stop")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")
    assert time.monotonic() - started < SOON_S


def test_a_client_that_never_closes_stdin_gets_the_neutral_output_by_the_alarm(home: HookHome) -> None:
    home.is_patient = False
    started = time.monotonic()
    with subprocess.Popen(
        home.command("gemini", "AfterTool"), env=home.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdin is not None
        running.stdin.write(b'{"session_id": ')
        running.stdin.flush()
        assert running.stdout is not None

        printed = running.stdout.read()
        code = running.wait(WITHIN_S)

    assert (code, printed) == (0, b"{}\n")
    assert time.monotonic() - started < SOON_S


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 200 OK\r\n\r\n{", b"SSH-2.0\r\n", b"HTTP/1.0 500 x\r\n\r\n{}", [1]])
def test_an_answer_that_is_none_is_as_no_server(answer: object, home: HookHome, answers: HookAnswers) -> None:
    answers.event = answer

    done = home.run("copilot", "preToolUse")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")


@pytest.mark.parametrize(
    "event",
    [
        {"messages": "x", "unread": "y", "more": None, "claim": 3, "stop": "z", "reprime": []},
        {"messages": [None, 3, {"id": "x"}], "unread": -1, "claim": "c", "more": "1"},
        {"stop": {}, "claim": "c"},
        {},
    ],
)
def test_an_answer_of_another_shape_is_survived(event: object, home: HookHome, answers: HookAnswers) -> None:
    answers.event = event

    for name in ("UserPromptSubmit", "PreToolUse", "Stop", "SessionStart"):
        done = home.run("claude", name)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == b"" or json.loads(done.stdout)


def test_a_client_that_knows_no_other_refusal_gets_its_exit_code(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(stop=STOP)

    done = home.run("windsurf", "pre_run_command")

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"Human (verified) asks you to stop")


def test_a_home_that_cannot_be_written_stops_no_mail(home: HookHome, answers: HookAnswers) -> None:
    answers.event = given(message(1))

    done = home.run("claude", "UserPromptSubmit", XDG_STATE_HOME="/proc/none")

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"#1 from RedStone" in done.stdout
    assert len(answers.bodies("/told")) == 1


def test_a_refusal_by_code_stands_also_when_the_alarm_ends_what_follows(home: HookHome, answers: HookAnswers) -> None:
    """The server that gave the stop hangs at its confirmation, and all patience with it is longer than the alarm."""
    answers.event, answers.told = given(stop=STOP), None
    program = (
        "import sys; from mcp_agent_mail.clients.hook import entry; from mcp_agent_mail.core import running_server\n"
        "running_server.PATIENCE_S, entry.ALARM_S = 60.0, 5.0\n"
        "sys.exit(entry.main(['windsurf', 'pre_run_command']))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=home.environment(),
        input=json.dumps(home.payload("windsurf", "pre_run_command")).encode(),
        capture_output=True,
        check=False,
        timeout=WITHIN_S,
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"asks you to stop" in done.stderr
    assert len(answers.bodies("/told")) == 1


def test_the_alarm_prints_nothing_behind_what_was_printed(home: HookHome, answers: HookAnswers) -> None:
    """Two objects on stdout are none to a client."""
    answers.event, answers.told = given(message(1)), None
    program = (
        "import sys; from mcp_agent_mail.clients.hook import entry; from mcp_agent_mail.core import running_server\n"
        "running_server.PATIENCE_S, entry.ALARM_S = 60.0, 5.0\n"
        "sys.exit(entry.main(['gemini', 'BeforeAgent']))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=home.environment(),
        input=json.dumps(home.payload("gemini", "BeforeAgent")).encode(),
        capture_output=True,
        check=False,
        timeout=WITHIN_S,
    )

    assert done.returncode == 0
    assert "#1 from RedStone" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert len(answers.bodies("/told")) == 1


def ended(program: str, home: HookHome) -> subprocess.CompletedProcess[bytes]:
    """Of a Python that runs the hook within it, and something at its end."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=home.code,
        env=home.environment(),
        input=b"{}",
        capture_output=True,
        check=False,
        timeout=WITHIN_S,
    )


def test_when_python_ends_no_alarm_is_left_that_would_kill_it(home: HookHome) -> None:
    program = (
        "import signal, sys; from mcp_agent_mail.clients.hook.entry import main; "
        "code = main(['claude', 'UserPromptSubmit']); print(code, signal.getitimer(signal.ITIMER_REAL))"
    )

    done = ended(program, home)

    assert (done.returncode, done.stdout) == (0, b"0 (0.0, 0.0)\n")


@pytest.mark.parametrize(("client", "event"), [("claude", "PreToolUse"), ("copilot", "preToolUse")])
def test_ctrl_c_is_no_refusal(client: str, event: str, home: HookHome) -> None:
    with subprocess.Popen(
        home.command(client, event),
        env=home.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        running.stdin.write(json.dumps(home.payload(client, event)).encode())
        running.stdin.flush()
        until_it_reads(running)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WITHIN_S)

    assert (running.returncode, err) == (0, b"")
    assert out.decode() == neutral(read_contract(client)["events"][event]["neutral"]).stdout


def until_it_reads(running: subprocess.Popen[bytes]) -> None:
    """Its payload is not at its end yet, so it stands in that read of standard input."""
    deadline = time.monotonic() + WITHIN_S
    while not Path(f"/proc/{running.pid}/syscall").read_text().startswith("0 0x0 "):
        assert time.monotonic() < deadline
        pause()


def test_ctrl_c_when_python_ends_kills_nothing(home: HookHome) -> None:
    program = (
        "import os, signal; from mcp_agent_mail.clients.hook.entry import main; "
        "code = main(['claude', 'UserPromptSubmit']); os.kill(os.getpid(), signal.SIGINT); print(code)"
    )

    done = ended(program, home)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n", b"")


@pytest.mark.parametrize("is_said", [True, False])
def test_a_folder_that_is_gone_keeps_no_mail_back(is_said: bool, home: HookHome, answers: HookAnswers) -> None:
    """The client's own; the payload names it, or none."""
    answers.event = given(message(1))
    gone = home.root / "gone"
    command = (
        f"mkdir {gone} && cd {gone} && rmdir {gone} && exec {shlex.join(home.command('claude', 'UserPromptSubmit'))}"
    )
    told = home.payload("claude", "UserPromptSubmit", cwd=str(gone) if is_said else None)

    done = subprocess.run(
        ["sh", "-c", command],
        env=home.environment(AGENT_MAIL_PROJECT=str(home.code)),
        input=json.dumps(told).encode(),
        capture_output=True,
        check=False,
        timeout=WITHIN_S,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"#1 from RedStone" in done.stdout
