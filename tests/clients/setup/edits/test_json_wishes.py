from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.setup.edits.json_wishes import differences, put_into, take_out
from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.wishes import EntryWish, FileFormat, FileWish, HookWish, Part, Scope

OURS: Any = {"hooks": [{"type": "command", "command": "/x/am hook claude Stop", "timeout": 5}]}
ENTRY = {"m": {"agent-mail": {"url": "u", "headers": {"A": "1"}}}}
WISH = FileWish(
    client="claude",
    part=Part.HOOKS,
    scope=Scope.USER,
    path=Path("/nowhere"),
    file_format=FileFormat.JSON,
    entries=[
        EntryWish(path=["version"], value=1, is_scaffold=True),
        EntryWish(path=["m", "agent-mail"], value={"url": "u", "headers": {"A": "1"}}, drop=["command"]),
    ],
    hooks=[HookWish(path=["hooks", "Stop"], mark="hook claude Stop", item=OURS)],
)


def test_what_is_there_already_is_not_written_again() -> None:
    text = put_into("", WISH)

    assert put_into(text, WISH) == text
    assert differences(text, WISH) == []


def test_an_entry_by_our_name_keeps_what_we_do_not_set() -> None:
    before = '{"m": {"agent-mail": {"command": "am", "url": "old", "mine": [1], "headers": {"B": "2"}}}}'

    text = put_into(before, WISH)

    entry = json.loads(text)["m"]["agent-mail"]
    assert entry == {"url": "u", "mine": [1], "headers": {"B": "2", "A": "1"}}
    assert json.loads(take_out(text, WISH, before) or "")["m"] == json.loads(before)["m"]


def test_a_handler_of_ours_in_a_group_of_others_is_mended_and_goes_alone() -> None:
    theirs = {"type": "command", "command": "lint"}
    old = {"type": "command", "command": "'/old place/am' hook claude Stop"}
    before = json.dumps({"hooks": {"Stop": [{"hooks": [theirs, old]}]}}, indent=2)

    text = put_into(before, WISH)

    (group,) = json.loads(text)["hooks"]["Stop"]
    assert group == {"hooks": [theirs, OURS["hooks"][0]]}
    gone = json.loads(take_out(text, WISH, "{}") or "")
    assert gone["hooks"]["Stop"] == [{"hooks": [theirs]}]


def test_a_handler_of_ours_below_a_matcher_of_others_is_drift_and_gets_a_group_of_its_own() -> None:
    theirs = {"type": "command", "command": "lint"}
    stop = [{"matcher": "NeverThis", "hooks": [theirs, *OURS["hooks"]]}]
    before = json.dumps({"version": 1, **ENTRY, "hooks": {"Stop": stop}}, indent=2)

    text = put_into(before, WISH)

    assert [one.what for one in differences(before, WISH)] == ["hook claude Stop"]
    assert json.loads(text)["hooks"]["Stop"] == [{"matcher": "NeverThis", "hooks": [theirs]}, OURS]
    assert differences(text, WISH) == []


LINT = {"type": "command", "command": "lint"}
OLD = {"type": "command", "command": "'/old place/am' hook claude Stop"}
OLDER = {"type": "command", "command": "am hook claude Stop", "timeout": 1}


