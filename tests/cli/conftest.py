"""A store with two agents and a thread, behind a running server and, later, without one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.served import Connection, Served

HOSTILE = "\x1b[31mred\x1b[0m \u202eknil"


@dataclass(frozen=True, slots=True)
class Post:
    """A project with mail: what the tests below look at."""

    server: Served
    project: str
    first_id: int
    reply_id: int
    hostile_id: int

    def archive(self) -> Path:
        """The project's own: tests of the same server make further projects."""
        (own,) = (one for one in self.server.archives() if "shop-" in one.name)
        return own


def write_mail(connection: Connection, project: str) -> dict[str, Any]:
    connection.call("ensure_project", human_key=project)
    for name in ("BlueLake", "RedStone"):
        connection.call("register_agent", project_key=project, name=name, program="tester", model="scripted")
    first = connection.call(
        "send_message",
        project_key=project,
        sender_name="BlueLake",
        to=["RedStone"],
        cc=["Human"],
        subject="Who takes the parser?",
        body_md="I have the lexer.\n\nYours?",
        thread_id="parser",
        importance="high",
        ack_required=True,
    )["deliveries"][0]["payload"]
    reply = connection.call(
        "reply_message",
        project_key=project,
        message_id=first["id"],
        sender_name="RedStone",
        body_md="Mine, *done* by noon.",
    )
    hostile = connection.call(
        "send_message",
        project_key=project,
        sender_name="RedStone",
        to=["Human"],
        subject="[bold]\u202eknil",
        body_md=f"{HOSTILE}\x07\r\nnext line",
    )["deliveries"][0]["payload"]
    return {"first_id": first["id"], "reply_id": reply["id"], "hostile_id": hostile["id"]}


@pytest.fixture(scope="session")
def post(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    """One server for all tests that only read or add; none of them may count on being alone."""
    home = tmp_path_factory.mktemp("post")
    project = home / "shop"
    project.mkdir()
    with Served(home / "store", HOME=str(home)) as server:
        with server.connect() as connection:
            ids = write_mail(connection, str(project))
        server.await_drained()
        yield Post(server=server, project=str(project), **ids)


@pytest.fixture(scope="session")
def stopped_pattern(tmp_path_factory: pytest.TempPathFactory) -> Post:
    """The same mail in a store of its own whose server has stopped: to be copied, not to be worked with."""
    home = tmp_path_factory.mktemp("stopped")
    project = home / "shop"
    project.mkdir()
    server = Served(home / "store", HOME=str(home))
    with server, server.connect() as connection:
        ids = write_mail(connection, str(project))
    return Post(server=server, project=str(project), **ids)


@pytest.fixture
def stopped_post(stopped_pattern: Post, tmp_path: Path) -> Post:
    """A copy of that store for one test, at the port that its server had; the project's folder is everybody's."""
    shutil.copytree(stopped_pattern.server.root, tmp_path / "store", symlinks=True)
    server = Served(tmp_path / "store", port=stopped_pattern.server.port, HOME=str(tmp_path))
    return replace(stopped_pattern, server=server)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """`am` in this process, where neither a store nor a server is."""
    return Shell(tmp_path, monkeypatch, capsys)


@pytest.fixture
def at_post(shell: Shell, post: Post) -> Shell:
    """`am` in this process, for the project of the server that all share."""
    shell.set(STORAGE_ROOT=str(post.server.root), AGENT_MAIL_PROJECT=post.project)
    return shell


@pytest.fixture
def at_stopped(shell: Shell, stopped_post: Post) -> Shell:
    """`am` in this process, for a store of its own and without a server."""
    shell.set(STORAGE_ROOT=str(stopped_post.server.root), AGENT_MAIL_PROJECT=stopped_post.project)
    return shell


@pytest.fixture(params=["at_post", "at_stopped"], ids=["with a server", "without one"])
def either(request: pytest.FixtureRequest) -> Shell:
    """`am` in this process, for the same mail: once over a running server, once over the store itself."""
    shell: Shell = request.getfixturevalue(request.param)
    return shell
