"""A project in which an agent at its shell has mail, under its own name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.served import Served

AGENT, PEER = "BlueLake", "RedStone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotPost:
    """A running server, a project, and the token of the agent that asks."""

    server: Served
    project: str
    token: str

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
        yield RobotPost(server=server, project=str(project), token=tokens[AGENT])


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
