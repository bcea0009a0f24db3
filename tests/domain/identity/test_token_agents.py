"""What is said to who comes with a token that is for certain agents."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.identity.token_agents import NOBODY, AmbiguousClaim, TokenAgents

TWICE = AmbiguousClaim(name=" bluelake", addresses=("BlueLake@app", "BlueLake@lib"))
THRICE = AmbiguousClaim(name="RedStone", addresses=("RedStone@app", "RedStone@lib", "RedStone@web"))


@pytest.mark.parametrize("name", ["BlueLake", " BLUELAKE ", None])
def test_a_name_that_may_mean_several_is_named_with_the_addresses_that_would_do(name: str | None) -> None:
    agents = TokenAgents(names=(" bluelake", "QuietFox@app"), ambiguous=(TWICE,))

    assert agents.why(name) == (
        "The token that let you in names bluelake without a project, and several projects have that name."
    )
    assert agents.remedy(name) == "Have its issuer write Name@project in the token: BlueLake@app or BlueLake@lib."


def test_of_several_such_names_the_one_that_is_meant_counts() -> None:
    agents = TokenAgents(names=(" bluelake", "RedStone"), ambiguous=(TWICE, THRICE))

    assert "names bluelake and RedStone without" in agents.why()
    assert agents.remedy().endswith("BlueLake@app, BlueLake@lib, RedStone@app or 2 more.")
    assert agents.remedy("RedStone").endswith(": RedStone@app, RedStone@lib or RedStone@web.")
    assert agents.why("QuietFox") == "The token that let you in is for bluelake and RedStone alone."


def test_a_long_list_and_a_long_name_are_cut() -> None:
    agents = TokenAgents(names=("A" * 5_000, "B", "C", "D"))

    assert agents.why("E") == f"The token that let you in is for {'A' * 100}, B, C and 1 more alone."
    assert agents.remedy("E") == f"Act as {'A' * 100}, B, C or 1 more, or come with a token for E."


def test_who_may_register_nobody_is_not_told_to() -> None:
    agents = TokenAgents(names=("BlueLake@app",))

    assert agents.remedy() == "Register as BlueLake@app, or come with a token for an agent that is there, or for none."
    assert agents.remedy(may_register=False) == "Come with a token for an agent that is there, or for none."


def test_who_the_token_is_not_for_learns_that_its_own_counts_for_nothing_there() -> None:
    assert TokenAgents(names=("BlueLake",)).shut_out("RedStone") == (
        "This connection acts as BlueLake alone: the new RedStone's registration_token counts for nothing on it. "
        "The new RedStone needs a connection whose bearer proves no other agent."
    )


def test_a_token_that_names_nobody_is_told_so() -> None:
    nobodys = TokenAgents(names=(NOBODY,))

    assert nobodys.why("BlueLake") == nobodys.why() == "The token that let you in names no agent."
    assert nobodys.remedy("BlueLake") == "Come with a token for BlueLake."
    assert nobodys.shut_out("BlueLake").startswith("This connection acts as nobody: the new BlueLake's")


def test_of_an_agent_that_is_gone_nothing_can_be_named() -> None:
    gone = TokenAgents(names=())

    assert gone.why("BlueLake") == gone.why() == "The token that let you in is an agent's that is not there any more."
    assert gone.remedy("BlueLake") == "Come with a token for BlueLake."
    assert gone.remedy() == "Come with a token for an agent that is there, or for none."
