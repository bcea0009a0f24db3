"""`am debug report`: what helps is in it, and nothing of what people, agents and machines have put anywhere."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.debug.command import FileTaken, _write_new
from tests.cli.shell import Ended, Shell
from tests.served import Served

SUBJECT, BODY, AGENT, PEER = "Acquisition of Quuxcorp", "the price is zebra-forty", "VioletMoth", "AmberCrow"
BEARER, WEBHOOK, HOOK_URL = "server-bearer-5f2e9c", "webhook-secret-77ab31" * 2, "http://127.0.0.1:9/quux/in/9931"
AGENT_TOKEN, OPERATOR_TOKEN, CODE, KEY = (f"am{kind}_Zq9{'x' * 30}" for kind in "tojk")
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6ZWJyYSJ9.c2lnbmF0dXJlLXplYnJh"
PLANTED = (
    *("Quuxcorp", "zebra", "VioletMoth", "AmberCrow", "violetmoth", "quux", "secret-shop", "kiwi.txt", "Maple"),
    *(BEARER, WEBHOOK, HOOK_URL, "in/9931", "amt_", "amo_", "amj_", "amk_", "eyJ", "Zq9", "hunter2"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A store with a secret in every place, whose server runs."""

    server: Served
    home: Path


@pytest.fixture
def planted(shell: Shell, tmp_path: Path) -> Iterator[Planted]:
    home = tmp_path / "home-of-Maple"
    project = home / "secret-shop"
    project.mkdir(parents=True)
    settings = {
        "HOME": str(home),
        "HTTP_BEARER_TOKEN": BEARER,
        "WEBHOOK_URLS": HOOK_URL,
        "WEBHOOK_SECRET": WEBHOOK,
        "AGENT_MAIL_AGENT_TOKEN": AGENT_TOKEN,
        "AGENT_MAIL_TOKEN": OPERATOR_TOKEN,
        "AGENT_MAIL_PROJECT": str(project),
        "AGENT_NAME": AGENT,
        "APP_ENVIRONMENT": "quux-production",
        "LLM_DEFAULT_MODEL": "quux/zebra-1",
        "OPENAI_API_KEY": f"sk-{KEY}",
    }
    server = Served(home / "store", port=None, **settings)
    with server:
        with server.connect(Authorization=f"Bearer {BEARER}") as connection:
            connection.call("ensure_project", human_key=str(project))
            for name in (AGENT, PEER):
                given = {"name": name, "program": "tester", "model": "scripted", "task_description": SUBJECT}
                connection.call("register_agent", project_key=str(project), **given)
            letter = {"subject": SUBJECT, "body_md": BODY, "to": [PEER], "thread_id": "quux-thread", "topic": "quux"}
            connection.call("send_message", project_key=str(project), sender_name=AGENT, **letter)
            lease = {"agent_name": AGENT, "paths": ["src/quux/**"], "reason": SUBJECT}
            connection.call("file_reservation_paths", project_key=str(project), **lease)
        (server.root / "server.log").write_text(_log(project))
        shell.set(STORAGE_ROOT=str(server.root), **settings)
        yield Planted(server=server, home=home)


def _log(project: Path) -> str:
    """Lines as a server writes them, and as it never should."""
    at = "2026-11-21T20:38:32.123+00:00"
    package = "/home/hunter2/lib/mcp_agent_mail/store/outbox.py"
    structured = {
        "time": at,
        "level": "ERROR",
        "logger": "mcp_agent_mail.archiving",
        "message": f"signal files could not be written {project}",
        "pending": 7,
        "path": str(project),
        "tool": AGENT,
        "events": BODY,
        "error": f"StoreFailed: {BODY} < {package}:12 in VioletMoth; caused by QuuxError",
    }
    return "\n".join(
        [
            f"{at} INFO mcp_agent_mail.archiving: the archive is drained pending=3 path={project} first={BODY}",
            f"{at} WARNING mcp_agent_mail.quux: {SUBJECT} pending={AGENT_TOKEN} calls=zebra",
            f"{at} ERROR {AGENT}.{PEER}: bearer {BEARER} {OPERATOR_TOKEN} {CODE} {KEY} {JWT} ms=1.5 zebra=3",
            f"{at} ERROR mcp_agent_mail.server.dispatch: {SUBJECT}\\n{at} INFO x: y outcome=ok via=Quuxcorp",
            json.dumps(structured),
            json.dumps({"time": SUBJECT, "level": AGENT, "logger": PEER, "message": BODY, AGENT: 1, "status": 200}),
            json.dumps([SUBJECT]),
            "Traceback (most recent call last):",
            f'  File "{package}", line 44, in zebra',
            '  File "/home/hunter2/secret-shop/kiwi.txt", line 1, in zebra',
            f"sqlite3.DatabaseError: database disk image is malformed {project}",
            f"{SUBJECT} {BODY} {HOOK_URL} {WEBHOOK}",
            "",
        ]
    )


