from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.toml_wishes import differences, put_into, take_out
from mcp_agent_mail.clients.setup.wishes import EntryWish, FileFormat, FileWish, Part, Scope

WISH = FileWish(
    client="codex",
    part=Part.MCP,
    scope=Scope.USER,
    path=Path("/nowhere"),
    file_format=FileFormat.TOML,
    entries=[EntryWish(path=["mcp_servers", "agent-mail"], value={"url": "u", "n": 1}, drop=["command"])],
)


def test_what_is_there_already_is_not_written_again() -> None:
    text = put_into("# mine\n", WISH)

    assert put_into(text, WISH) == text
    assert differences(text, WISH) == []
    # However it is written.
    assert put_into('mcp_servers = { agent-mail = { url = "u", n = 1 } }', WISH).count("\n") == 0


def test_what_differs_has_a_line() -> None:
    text = '[mcp_servers.agent-mail]\nurl = "u"\ncommand = "am"\n'

    assert differences(text, WISH) == [
        Difference(what="mcp_servers.agent-mail.n", line=1),
        Difference(what="mcp_servers.agent-mail.command", line=3),
    ]
    assert differences("", WISH) == [Difference(what="mcp_servers.agent-mail", line=None)]


def test_it_goes_and_what_was_in_its_place_comes_back() -> None:
    before = '[mcp_servers.agent-mail]\nurl = "old"\n'

    assert take_out(put_into(before, WISH), WISH, before) == before
    assert take_out(put_into("", WISH), WISH, None) is None
    assert take_out(put_into("", WISH), WISH, "") == ""


def test_what_is_foreign_in_a_table_of_a_project_is_drift_with_its_line_and_goes_and_comes_back() -> None:
    wish = replace(WISH, entries=[replace(WISH.entries[0], at_most={"url": "u", "n": 1, "token": "T"})])
    before = (
        '[mcp_servers.agent-mail]\nurl = "u"\nn = 1\ntoken = "T"\nstartup = "evil"\n\n'
        '[mcp_servers.agent-mail.http_headers]\nX = "1"\n\n[other]\na = 1\n'
    )

    text = put_into(before, wish)

    assert [(one.what.split(".")[-1], one.line) for one in differences(before, wish)] == [
        ("startup", 5),
        ("http_headers", 7),
    ]
    assert differences(text, wish) == []
    assert tomllib.loads(text) == {
        "mcp_servers": {"agent-mail": {"url": "u", "n": 1, "token": "T"}},
        "other": {"a": 1},
    }
    assert tomllib.loads(take_out(text, wish, before) or "") == tomllib.loads(before)
