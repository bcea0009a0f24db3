"""What clients' hooks ask and confirm, over HTTP: who may, what comes back, and what it makes of the mail's ladder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.server.whole_app import OPERATOR, WholeApp, open_whole_app

APP = "/code/app"
LIB = "/code/lib"
BY_OPERATOR = {"Authorization": f"Bearer {OPERATOR}"}


@dataclass
class Team:
    """BlueLake and RedStone of `app`, GreyOwl of `lib`; hooks speak for RedStone unless said otherwise."""

    app: WholeApp
    tokens: dict[str, str] = field(default_factory=dict)

    def by(self, name: str) -> dict[str, str]:
        return {"X-Agent-Token": self.tokens[name]}

    async def send(self, by: str = "BlueLake", **more: Any) -> int:
        letter = {"project_key": APP, "sender_name": by, "to": ["RedStone"], "subject": "Plan", "body_md": "body"}
        sent = await self.app.call("send_message", self.by(by), **{**letter, **more})
        number = sent["deliveries"][0]["payload"]["id"]
        assert isinstance(number, int)
        return number

    # Plain JSON, as the route gives it.
    async def post(self, path: str, headers: dict[str, str] | None = None, **arguments: Any) -> tuple[int, Any]:
        given = {"project_key": APP, "agent_name": "RedStone", "session": "s-1", **arguments}
        by = self.by("RedStone") if headers is None else headers
        answer = await self.app.client.post(f"/rest/v1/hooks/{path}", json=given, headers=by)
        return answer.status_code, answer.json()

    # Likewise.
    async def event(self, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
        status, answer = await self.post("event", headers, **{"event": "turn", "client": "claude", **arguments})
        assert status == 200, answer
        return answer

    async def told(self, claim: str, headers: dict[str, str] | None = None, **arguments: Any) -> int:
        status, answer = await self.post("told", headers, claim=claim, **arguments)
        assert status == 200, answer
        return int(answer["told"])

    async def status(self, message_id: int) -> str:
        found = await self.app.call("message_status", self.by("BlueLake"), project_key=APP, message_id=message_id)
        return str(found["recipients"][0]["status"])

    async def slug(self, project: str) -> str:
        found = await self.app.store.read(lambda view: view.projects.find_by_human_key(project))
        assert found is not None
        return found.slug

    async def is_listening(self) -> bool:
        found = await self.app.call("whois", self.by("BlueLake"), project_key=APP, agent_name="RedStone")
        return bool(found["listening"])


@asynccontextmanager
async def a_team(directory: Path, **settings: str) -> AsyncIterator[Team]:
    async with open_whole_app(directory, CONTACT_ENFORCEMENT_ENABLED="false", **settings) as app:
        team = Team(app)
        for project, names in ((APP, ("BlueLake", "RedStone")), (LIB, ("GreyOwl",))):
            await app.call("ensure_project", BY_OPERATOR, human_key=project)
            for name in names:
                who = {"project_key": project, "name": name, "program": "tests", "model": "none"}
                made = await app.call("register_agent", BY_OPERATOR, **who)
                team.tokens[name] = made["registration_token"]
        yield team


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    async with a_team(tmp_path) as opened:
        yield opened


def ids(answer: dict[str, Any]) -> list[int]:
    return [one["id"] for one in answer["messages"]]


async def test_what_is_given_is_handed_over_when_confirmed_and_shown_by_the_next_event(team: Team) -> None:
    number = await team.send()

    given = await team.event(least="any")
    before = await team.status(number)
    told = await team.told(given["claim"])
    confirmed = await team.status(number)
    await team.event(session="another", event="tool")
    by_another = await team.status(number)
    await team.event(event="tool")

    assert (ids(given), told) == ([number], 1)
    assert (before, confirmed, by_another) == ("delivered", "handed_over", "handed_over")
    assert await team.status(number) == "shown"


async def test_an_answer_has_these_keys_and_no_more_of_a_message_than_its_line(team: Team) -> None:
    body = "\n \n  First line \nsecond line"
    number = await team.send(importance="high", ack_required=True, subject="Schema", body_md=body)
    foreign = await team.send(by="GreyOwl", project_key=LIB, to=[f"RedStone@{APP}"], body_md="x" * 500)

    answer = await team.event(least="any")

    first, second = answer.pop("messages")
    assert answer.pop("listening_until") is not None
    assert len(answer.pop("claim")) == 32
    assert answer == {"unread": 2, "more": 0, "stop": None, "reprime": None}
    assert first.pop("age_s") in range(60)
    assert first == {
        "id": number,
        "from": "BlueLake",
        "verified": True,
        "importance": "high",
        "subject": "Schema",
        "first_line": "First line",
        "ack_required": True,
        "asks_stop": False,
    }
    assert (second["id"], second["from"]) == (foreign, f"GreyOwl@{await team.slug(LIB)}")
    assert second["first_line"] == "x" * 200


async def test_each_event_is_told_what_fits_it_and_the_most_important_first(team: Team) -> None:
    normal = await team.send()
    high = await team.send(importance="high")
    urgent = await team.send(importance="urgent")

    nothing = await team.event()
    after_a_tool = await team.event(event="tool", least="urgent", session="a")
    at_the_end = await team.event(event="idle", least="high", session="b")
    next_turn = await team.event(least="any", session="c")
    two = await team.event(least="any", limit=2, session="d")
    none = await team.event(least="any", limit=0, session="e")

    assert (ids(nothing), nothing["claim"], nothing["unread"]) == ([], None, 3)
    assert [ids(one) for one in (after_a_tool, at_the_end, next_turn)] == [
        [urgent],
        [urgent, high],
        [urgent, high, normal],
    ]
    assert (ids(two), two["more"]) == ([urgent, high], 1)
    assert (ids(none), none["more"], none["claim"]) == ([], 3, None)


async def test_what_was_given_is_counted_and_never_given_to_that_session_again(team: Team) -> None:
    number = await team.send()
    await team.event(least="any")

    again = await team.event(least="any")
    elsewhere = await team.event(least="any", session="another")

    assert (ids(again), again["unread"], again["more"], again["claim"]) == ([], 1, 0, None)
    assert ids(elsewhere) == [number]
    assert await team.status(number) == "delivered"


@pytest.mark.parametrize("ends", ["read", "withdrawn"])
async def test_what_is_unread_no_more_is_told_no_more(team: Team, ends: str) -> None:
    number = await team.send()
    if ends == "read":
        who = {"project_key": APP, "agent_name": "RedStone", "message_id": number}
        await team.app.call("mark_message_read", team.by("RedStone"), **who)
    else:
        who = {"project_key": APP, "sender_name": "BlueLake", "message_id": number}
        await team.app.call("withdraw_message", team.by("BlueLake"), **who)

    answer = await team.event(least="any")

    assert (ids(answer), answer["unread"], answer["more"]) == ([], 0, 0)


async def test_a_repeated_confirmation_says_nothing_new_and_a_strangers_claim_is_not_found(team: Team) -> None:
    await team.send()
    claim = (await team.event(least="any"))["claim"]
    await team.send(to=["BlueLake"], by="RedStone")
    theirs = await team.event(team.by("BlueLake"), agent_name="BlueLake", least="any")

    first, again = await team.told(claim), await team.told(claim)
    refusals = [
        await team.post("told", claim="0" * 32),
        await team.post("told", claim=claim, session="another"),
        await team.post("told", claim=theirs["claim"]),
        await team.post("told", team.by("BlueLake"), agent_name="BlueLake", claim=claim),
    ]

    assert (first, again) == (1, 0)
    assert [(status, answer["error"]["type"]) for status, answer in refusals] == [(404, "NOT_FOUND")] * 4
    assert refusals[0][1]["error"]["hint"]


async def test_an_urgent_message_of_the_topic_stop_refuses_one_tool_call(team: Team) -> None:
    await team.send(importance="high", topic="stop")
    foreign = {"project_key": LIB, "to": [f"RedStone@{APP}"]}
    await team.send(by="GreyOwl", importance="urgent", topic="stop", **foreign)
    first = await team.send(importance="urgent", topic="Stop", body_md="\nDo not push.\n" + "x" * 900)
    await team.send(importance="urgent", topic="stop")

    answer = await team.event(event="tool", stop=True)
    confirmed = await team.told(answer["claim"])
    second = await team.event(event="tool", stop=True)
    third = await team.event(event="tool", stop=True)

    assert (answer["stop"].pop("text"), ids(answer), confirmed) == (("Do not push.\n" + "x" * 900)[:600], [], 1)
    assert answer["stop"] == {
        "id": first, "from": "BlueLake", "verified": True, "subject": "Plan"
    }  # fmt: skip
    assert second["stop"]["id"] == first + 1
    assert third["stop"] is None
    assert await team.status(first) == "shown"


async def test_human_stops_agents_of_every_project(team: Team) -> None:
    letter = {"project_key": LIB, "sender_name": "Human", "to": [f"RedStone@{APP}"], "subject": "Halt"}
    await team.app.call("send_message", BY_OPERATOR, **letter, body_md="Now", importance="urgent", topic="stop")

    answer = await team.event(event="tool", stop=True)

    assert answer["stop"]["from"] == f"Human@{await team.slug(LIB)}"
    assert answer["stop"]["verified"] is True


async def test_human_stops_an_agent_however_many_others_have(team: Team) -> None:
    _ = [await team.send(importance="urgent", topic="stop") for _ in range(5)]
    refused = [(await team.event(event="tool", stop=True))["stop"] is not None for _ in range(5)]
    letter = {"project_key": APP, "sender_name": "Human", "to": ["RedStone"], "subject": "Halt", "topic": "stop"}
    await team.app.call("send_message", BY_OPERATOR, **letter, body_md="Now", importance="urgent")

    answer = await team.event(event="tool", stop=True)

    assert (refused, answer["stop"]["from"]) == ([True] * 3 + [False] * 2, "Human")


async def test_a_session_of_an_own_token_is_stopped_by_proven_senders_alone(team: Team) -> None:
    letter = {"project_key": APP, "sender_name": "BlueLake", "to": ["RedStone"], "subject": "x", "body_md": "y"}
    await team.app.call("send_message", {}, **letter, importance="urgent", topic="stop")

    own = await team.event(event="tool", stop=True, least="urgent", can_refuse=True)
    operators = await team.event(BY_OPERATOR, event="tool", session="s-2", stop=True, can_refuse=True)

    assert (own["stop"], [(one["verified"], one["asks_stop"]) for one in own["messages"]]) == (None, [(False, True)])
    assert operators["stop"]["verified"] is False


async def test_it_is_left_for_the_next_call_where_calls_can_be_refused(team: Team) -> None:
    number = await team.send(importance="urgent", topic="stop")

    after = await team.event(event="tool", least="urgent", can_refuse=True)
    at_the_end = await team.event(event="idle", least="high", can_refuse=True)
    where_none_can = await team.event(event="tool", least="urgent", session="another")
    call = await team.event(event="tool", stop=True)

    assert (ids(after), after["unread"], ids(at_the_end)) == ([], 1, [])
    assert [(one["id"], one["asks_stop"]) for one in where_none_can["messages"]] == [(number, True)]
    assert call["stop"]["id"] == number


async def test_a_session_that_ends_is_told_nothing_and_listens_no_more(team: Team) -> None:
    number = await team.send(importance="urgent", topic="stop")
    told = await team.event(least="any")
    await team.told(told["claim"])
    heard = await team.is_listening()
    await team.send()

    ended = await team.event(event="end", least="any", stop=True)

    assert heard
    assert (ended["listening_until"], ids(ended), ended["stop"], ended["claim"]) == (None, [], None, None)
    assert not await team.is_listening()
    assert await team.status(number) == "shown"


async def test_the_operators_token_counts_as_the_agent_here_and_not_by_heartbeat(team: Team) -> None:
    number = await team.send()
    given = {"project_key": APP, "agent_name": "RedStone", "session": "s-1", "event": "turn"}
    beat = await team.app.client.post("/rest/v1/heartbeat", json=given, headers=BY_OPERATOR)
    before = await team.is_listening()

    answer = await team.event(BY_OPERATOR, least="any")
    told = await team.told(answer["claim"], BY_OPERATOR)

    assert (beat.json(), before) == ({"listening_until": None}, False)
    assert (ids(answer), told, await team.is_listening()) == ([number], 1, True)
    assert await team.status(number) == "handed_over"


async def test_nobody_has_hooks_for_human(team: Team) -> None:
    for path, more in (("event", {"event": "turn"}), ("told", {"claim": "0" * 32})):
        status, answer = await team.post(path, BY_OPERATOR, agent_name="Human", **more)

        assert (status, answer["error"]["type"]) == (403, "PERMISSION_DENIED")


async def test_in_open_mode_a_name_is_taken_at_its_word(team: Team) -> None:
    letter = {"project_key": APP, "sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan", "body_md": "body"}
    await team.app.call("send_message", None, **letter)

    answer = await team.event({}, least="any")

    assert [one["verified"] for one in answer["messages"]] == [False]
    assert await team.told(answer["claim"], {}) == 1


async def test_under_strict_it_takes_the_agents_token_or_the_operators(tmp_path: Path) -> None:
    async with a_team(tmp_path, AGENT_AUTH="strict") as team:
        await team.send()

        refused = [
            (await team.post(path, by, event="turn", least="any") if path == "event" else
             await team.post(path, by, claim="0" * 32))
            for path in ("event", "told") for by in ({}, team.by("BlueLake"))
        ]  # fmt: skip
        answer = await team.event(least="any")

        assert [(status, one["error"]["type"]) for status, one in refused] == [
            (401, "AUTHENTICATION_REQUIRED"), (403, "PERMISSION_DENIED"),
        ] * 2  # fmt: skip
        assert len(ids(answer)) == 1


async def test_what_a_hook_may_ask_is_bounded(team: Team) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"session": " "}, "session"), ({"session": "x" * 201}, "session"), ({"event": "sleep"}, "event"),
        ({"least": "low"}, "least"), ({"limit": -1}, "limit"), ({"stop": "perhaps"}, "stop"),
    ]  # fmt: skip

    for given, named in wrong:
        status, answer = await team.post("event", None, **{"event": "turn", **given})

        assert (status, answer["error"]["data"]["parameter"]) == (400, named), given
    for _ in range(5):
        await team.send()
    assert len(ids(await team.event(least="any", limit=100))) == 3


async def test_a_retired_agents_sessions_can_only_end(team: Team) -> None:
    await team.send()
    await team.app.call("deregister_agent", team.by("RedStone"), project_key=APP, agent_name="RedStone")

    status, refusal = await team.post("event", event="turn", least="any")
    ended = await team.event(event="end", least="any")

    assert (status, refusal["error"]["type"]) == (409, "CONFLICT")
    assert (ids(ended), ended["listening_until"]) == ([], None)


async def test_a_message_says_whether_its_sender_had_proven_to_be_it(team: Team) -> None:
    letter = {"project_key": APP, "sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan", "body_md": "body"}
    own = await team.send(by="RedStone", to=["BlueLake"])
    reply = {"project_key": APP, "message_id": own, "sender_name": "BlueLake", "body_md": "Yes"}
    request = {"project_key": LIB, "from_agent": "GreyOwl", "to_agent": "RedStone", "to_project": APP}
    by_proof = team.by("BlueLake")

    await team.app.call("send_message", by_proof, **letter)
    await team.app.call("send_message", None, **letter)
    await team.app.call("reply_message", by_proof, **reply)
    await team.app.call("reply_message", None, **reply)
    await team.app.call("request_contact", team.by("GreyOwl"), **request)
    found = [one for _ in range(2) for one in (await team.event(least="any"))["messages"]]

    assert [one["verified"] for one in found] == [True, False, True, False, True]