def report_of(shell: Shell, file: Path, *more: str) -> tuple[Ended, dict[str, Any]]:
    done = shell.am("debug", "report", str(file), *more)
    assert done.code == 0, done
    text = file.read_text()
    for word in PLANTED:
        assert word.lower() not in text.lower(), f"{word}: {text}"
    assert str(file.parent) not in text
    report: dict[str, Any] = json.loads(text)
    return done, report


def test_with_a_server_it_tells_what_helps_and_nothing_that_was_planted(
    shell: Shell, planted: Planted, tmp_path: Path
) -> None:
    _, report = report_of(shell, tmp_path / "report.json")

    assert report["versions"]["mcp-agent-mail"]
    assert report["versions"]["sqlite"].startswith("3.")
    given = report["settings"]["not_default"]
    assert given["HTTP_BEARER_TOKEN"] == {"value": "***", "from": "environment"}
    assert given["AGENT_NAME"]["value"] == "(set)"
    assert given["HTTP_PORT"]["value"] == 1
    assert report["status"]["running"] is True
    assert report["doctor"]["verdict"] in ("well", "findings")
    assert report["store"]["pending"]["projects"] == 1
    assert planted.server.pid


@pytest.mark.usefixtures("planted")
def test_the_log_keeps_times_modules_figures_and_our_own_words(shell: Shell, tmp_path: Path) -> None:
    _, report = report_of(shell, tmp_path / "report.json")

    first, second, third, fourth, fifth, sixth, *rest = report["log"]
    assert first == {
        "time": "2026-11-21T20:38:32.123+00:00",
        "level": "INFO",
        "logger": "mcp_agent_mail.archiving",
        "message": "the archive is drained…",
        "pending": 3,
    }
    assert (second["level"], second["logger"], second["message"]) == ("WARNING", "mcp_agent_mail", "(not told)")
    assert third["ms"] == 1.5
    assert "zebra" not in third
    assert (fourth["outcome"], "via" in fourth) == ("ok", False)
    assert fifth["message"] == "signal files could not be written…"
    assert (fifth["pending"], fifth["errors"], fifth["at"]) == (7, ["StoreFailed"], ["store/outbox.py:12"])
    assert not {"path", "tool", "events"} & fifth.keys()
    assert (sixth["level"], sixth["logger"], sixth["status"]) == ("(not told)", "(not told)", 200)
    assert rest == [
        {"lines_not_told": 2},
        {"at": ["store/outbox.py:44"]},
        {"lines_not_told": 1},
        {"errors": ["DatabaseError"]},
        {"lines_not_told": 1},
    ]


def test_without_a_server_and_with_a_damaged_database(shell: Shell, planted: Planted, tmp_path: Path) -> None:
    planted.server.stop()
    _, whole = report_of(shell, tmp_path / "stopped.json")
    database = planted.server.database
    content = bytearray(database.read_bytes())
    content[4_096 : len(content) - 4_096] = b"\xa5" * (len(content) - 8_192)
    database.write_bytes(bytes(content))
    _, damaged = report_of(shell, tmp_path / "damaged.json")
    database.write_bytes(b"no database at all")
    _, none = report_of(shell, tmp_path / "none.json")

    assert (whole["health"], whole["status"]["running"]) == (None, False)
    assert whole["store"]["pending"]["agents"] == 2
    assert damaged["doctor"].get("verdict") != "well"
    assert none["doctor"].get("verdict") != "well"
    assert "failed" in none["store"]["pending"]