@pytest.mark.parametrize(
    "stop",
    [
        [{"matcher": "Bash", "hooks": [OLD]}],
        [{"matcher": "Bash", "hooks": [LINT, OLD]}],
        [{"matcher": "Bash", "hooks": [OLD, LINT]}, {"hooks": [LINT]}],
        [{"hooks": [OLD, LINT]}],
        [{"hooks": [LINT]}, {"matcher": "Bash", "hooks": [OLD, OLDER]}],
        [{"matcher": "Bash", "hooks": [OLD, LINT, OLDER]}],
        [{"matcher": "Bash", "hooks": [OLD, LINT]}, {"matcher": "Edit", "hooks": [LINT, OLDER]}],
        [OLD],
        [{"matcher": "Edit", **OLD}, LINT],
        [{"matcher": "Bash", "hooks": [OLD]}, {"matcher": "Edit", "hooks": [OLDER]}],
    ],
)
@pytest.mark.parametrize("matcher", [None, "*"])
def test_undo_gives_a_handler_back_in_the_group_and_below_the_matcher_that_it_stood_in(
    stop: list[Any], matcher: str | None
) -> None:
    ours = {"matcher": matcher, **OURS} if matcher else OURS
    wish = replace(WISH, hooks=[replace(WISH.hooks[0], item=ours)])
    before = json.dumps({"version": 1, **ENTRY, "hooks": {"Stop": stop}}, indent=2).replace("[\n", "[ // why\n")
    text = put_into(before, wish)
    changed = text.replace('"version": 1', '"version": 7')

    assert differences(text, wish) == []
    assert take_out(changed, wish, before) == before.replace('"version": 1', '"version": 7')


def test_what_others_have_made_of_groups_since_stays_with_undo() -> None:
    wish = replace(WISH, hooks=[replace(WISH.hooks[0], item={"matcher": "*", **OURS})])

    def back(before: list[Any], since: list[Any]) -> Any:
        original, now = (json.dumps({"version": 1, **ENTRY, "hooks": {"Stop": stop}}) for stop in (before, since))
        return json.loads(take_out(now, wish, original) or "")["hooks"]["Stop"]

    bash, ours = {"matcher": "Bash"}, {"matcher": "*", **OURS}
    alone = [{**bash, "hooks": [OLD]}]
    assert back(alone, [{"matcher": "Mine", **OURS}]) == [{"matcher": "Mine", "hooks": [OLD]}]
    assert back(alone, [{"matcher": "*", "hooks": [*OURS["hooks"], LINT]}]) == [
        {"matcher": "*", "hooks": [LINT]},
        {**bash, "hooks": [OLD]},
    ]
    shared = [{**bash, "hooks": [OLD, LINT]}]
    more = {"type": "command", "command": "more"}
    assert back(shared, [{**bash, "hooks": [LINT, more]}, ours]) == [{**bash, "hooks": [LINT, more, OLD]}]
    assert back(shared, [ours]) == [{**bash, "hooks": [OLD]}]
    assert back(shared, [{"matcher": "Mine", "hooks": [LINT]}, ours]) == [
        {"matcher": "Mine", "hooks": [LINT]},
        {**bash, "hooks": [OLD]},
    ]
    # Whoever took ours away wants none.
    assert back(shared, [{**bash, "hooks": [LINT]}]) == [{**bash, "hooks": [LINT]}]


def test_what_is_foreign_in_an_entry_of_a_project_is_drift_with_its_line_and_goes_and_comes_back() -> None:
    most = {"url": "u", "headers": {"A": "1", "T": "t"}, "also": [2]}
    wish = replace(WISH, entries=[replace(WISH.entries[1], at_most=most)], hooks=[])
    before = (
        '{"m": {"agent-mail": {"url": "u",\n"headersHelper": "evil",\n'
        '"headers": {"A": "1",\n"X": "${SECRET}", "T": "t"},\n"also": [2]}}}'
    )

    text = put_into(before, wish)

    assert differences(before, wish) == [
        Difference(what="m.agent-mail.headersHelper", line=2),
        Difference(what="m.agent-mail.headers.X", line=4),
    ]
    assert json.loads(text)["m"]["agent-mail"] == {"url": "u", "headers": {"A": "1", "T": "t"}, "also": [2]}
    assert differences(text, wish) == []
    assert json.loads(take_out(text, wish, before) or "") == json.loads(before)
    changed = text.replace('"A": "1"', '"A": "2"')
    assert json.loads(take_out(changed, wish, before) or "")["m"]["agent-mail"]["headersHelper"] == "evil"


