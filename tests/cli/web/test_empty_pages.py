"""What pages that hold nothing yet tell to type does, as it stands there, what they say."""

from __future__ import annotations

import html
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.shell import Shell
from tests.served import Served

FILE = "FILE"
OF_NOTHING = ("", "/now", "/projects", "/archive/activity", "/archive/timeline")
OF_A_PROJECT = ("", "/attachments", "/inbox/BlueLake", "/outbox/BlueLake")
OF_A_HISTORY = ("network", "time-travel")


def shown(server: Served, path: str) -> str:
    """As the operator sees it."""
    operator = {"authorization": f"Bearer {(server.root / 'operator.token').read_text().strip()}"}
    page = httpx.get(f"http://127.0.0.1:{server.port}/mail{path}", headers=operator, follow_redirects=True)
    assert page.status_code == 200, path
    return page.text


def told(server: Served, path: str) -> list[str]:
    found = re.findall(r"<code>(am [^<]+)</code>", shown(server, path))
    assert found, path
    return [html.unescape(one) for one in found]


@pytest.fixture
def empty(tmp_path: Path, shell: Shell) -> Iterator[Served]:
    """A server without a project, and a person in a directory of theirs."""
    here = tmp_path / "shop"
    here.mkdir()
    with Served(tmp_path / "store", HOME=str(tmp_path)) as server:
        shell.set(STORAGE_ROOT=str(server.root), HTTP_PORT=str(server.port))
        shell.go_to(here)
        yield server


def run(shell: Shell, line: str) -> None:
    typed = shlex.split(line)[1:]
    ended = shell.am(*typed, "--help") if typed == ["setup"] else shell.am(*typed)
    assert ended.code == 0, f"{line}: {ended.err}"


def test_a_server_without_a_project_is_filled_by_what_its_pages_say(empty: Served, shell: Shell) -> None:
    commands = [one for path in OF_NOTHING for one in told(empty, path)]

    for line in commands:
        run(shell, line)

    assert "Hello" in shown(empty, "")


def test_a_project_without_mail_is_filled_by_what_its_pages_say(empty: Served, shell: Shell, tmp_path: Path) -> None:
    with empty.connect() as connection:
        slug = connection.call("ensure_project", human_key="/code/shop")["slug"]
        connection.call("register_agent", project_key="/code/shop", name="BlueLake", program="p", model="m")
    (tmp_path / "shop" / FILE).write_text("kept")
    while not empty.archives():
        time.sleep(0.05)
    paths = [
        *(f"/{slug}{one}" for one in OF_A_PROJECT),
        *(f"/archive/{one}?project={slug}" for one in OF_A_HISTORY),
    ]
    commands = {path: told(empty, path) for path in paths}

    for line in (one for those in commands.values() for one in those):
        run(shell, line.replace("AGENT", "BlueLake").replace("TIME", "2030-01-01"))

    for path in paths[1 : len(OF_A_PROJECT)]:
        assert "Hello" in shown(empty, path), path
    assert FILE in shown(empty, f"/{slug}/attachments")


@pytest.mark.parametrize("box", ["needs", "log"])
def test_what_waits_and_what_the_server_tells_is_made_by_what_the_pages_say(
    empty: Served, shell: Shell, tmp_path: Path, box: str
) -> None:
    with empty.connect() as connection:
        here = str(tmp_path / "shop")
        connection.call("ensure_project", human_key=here)
        connection.call("register_agent", project_key=here, name="BlueLake", program="p", model="m")
    commands = told(empty, f"?box={box}")

    for line in commands:
        run(shell, line.replace("AGENT", "BlueLake"))

    assert "Ready?" in shown(empty, f"?box={box}")
    assert not re.findall(r"<code>am ", shown(empty, f"?box={box}"))
