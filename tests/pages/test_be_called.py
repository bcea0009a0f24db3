"""The how-to about webhooks: its receiver, run as it stands there, beside a real server."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.notify.webhook_call import signature
from tests.pages.blocks import ROOT
from tests.pages.reader import _free_port
from tests.served import Served

PAGE = ROOT / "docs" / "how-to" / "be-called-when-mail-comes.md"
PROJECT = "/code/app"
SECRET = "s" * 32
WITHIN_S = 20.0


def program() -> str:
    found = re.search(r"^   ```python\n(.*?)^   ```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[1])


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    port = _free_port()
    path = tmp_path / "receiver.py"
    path.write_text(program(), encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": SECRET, "PORT": str(port)}
    started = subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        yield port, started
    finally:
        started.kill()
        started.communicate()


def test_the_pages_receiver_prints_each_delivery(receiver: tuple[int, subprocess.Popen[str]], tmp_path: Path) -> None:
    port, printing = receiver
    webhook = {"WEBHOOK_URLS": f"http://127.0.0.1:{port}/", "WEBHOOK_SECRET": SECRET, "WEBHOOK_ALLOW_PRIVATE": "true"}
    with Served(tmp_path / "store", port=None, **webhook) as server, server.connect() as connection:
        connection.call("ensure_project", human_key=PROJECT)
        for name in ("BlueLake", "RedStone"):
            connection.call(
                "register_agent", project_key=PROJECT, program="tests", model="none", name=name, task_description=""
            )
        connection.call(
            "send_message", project_key=PROJECT, sender_name="BlueLake", to=["RedStone"], subject="Plän", body_md="b"
        )
        line = line_of(printing)
        figures = connection.call("health_check")["workers"]["webhooks"]

    assert line.split(maxsplit=1)[1] == "RedStone 'Pl\\xe4n'\n"
    assert (figures["webhooks"], figures["failed"], figures["dropped"]) == (1, 0, 0)


def test_the_pages_receiver_believes_nobody_else(receiver: tuple[int, subprocess.Popen[str]]) -> None:
    port, _ = receiver
    now = int(time.time())
    body = json.dumps({"id": "1", "agent": "RedStone", "message": {"subject": "x"}}).encode()
    good = signature(Secret(SECRET), body, now)

    assert [
        status_of(port, body, good),
        status_of(port, body + b" ", good),
        status_of(port, body, signature(Secret("t" * 32), body, now)),
        status_of(port, body, signature(Secret(SECRET), body, now - 3_600)),
        status_of(port, body, good.replace(f"t={now}", f"t={now + 1}")),
    ] == [204, 403, 403, 403, 403]


def line_of(printing: subprocess.Popen[str]) -> str:
    """The next line, or none in time."""
    assert printing.stdout is not None
    ready, _, _ = select.select([printing.stdout], [], [], WITHIN_S)
    return printing.stdout.readline() if ready else "nothing\n"


def status_of(port: int, body: bytes, signed: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", body, {"X-Agent-Mail-Signature": signed})
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code
        except urllib.error.URLError:  # It is still starting.
            assert time.monotonic() < deadline
