from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcp_agent_mail.cli.commands.inboxes import read_inbox
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.domain.projects import UnknownProject
from tests.cli.conftest import Post
from tests.cli.shell import Shell


def am(shell: Shell, *arguments: str) -> str:
    done = shell.am(*arguments)
    assert (done.code, done.err) == (0, "")
    return done.out


def am_json(shell: Shell, *arguments: str) -> Any:
    return json.loads(am(shell, *arguments, "--json"))


def test_outside_a_project_the_inbox_is_that_of_all_projects(at_post: Shell, post: Post, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key=other)
        connection.call("register_agent", project_key=other, name="OchreOwl", program="tests", model="none")
        sent = connection.call(
            "send_message", project_key=other, sender_name="OchreOwl", to=["Human"], subject="There", body_md="x"
        )["deliveries"][0]["payload"]
    at_post.unset("AGENT_MAIL_PROJECT")

    shown = am_json(at_post, "mail")
    newest = am(at_post, "mail", "inbox", "--limit", "1").rstrip("\n").split("\t")
    elsewhere = am_json(at_post, "mail", "inbox", "OchreOwl")

    by_id = {message["id"]: message["project"] for message in shown["messages"]}
    assert (shown["agent"], shown["project"]) == ("Human", None)
    assert (by_id[sent["id"]], by_id[post.first_id]) == (other, post.project)
    assert [message["created_ts"] for message in shown["messages"]] == sorted(
        (message["created_ts"] for message in shown["messages"]), reverse=True
    )
    assert (newest[0], newest[2], *newest[-2:]) == (str(sent["id"]), other, "There", "unread")
    assert elsewhere["project"] == other


def test_a_project_that_was_named_is_not_given_up_for_all_of_them(at_post: Shell) -> None:
    done = at_post.am("mail", "--project", "/nowhere/at/all")

    assert (done.code, done.out) == (1, "")
    assert "am projects list shows them and --project names one" in done.err


class _Repeating:
    """A server whose list of projects never ends."""

    is_in_process = True

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        raise NotImplementedError((slug, sha256))

    def __init__(self) -> None:
        self.asked = 0

    def call(self, tool: str, arguments: object) -> Any:
        raise NotImplementedError

    def read(self, uri: str) -> Any:
        self.asked += 1
        if uri.startswith("resource://inbox") and "project=%2Fa" in uri:
            return {"messages": []}
        if uri.startswith("resource://projects"):
            return [{"id": 1, "human_key": "/a"}]
        raise UnknownProject("Unknown project.", data={"parameter": "project_key"})


@pytest.mark.usefixtures("shell")
def test_a_list_of_projects_that_does_not_go_on_is_not_followed() -> None:
    gateway = _Repeating()

    with pytest.raises(ValueError, match="do not come in the order"):
        read_inbox(gateway, "Human", None, load_context(), limit=20)

    assert gateway.asked < 5


class _Many:
    """A server of many projects, each with three messages, the newer project's the newer."""

    is_in_process = True

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        raise NotImplementedError((slug, sha256))

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[str] = []

    def call(self, tool: str, arguments: object) -> Any:
        raise NotImplementedError

    def read(self, uri: str) -> Any:
        query = parse_qs(urlsplit(uri).query)
        if uri.startswith("resource://projects"):
            after, limit = int(query.get("after_id", ["0"])[0]), int(query["limit"][0])
            return [{"id": n, "human_key": f"/p/{n}"} for n in range(after + 1, min(after + limit, self.count) + 1)]
        key = query.get("project", [""])[0]
        if not key.startswith("/p/"):
            raise UnknownProject("Unknown project.", data={"parameter": "project_key"})
        self.asked.append(key)
        first = int(key.removeprefix("/p/")) * 3
        return {"messages": [{"id": n, "created_ts": f"{n:09}"} for n in range(first, first + 3)]}


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize(("count", "left_out"), [(1_000, ""), (1_203, "Notice: 203 older projects were left out")])
def test_of_more_projects_than_are_asked_the_newest_are_and_the_rest_is_told(
    count: int, left_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = _Many(count)

    inbox = read_inbox(gateway, "Human", None, load_context(), limit=4)

    assert [message["id"] for message in inbox["messages"]] == [count * 3 + 2, count * 3 + 1, count * 3, count * 3 - 1]
    assert (len(gateway.asked), gateway.asked[-1]) == (1_000, f"/p/{count}")
    assert capsys.readouterr().err[: len(left_out) or None] == left_out
