from __future__ import annotations

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
