"""A project in which an agent at its shell has mail, under its own name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.served import Served

AGENT, PEER = "BlueLake", "RedStone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotPost:
    """A running server, a project, and the tokens of the agent that asks and of its peer."""

    server: Served
    project: str
    token: str
    peers_token: str

    def send(self, subject: str, body: str = "text", **more: object) -> int:
        """Mail to the agent that asks; gives its id."""
        with self.server.connect() as connection:
            sent = connection.call(
                "send_message",
                project_key=self.project,
                sender_name=PEER,
                **{"to": [AGENT], "subject": subject, "body_md": body, **more},
            )
        return int(sent["deliveries"][0]["payload"]["id"])

    def issue(self, agent: str | None, **wish: str) -> str:
        """A token that the operator issues, to the agent if there is one."""
        bearer = f"Bearer {(self.server.root / 'operator.token').read_text().strip()}"
        asked = wish if agent is None else {"agent_name": agent, "project_key": self.project, **wish}
        with self.server.connect() as connection:
            answer = connection.rpc("create_issued_token", asked, Authorization=bearer)
        return str(answer.value["token"])

    @contextmanager
    def served_with(self, **settings: str) -> Iterator[RobotPost]:
        """The same store behind another server with these settings."""
        self.server.stop()
        with Served(self.server.root, port=None, HOME=str(self.server.root.parent), **settings) as server:
            yield replace(self, server=server)


@pytest.fixture
def robot_post(tmp_path: Path) -> Iterator[RobotPost]:
    project = tmp_path / "shop"
    project.mkdir()
    with Served(tmp_path / "store", HOME=str(tmp_path)) as server:
        tokens = {}
        with server.connect() as connection:
            connection.call("ensure_project", human_key=str(project))
            for name in (AGENT, PEER):
                given = {"name": name, "program": "tester", "model": "scripted"}
                agent = connection.call("register_agent", project_key=str(project), **given)
                tokens[name] = agent["registration_token"]
        yield RobotPost(server=server, project=str(project), token=tokens[AGENT], peers_token=tokens[PEER])


@pytest.fixture
def at_shell(shell: Shell, robot_post: RobotPost) -> Shell:
    """The agent's own shell, in its project."""
    shell.set(
        STORAGE_ROOT=str(robot_post.server.root),
        AGENT_MAIL_PROJECT=robot_post.project,
        AGENT_NAME=AGENT,
        AGENT_MAIL_AGENT_TOKEN=robot_post.token,
    )
    return shell
