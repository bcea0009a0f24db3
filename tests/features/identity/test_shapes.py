from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.ids import WindowId
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.token_agents import TokenAgents
from mcp_agent_mail.domain.identity.windows import Window
from mcp_agent_mail.domain.presence import ABSENT, ListeningVia, Presence
from mcp_agent_mail.features.identity.register import Registered
from mcp_agent_mail.features.identity.shapes import show_agent, show_listening, show_peer, show_registered, with_proof
from tests.features.samples import APP, NOW, NOW_TEXT, OPEN, STRICT, an_agent

AGENT_KEYS = [
    "id",
    "name",
    "program",
    "model",
    "task_description",
    "inception_ts",
    "last_active_ts",
    "project_id",
    "contact_policy",
    "attachments_policy",
]


def test_an_agent_is_shown_with_these_keys_in_this_order() -> None:
    shown = show_agent(an_agent())

    assert list(shown) == AGENT_KEYS
    assert (shown["name"], shown["project_id"], shown["last_active_ts"]) == ("BlueLake", 7, NOW_TEXT)


def test_a_peer_is_shown_with_its_status_and_without_numbers_of_the_store() -> None:
    shown = show_peer(an_agent(), ABSENT)

    assert (shown["name"], shown["contact_policy"], shown["status"], shown["status_note"]) == (
        "BlueLake",
        "auto",
        "ready",
        None,
    )
    assert shown.keys().isdisjoint({"id", "project_id"})


def test_who_listens_is_shown_by_what_and_since_when_it_is_busy() -> None:
    assert show_listening(Presence(via=ListeningVia.HOOK, busy_since=NOW)) == {
        "listening": True,
        "listening_via": "hook",
        "busy_since": NOW_TEXT,
    }
    assert show_listening(ABSENT) == {"listening": False, "listening_via": None, "busy_since": None}


def test_who_comes_back_is_told_of_no_token_no_other_name_and_no_window() -> None:
    shown = show_registered(Registered(agent=an_agent(), is_verified=True), STRICT)

    assert list(shown) == AGENT_KEYS


def test_who_is_new_is_told_its_token_and_which_name_it_was_not_given() -> None:
    registered = Registered(agent=an_agent(), is_verified=False, token="amt_1", requested_name="parser")

    shown = show_registered(registered, STRICT)

    assert (shown["registration_token"], shown["requested_name"], shown["name_coerced"]) == ("amt_1", "parser", True)


def test_who_is_made_on_a_connection_that_is_anothers_alone_is_told_so() -> None:
    blue = an_agent()
    bound = Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.OPEN,
        agent_id=blue.id,
        agent_name=blue.name,
        project_id=blue.project_id,
        token_agents=TokenAgents(names=("BlueLake",)),
    )
    made = Registered(agent=an_agent(2, "Redston"), is_verified=False, token="amt_2", like="RedStone", is_shut_out=True)
    known = Registered(agent=blue, is_verified=True, was=blue)

    told = show_registered(made, bound)["hint"]

    assert told.startswith("A new agent. Did you mean RedStone, who is here already? This connection acts as BlueLake")
    assert "hint" not in show_registered(known, bound)
    assert "This connection" not in show_registered(replace(made, is_shut_out=False), bound)["hint"]


def test_who_came_from_a_window_is_told_the_name_that_the_window_gives() -> None:
    window = Window(
        id=WindowId(1),
        project_id=APP.id,
        uuid="3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11",
        display_name="RedStone",
        created_ts=NOW,
        last_active_ts=NOW,
        expired_ts=None,
    )

    shown = show_registered(Registered(agent=an_agent(), is_verified=False, window=window), STRICT)

    assert (shown["window_id"], shown["window_display_name"]) == (window.uuid, "RedStone")


def test_only_where_names_are_taken_at_their_word_an_answer_says_whether_one_was_proven() -> None:
    answer = {"agent": "BlueLake"}

    assert with_proof(answer, OPEN, is_verified=False) == {"agent": "BlueLake", "verified": False}
    assert with_proof(answer, OPEN, is_verified=True) == {"agent": "BlueLake", "verified": True}
    assert with_proof(answer, STRICT, is_verified=True) == answer
