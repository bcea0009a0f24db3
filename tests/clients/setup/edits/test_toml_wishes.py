from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import UnfitText
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


@pytest.mark.parametrize(
    "lost",
    [
        'env.A = "1"\n',
        'env.A = "1" # theirs\nenv."b c".d = [\n  2,\n]\nstartup = "evil"\n',
        'env.A = "1"\n[mcp_servers.agent-mail.env.more]\nB.c = "2"\n',
        '[mcp_servers.agent-mail.env]\nA.b = "1"\n[[mcp_servers.agent-mail.list]]\nC = 3\n',
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_dotted_keys_and_tables_below_come_back_where_others_have_added_a_table_since(lost: str, end: str) -> None:
    wish = replace(WISH, entries=[replace(WISH.entries[0], at_most={"url": "u", "n": 1})])
    before = f'[mcp_servers.agent-mail]\nurl = "u"\n{lost}'.replace("\n", end)
    text = put_into(before, wish) + f"{end}[z]{end}mine = 1"

    back = take_out(text, wish, before) or ""

    assert tomllib.loads(text) == {"mcp_servers": {"agent-mail": {"url": "u", "n": 1}}, "z": {"mine": 1}}
    assert tomllib.loads(back) == {**tomllib.loads(before), "z": {"mine": 1}}


def test_what_others_wrote_since_by_the_name_of_what_went_stays() -> None:
    wish = replace(WISH, entries=[replace(WISH.entries[0], at_most={"url": "u", "n": 1})])
    for lost in ('env.A = "1"\n', 'env = { A = "1" }\n', '[mcp_servers.agent-mail.env]\nA = "1"\n'):
        before = f'[mcp_servers.agent-mail]\nurl = "old"\n{lost}'
        for since in ('env.B = "2"\n', '[mcp_servers.agent-mail.env]\nB = "2"\n'):
            back = take_out(put_into(before, wish) + since, wish, before) or ""

            assert tomllib.loads(back) == {"mcp_servers": {"agent-mail": {"url": "old", "env": {"B": "2"}}}}


def test_what_is_left_to_a_person_is_no_drift_and_stays() -> None:
    wish = replace(WISH, entries=[replace(WISH.entries[0], free={"n": "number", "more": "number"}, at_most={"n": 1})])
    before = '[mcp_servers.agent-mail]\nurl = "u"\nn = 7 # mine\nmore = 2.5\n'
    moved = before.replace('"u"', '"v"\ncommand = "x"')

    assert differences(before, wish) == []
    assert put_into(before, wish) == put_into(moved, wish) == before
    assert take_out(put_into(moved, wish), wish, moved) is not None
    assert [one.line for one in differences(before.replace("7", '"7"'), wish)] == [3]
    assert put_into(before.replace("7", '"7"'), wish) == before.replace("7", "1")


@pytest.mark.parametrize(
    ("before", "line", "said"),
    [
        ("a = 1\nmcp_servers = { x = { n = 1 } }\n", 2, 'put into its braces: agent-mail = { url = "u", n = 1 }'),
        ("mcp_servers = 5\n", 1, "([mcp_servers.NAME])"),
        ("[mcp_servers]\nagent-mail = 5\n", 2, "Write it below a line [mcp_servers.agent-mail]"),
        ('a = 1\nmcp_servers.agent-mail.url = "old"\n', 2, "Write it below a line [mcp_servers.agent-mail]"),
        ('mcp_servers = { agent-mail = { url = "old" } }\n', 1, "Write it below a line [mcp_servers.agent-mail]"),
    ],
)
def test_an_entry_without_a_place_is_refused_with_its_line_and_what_to_do(before: str, line: int, said: str) -> None:
    with pytest.raises(UnfitText) as refused:
        put_into(before, WISH)

    assert refused.value.line == line
    assert said in refused.value.hint
    assert "mcp_servers" in refused.value.message


@pytest.mark.parametrize("before", ['mcp_servers = { x = { command = "npx" } }\n', "mcp_servers = 5\n"])
def test_a_look_at_it_says_so_too(before: str) -> None:
    with pytest.raises(UnfitText, match="mcp_servers is written as one value"):
        differences(before, WISH)


def test_servers_of_others_in_dotted_keys_leave_room_for_ours() -> None:
    before = 'mcp_servers.other.command = "npx"\n'

    text = put_into(before, WISH)

    assert text.startswith(before)
    assert tomllib.loads(text)["mcp_servers"] == {"other": {"command": "npx"}, "agent-mail": {"url": "u", "n": 1}}
    assert take_out(text, WISH, before) == before


def test_what_its_hint_says_to_write_is_taken_for_ours() -> None:
    before = 'mcp_servers = { x = { command = "npx" } }\n'
    with pytest.raises(UnfitText) as refused:
        put_into(before, WISH)

    by_hand = before.replace("{ x", f"{{ {refused.value.hint.partition('braces: ')[2]}, x")

    assert differences(by_hand, WISH) == []
    assert put_into(by_hand, WISH) == by_hand
