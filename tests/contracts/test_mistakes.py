"""A mistake costs one turn: the text block of each refusal alone holds what the next call needs, and that succeeds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.mistakes import APP, LIB, MISTAKES, PROFILE, Mistake
from tests.served import Connection, Served


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A session of a server with two projects, a message that waits for an answer and a request that does."""
    with Served(tmp_path_factory.mktemp("mistakes") / "store") as server, server.connect() as session:
        for key, names in ((APP, ("BlueLake", "RedStone", "GreenField")), (LIB, ("QuietFox",))):
            session.call("ensure_project", human_key=key)
            for name in names:
                session.call("register_agent", project_key=key, name=name, **PROFILE)
        session.call(
            "send_message", project_key=APP, sender_name="RedStone", to="BlueLake", subject="Plan", body_md="Yes?"
        )
        session.call("request_contact", project_key=APP, from_agent="GreenField", to_agent="BlueLake")
        session.open_session()
        yield session


@pytest.mark.parametrize("mistake", [pytest.param(one, id=one.name) for one in MISTAKES])
def test_the_text_of_a_refusal_holds_what_the_right_call_needs(mistake: Mistake, connection: Connection) -> None:
    refused = connection.tool(mistake.tool, **mistake.wrong)

    text = refused["content"][0]["text"]
    assert refused["isError"]
    assert [part for part in mistake.told if part not in text] == [], text
    assert [part for part in mistake.never if part in text] == [], text
    again = connection.tool(mistake.right_tool or mistake.tool, **mistake.right)
    assert not again["isError"], again["content"][0]["text"]


def test_there_are_more_than_thirty() -> None:
    assert len({one.name for one in MISTAKES}) == len(MISTAKES) > 30


def test_every_hint_stands_in_the_text_block(connection: Connection) -> None:
    for mistake in MISTAKES:
        refused = connection.tool(mistake.tool, **mistake.wrong)
        if refused["isError"]:  # a right call may have made it one: the contact that is asked for twice
            error = refused["structuredContent"]["error"]
            assert refused["content"][0]["text"].endswith(error["hint"])
            assert error["hint"] or error["type"] == "INVALID_INPUT", "a choice says what is accepted as its fact"