def test_what_is_allowed_beside_ours_is_so_with_one_value_alone() -> None:
    wish = replace(WISH, entries=[replace(WISH.entries[1], at_most={"url": "u", "headers": {"A": "1"}, "also": 2})])

    assert "also" not in put_into('{"m": {"agent-mail": {"also": 3}}}', wish)


def test_of_two_handlers_of_ours_one_is_left() -> None:
    before = json.dumps({"hooks": {"Stop": [OURS, OURS]}})

    assert json.loads(put_into(before, WISH))["hooks"]["Stop"] == [OURS]


def test_what_is_missing_has_no_line_and_what_differs_has_one() -> None:
    text = '{\n"m": {"agent-mail": {"url": "u",\n"headers": {"A": "2"}}}\n}'

    assert differences(text, WISH) == [
        Difference(what="version", line=None),
        Difference(what="m.agent-mail.headers.A", line=3),
        Difference(what="hook claude Stop", line=None),
    ]


def test_what_the_file_needs_to_be_read_stays_with_hooks_of_others_in_a_file_that_we_made() -> None:
    text = put_into("", WISH).replace('"Stop": [', '"Other": [1],\n    "Stop": [')

    assert json.loads(take_out(text, WISH, None) or "") == {"version": 1, "hooks": {"Other": [1]}}


def test_nothing_is_left_of_a_file_of_ours_alone() -> None:
    assert take_out(put_into("", WISH), WISH, None) is None


FREE = {"timeout": "number", "trust": "flag", "tools": "texts"}
CHOSEN = replace(
    WISH,
    entries=[
        EntryWish(
            path=["m", "agent-mail"],
            value={"url": "u", "timeout": 60, "trust": False},
            drop=["command"],
            at_most={"url": "u", "timeout": 60, "trust": False},
            free=FREE,
        )
    ],
    hooks=[],
)


def test_what_is_left_to_a_person_is_no_drift_and_stays() -> None:
    before = '{"m": {"agent-mail": {"url": "u",\n"timeout": 5, "trust": true, "tools": ["a"]}}}'

    assert differences(before, CHOSEN) == []
    assert put_into(before, CHOSEN) == before
    moved = put_into(before.replace('"url": "u"', '"url": "old", "command": "x"'), CHOSEN)
    assert json.loads(moved) == json.loads(before)
    assert json.loads(take_out(moved, CHOSEN, before) or "") == json.loads(before)


@pytest.mark.parametrize(
    ("entry", "drifted"),
    [
        ('"url": "u", "timeout": "5", "trust": false', "timeout"),
        ('"url": "u", "timeout": 0, "trust": false', "timeout"),
        ('"url": "u", "timeout": true, "trust": false', "timeout"),
        ('"url": "u", "timeout": 60, "trust": {"run": "x"}', "trust"),
        ('"url": "u", "timeout": 60, "trust": false, "tools": [{"run": "x"}]', "tools"),
        ('"url": "v", "timeout": 60, "trust": false', "url"),
        ('"url": "u", "timeout": 60, "trust": false, "command": "x"', "command"),
        ('"url": "u", "timeout": 60, "trust": false, "headersHelper": "x"', "headersHelper"),
        ('"url": "u", "timeout": 60, "trust": false, "headers": {"X": "1"}', "headers"),
        ('"url": "u", "timeout": 60, "trust": false, "env": {"X": "1"}', "env"),
    ],
)
def test_what_is_of_another_kind_or_leads_elsewhere_is_drift(entry: str, drifted: str) -> None:
    before = f'{{"m": {{"agent-mail": {{{entry}}}}}}}'

    assert [one.what for one in differences(before, CHOSEN)] == [f"m.agent-mail.{drifted}"]
    assert json.loads(put_into(before, CHOSEN))["m"]["agent-mail"] == {"url": "u", "timeout": 60, "trust": False}
