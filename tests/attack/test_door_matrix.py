"""Who comes with a forged name, a wrong token or from a web page, at every door: what they are answered, over HTTP."""

from __future__ import annotations

import asyncio

import pytest

from tests.attack.door_verdicts import MODES, NATIVE, OF_SERVER, PAGE, Verdict, ask_all, page

MAKE = "python -m tests.attack.door_verdicts"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    return asyncio.run(ask_all(tmp_path_factory.mktemp("doors")))


def test_the_page_says_what_was_answered(verdicts: list[Verdict]) -> None:
    assert page(verdicts) == PAGE.read_text(encoding="utf-8"), MAKE


def test_nothing_that_a_web_page_can_send_comes_in(verdicts: list[Verdict]) -> None:
    came_in = [one for one in verdicts for told in one.foreign.values() if "200" in told]

    assert came_in == []
    assert {one.foreign[kind] for one in verdicts for kind in ("foreign Host", "foreign Origin")} == {"403"}


@pytest.mark.parametrize("mode", MODES)
def test_where_the_server_has_a_token_it_opens_every_door_and_no_other_does(verdicts: list[Verdict], mode: str) -> None:
    asked = {one: one.columns[f"{mode}, server's token"] for one in verdicts if not one.is_open}

    assert {told for one, told in asked.items() if one.credential not in OF_SERVER} == {"401"}
    assert "401" not in {told for one, told in asked.items() if one.credential in OF_SERVER}


def test_under_strict_no_door_speaks_as_a_native_agent_unless_by_its_token_with_claims(verdicts: list[Verdict]) -> None:
    spoke = {
        (one.door, one.credential, name)
        for one in verdicts
        for name, told in one.columns.items()
        if NATIVE in one.asked and name.startswith("strict") and told == "200"
    }

    assert spoke == {
        ("claims", "agent's", "strict"),
        ("claims", "agent's as bearer", "strict"),
        ("claims", "server's and agent's", "strict, server's token"),
    }


def test_a_name_of_the_door_is_taken_at_its_word_in_both_modes(verdicts: list[Verdict]) -> None:
    own = [one for one in verdicts if NATIVE not in one.asked]

    assert own
    assert {one.columns[mode] for one in own for mode in MODES} == {"200"}
