"""A project whose agents hold files, and wait for each other's consent."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell

PROJECT = "/code/leases"


@pytest.fixture(scope="session")
def leases(post: Post) -> str:
    """BlueLake holds two reservations; RedStone takes mail from contacts only, and GrayFox wrote to it."""
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key=PROJECT)
        for name in ("BlueLake", "RedStone", "GrayFox"):
            connection.call("register_agent", project_key=PROJECT, program="tests", model="none", name=name)
        for paths, ttl in ((["src/**"], 1_700), (["README.md"], 7_200)):
            connection.call(
                "file_reservation_paths", project_key=PROJECT, agent_name="BlueLake", paths=paths, ttl_seconds=ttl
            )
        connection.call("set_contact_policy", project_key=PROJECT, agent_name="RedStone", policy="contacts_only")
        connection.call(
            "send_message",
            project_key=PROJECT,
            sender_name="GrayFox",
            to=["RedStone"],
            subject="May I?",
            body_md="Secret until allowed.",
        )
    return PROJECT


@pytest.fixture
def at_leases(at_post: Shell, leases: str) -> Shell:
    """`am` in this process, for that project."""
    at_post.set(AGENT_MAIL_PROJECT=leases)
    return at_post
