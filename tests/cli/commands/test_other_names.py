"""The operator's commands by the name that an agent's users know it by."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.served import Served

ZOE = "Zoë_1"
PLAIN = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home: Path = tmp_path_factory.mktemp("names")
    with Served(home / "store", HOME=str(home), POSTAL_ENABLED="true") as server:
        body = json.dumps({"tool": "send_to_agent", "args": {"name": ZOE, "msg": "ping"}}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{server.port}/agents/alice/mcp", body, PLAIN)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200
        yield server


@pytest.fixture(scope="module")
def project(served: Served) -> str:
    listed: list[dict[str, Any]] = json.loads(served.am("facade", "names", "--json").stdout)
    (home,) = {one["project"] for one in listed}
    return str(home)


@pytest.mark.parametrize(
    "command",
    [
        ("mail", "inbox", ZOE),
        ("mail", "held", ZOE),
        ("mail", "status", "1", "--as", ZOE),
        ("mail", "send", "pong", "--to", "alice", "--from", ZOE),
        ("contacts", "list", ZOE),
        ("contacts", "requests", ZOE),
        ("token", "reissue", ZOE),
        ("agents", "show", ZOE),
        ("agents", "retire", ZOE),
        ("agents", "unretire", ZOE),
    ],
    ids=lambda command: "-".join(command[:2]),
)
def test_a_command_takes_the_name_that_an_agents_users_know(
    command: tuple[str, ...], served: Served, project: str
) -> None:
    done = served.am(*command, "--project", project)

    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_project_a_mailbox_is_found_by_that_name_too(served: Served) -> None:
    done = served.am("mail", "inbox", ZOE)

    assert (done.returncode, "ping" in done.stdout) == (0, True)


def test_the_list_of_agents_has_their_other_names_as_its_last_column(served: Served, project: str) -> None:
    done = served.am("agents", "list", "--project", project)

    others = {line.split("\t")[-1] for line in done.stdout.splitlines()}
    assert others == {"", ZOE}