def test_without_any_store_it_is_written_all_the_same(shell: Shell, tmp_path: Path) -> None:
    shell.set(STORAGE_ROOT=str(tmp_path / "none"))

    _, report = report_of(shell, tmp_path / "report.json")

    assert report["log"]["failed"] == "NOT_FOUND"
    assert report["doctor"]["failed"] == "UNAVAILABLE"


def test_settings_that_cannot_be_used_are_told_by_name_alone(shell: Shell, tmp_path: Path) -> None:
    shell.set(LOG_LEVEL="zebra", HTTP_PORT="quux")

    _, report = report_of(shell, tmp_path / "report.json")

    assert sorted(report["settings"]["cannot_be_used"]) == ["HTTP_PORT", "LOG_LEVEL"]
    assert "doctor" not in report


def test_it_is_for_its_owner_alone_whatever_the_umask(shell: Shell, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        report_of(shell, tmp_path / "report.json")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_is_there_is_never_written_over(kind: str, shell: Shell, tmp_path: Path) -> None:
    path, other = tmp_path / "there", tmp_path / "other"
    if kind == "file":
        path.write_text("mine")
    elif kind == "link":
        path.symlink_to(other)
    else:
        path.mkdir()

    done = shell.am("debug", "report", str(path))

    assert done.code == 1
    assert "is there already" in done.err
    assert not other.exists()
    assert kind != "file" or path.read_text() == "mine"


def test_a_folder_or_a_log_that_is_not_there_is_refused(shell: Shell, tmp_path: Path) -> None:
    folder = shell.am("debug", "report", str(tmp_path / "none" / "report.json"))
    log = shell.am("debug", "report", str(tmp_path / "report.json"), "--log", str(tmp_path / "none.log"))

    assert [folder.code, log.code] == [1, 1]
    assert "There is no folder" in folder.err
    assert "There is no file" in log.err
    assert not (tmp_path / "report.json").exists()


def test_it_is_bounded_and_the_newest_lines_are_kept(shell: Shell, tmp_path: Path) -> None:
    line = "2026-11-21T20:38:32.{:03}+00:00 INFO mcp_agent_mail.archiving: the archive is drained pending={}\n"
    log = tmp_path / "any.log"
    log.write_text("".join(line.format(number % 1_000, number) for number in range(100_000)))

    _, report = report_of(shell, tmp_path / "report.json", "--log", str(log))

    assert (tmp_path / "report.json").stat().st_size <= 256 * 1024
    assert report["log"][-1]["pending"] == 99_999
    assert len(report["log"]) > 100


def test_a_dash_is_standard_output(shell: Shell) -> None:
    done = shell.am("debug", "report", "-")

    assert (done.code, done.err.startswith("Notice: No log was found")) == (0, True)
    assert done.json()
    assert not (shell.home / "-").exists()


@pytest.mark.timeout(60)
def test_a_pipe_in_the_place_of_the_database_is_not_waited_for(shell: Shell, planted: Planted, tmp_path: Path) -> None:
    planted.server.stop()
    planted.server.database.unlink()
    os.mkfifo(planted.server.database)

    _, report = report_of(shell, tmp_path / "report.json")

    assert "failed" in report["store"]["pending"]
    assert report["doctor"].get("verdict") != "well"


@pytest.mark.parametrize("kind", ["file", "link", "broken link"])
def test_what_was_made_while_the_report_was_is_not_written_over_either(kind: str, tmp_path: Path) -> None:
    path, other = tmp_path / "there", tmp_path / "other"
    if kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(other)
    if kind == "link":
        other.write_text("mine")

    with pytest.raises(FileTaken, match="is there already"):
        _write_new(path, "the report")

    assert kind == "broken link" or path.read_text() == "mine"
    assert other.exists() == (kind == "link")
    assert os.path.lexists(path)
