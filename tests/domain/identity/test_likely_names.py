from __future__ import annotations

import pytest

from mcp_agent_mail.domain.identity.likely_names import means_everyone, means_person, names_in


@pytest.mark.parametrize("text", ["all", "*", "@everyone", "Everybody", "all agents", "the-team", " All "])
def test_these_mean_everyone(text: str) -> None:
    assert means_everyone(text)
    assert not means_person(text)


@pytest.mark.parametrize("text", ["user", "me", "the user", "Operator", "@user"])
def test_these_mean_the_person(text: str) -> None:
    assert means_person(text)
    assert not means_everyone(text)


@pytest.mark.parametrize("text", ["BlueLake", "Allan", "", "userland"])
def test_a_name_means_neither(text: str) -> None:
    assert (means_everyone(text), means_person(text)) == (False, False)


@pytest.mark.parametrize(
    "text",
    [
        "BlueLake, RedStone",
        "BlueLake,RedStone,",
        "BlueLake; RedStone",
        "BlueLake and RedStone",
        "@BlueLake @RedStone",
        "[BlueLake, RedStone]",
        "'BlueLake', 'RedStone'",
        "BlueLake\nRedStone",
        "BlueLake, RedStone, BlueLake",
    ],
)
def test_names_in_one_text_are_told_apart_once_each(text: str) -> None:
    assert names_in(text) == ["BlueLake", "RedStone"]


def test_addresses_are_names_too() -> None:
    assert names_in("BlueLake@/code/lib, RedStone") == ["BlueLake@/code/lib", "RedStone"]


@pytest.mark.parametrize(
    "text", ["BlueLake", "", ",", "BlueLake@/code/my, own project", "write to all of them!", "BlueLake, " * 2_000]
)
def test_what_can_be_no_list_of_names_is_none(text: str) -> None:
    assert names_in(text) == []
