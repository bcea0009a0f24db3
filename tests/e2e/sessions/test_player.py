"""How a played agent corrects its mistakes: at once where the text tells, by a look-up where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sessions.chores import own, start
from tests.e2e.sessions.player import Call, Cost, Player, instead, put, renamed
from tests.served import Served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("player")
    with Served(folder / "store") as served:
        yield served


@pytest.fixture
def player(server: Served) -> Iterator[Player]:
    player = Player(server, Cost(), project="/code/shop", profile="core", form="json", name="BlueLake")
    start(player)
    player.cost.turns, player.cost.texts = 0, []
    yield player
    player.close()


def test_a_call_is_one_turn_and_both_its_texts_are_paid_for(player: Player) -> None:
    reply = player.call("fetch_inbox", **own(player))

    assert (reply.is_error, reply.value, player.cost.turns) == (False, [], 1)
    assert [text for text in player.cost.texts if "fetch_inbox" in text or text == reply.text] == player.cost.texts
    assert player.cost.characters == sum(len(text) for text in player.cost.texts)


def test_a_mistake_whose_refusal_tells_is_corrected_by_the_next_call(player: Player) -> None:
    player.mistake("body", Call("fetch_inbox", {**own(player), "max": 5}), renamed("max", "limit"))

    assert (player.cost.turns, player.cost.mistakes) == (2, {"body": 1})


def test_a_mistake_whose_refusal_does_not_tell_costs_a_look_up(player: Player) -> None:
    asked = Call("fetch_inbox", {**own(player), "limit": "many"})

    player.mistake("limit", asked, put("limit", 5, told="never said", lookup=Call("list_contacts", own(player))))

    assert (player.cost.turns, player.cost.mistakes) == (3, {"limit": 2})
    assert any("list_contacts" in text for text in player.cost.texts)


def test_without_a_look_up_of_its_own_the_agent_reads_the_schema_of_the_tool_it_means(player: Player) -> None:
    asked = Call("zzz", own(player))

    player.mistake("tool", asked, instead(Call("fetch_inbox", own(player)), told="never said"))

    assert player.cost.mistakes == {"tool": 2}
    assert any('"inputSchema"' in text and '"fetch_inbox"' in text for text in player.cost.texts)


def test_what_a_look_up_tells_serves_the_other_corrections_too(player: Player) -> None:
    asked = Call("fetch_inbox", {**own(player), "limit": "many", "urgent_only": "perhaps"})
    lookup = Call("macro_start_session", {"human_key": player.project, "agent_name": "BlueLake", "program": "a"})

    player.mistake(
        "both",
        asked,
        put("limit", 5, told="never said", lookup=lookup),
        put("urgent_only", value=True, told="needs model"),
    )

    assert player.cost.mistakes == {"both": 2}


def test_an_answer_that_is_not_what_was_meant_is_a_mistake_too(player: Player) -> None:
    asked = Call("fetch_inbox", {**own(player), "limit": 1})

    with pytest.raises(AssertionError, match="no correction is left"):
        player.mistake("empty", asked, met=bool)


def test_a_mistake_that_is_none_costs_nothing(player: Player) -> None:
    player.mistake("none", Call("fetch_inbox", own(player)), renamed("max", "limit"))

    assert (player.cost.turns, player.cost.mistakes) == (1, {"none": 0})


def test_what_the_connection_says_is_not_said_again_and_what_differs_is(player: Player) -> None:
    player.call("fetch_inbox", **own(player))
    player.call("fetch_inbox", project_key=player.project, agent_name="RedStone")
    player.call("fetch_inbox", project_key="shop", agent_name=player.name)

    said = [text for text in player.cost.texts if text.startswith('{"name":')]
    assert said == [
        '{"name":"fetch_inbox","arguments":{}}',
        '{"name":"fetch_inbox","arguments":{"agent_name":"RedStone"}}',
        '{"name":"fetch_inbox","arguments":{"project_key":"shop"}}',
    ]


def test_what_markdown_says_is_read_as_what_it_means(server: Served) -> None:
    player = Player(server, Cost(), project="/code/shop", profile="core", form="md", name="BlueLake")
    start(player)
    wrong = Call("acknowledge_message", {**own(player), "message_id": 99})

    with pytest.raises(AssertionError, match="no correction is left"):
        player.mistake("escaped", wrong, put("message_id", 98, told="no_such_message"), met=lambda _: False)

    assert player.cost.turns == 3
    assert "no_such_message" in player.cost.texts[-1]
    player.close()
