"""`data.parameter` of a refusal is an argument of the tool that was called: the one whose value was refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.whole_app import OPERATOR, WholeApp, open_whole_app

APP, LIB = "/code/app", "/code/lib"
PROFILE: dict[str, Any] = {"program": "tests", "model": "none"}
LETTER: dict[str, Any] = {"to": ["RedStone"], "subject": "Plan", "body_md": "b"}
NOWHERE = "nowhere-at-all"
NOBODY = "not a name!"

WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("send_message", "sender_name", {"project_key": APP, "sender_name": NOBODY, **LETTER}),
    ("send_message", "project_key", {"project_key": NOWHERE, "sender_name": "BlueLake", **LETTER}),
    ("reply_message", "sender_name", {"project_key": APP, "message_id": 1, "sender_name": NOBODY, "body_md": "b"}),
    ("withdraw_message", "sender_name", {"project_key": APP, "message_id": 1, "sender_name": NOBODY}),
    ("fetch_inbox", "agent_name", {"project_key": APP, "agent_name": NOBODY}),
    ("fetch_topic", "topic_name", {"project_key": APP, "topic_name": "not a topic!"}),
    ("search_messages", "from_agent", {"project_key": APP, "query": NOBODY, "from_agent": NOBODY}),
    (
        "search_messages",
        "from_agent",
        {"project_key": APP, "query": "plan", "agent_name": "BlueLake", "from_agent": NOBODY},
    ),
    (
        "search_messages",
        "from_agent",
        {"project_key": APP, "query": "plan", "agent_name": "RedStone", "from_agent": f"RedStone@{LIB}"},
    ),
    (
        "search_messages",
        "from_agent",
        {"project_key": APP, "query": "plan", "from_agent": f"project:{NOWHERE}#RedStone"},
    ),
    ("search_messages", "from_agent", {"project_key": APP, "query": "plan", "from_agent": "@RedStone"}),
    ("request_contact", "from_agent", {"project_key": APP, "from_agent": NOBODY, "to_agent": "RedStone"}),
    (
        "request_contact",
        "to_agent",
        {"project_key": APP, "from_agent": "BlueLake", "to_agent": f"project:{NOWHERE}#GoldFox"},
    ),
    ("request_contact", "from_agent", {"project_key": LIB, "from_agent": "BlueLake", "to_agent": f"BlueLake@{APP}"}),
    (
        "request_contact",
        "to_project",
        {"project_key": APP, "from_agent": "BlueLake", "to_agent": "GoldFox", "to_project": NOWHERE},
    ),
    ("request_contact", "to_agent", {"project_key": APP, "from_agent": "BlueLake", "to_agent": f"GoldFox@{NOWHERE}"}),
    (
        "respond_contact",
        "to_agent",
        {"project_key": APP, "to_agent": NOBODY, "from_agent": "RedStone", "accept": True},
    ),
    (
        "respond_contact",
        "from_project",
        {
            "project_key": APP,
            "to_agent": "BlueLake",
            "from_agent": "RedStone",
            "accept": True,
            "from_project": NOWHERE,
        },
    ),
    ("macro_start_session", "agent_name", {"human_key": APP, "agent_name": NOBODY, **PROFILE}),
    ("macro_start_session", "human_key", {"human_key": "code/app", **PROFILE}),
    (
        "macro_prepare_thread",
        "agent_name",
        {"project_key": APP, "thread_id": "TKT-1", "agent_name": NOBODY, **PROFILE},
    ),
    ("macro_contact_handshake", "requester", {"project_key": APP, "requester": NOBODY, "target": "RedStone"}),
    ("macro_contact_handshake", "agent_name", {"project_key": APP, "agent_name": NOBODY, "target": "RedStone"}),
    (
        "macro_contact_handshake",
        "agent_name",
        {"project_key": LIB, "agent_name": "RedStone", "target": f"RedStone@{APP}"},
    ),
    ("macro_contact_handshake", "target", {"project_key": APP, "requester": "BlueLake", "target": NOBODY}),
    ("macro_contact_handshake", "to_agent", {"project_key": APP, "requester": "BlueLake", "to_agent": NOBODY}),
    ("macro_contact_handshake", "target", {"project_key": APP, "requester": "BlueLake", "target": "BlueLake"}),
    (
        "macro_contact_handshake",
        "to_project",
        {"project_key": APP, "requester": "BlueLake", "target": "GoldFox", "to_project": NOWHERE},
    ),
    (
        "macro_contact_handshake",
        "welcome_subject",
        {"project_key": APP, "requester": "BlueLake", "target": "RedStone", "welcome_subject": "a\x07"},
    ),
    (
        "macro_contact_handshake",
        "welcome_body",
        {"project_key": APP, "requester": "BlueLake", "target": "RedStone", "welcome_body": "b" * 2_000},
    ),
    ("reissue_token", "agent_name", {"project_key": APP, "agent_name": NOBODY}),
]


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WholeApp]:
    directory: Path = tmp_path_factory.mktemp("told")
    async with open_whole_app(directory, MESSAGE_BODY_MAX_BYTES="1024") as opened:
        for project, name in ((APP, "BlueLake"), (APP, "RedStone"), (LIB, "GoldFox")):
            await opened.call("macro_start_session", human_key=project, agent_name=name, **PROFILE)
        await opened.call("send_message", project_key=APP, sender_name="RedStone", **{**LETTER, "to": ["BlueLake"]})
        yield opened


@pytest.mark.parametrize(("tool", "meant", "arguments"), WRONG)
async def test_the_argument_that_is_refused_is_told_by_the_tools_own_name_for_it(
    app: WholeApp, tool: str, meant: str, arguments: dict[str, Any]
) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}"} if tool == "reissue_token" else {}

    answer = await app.client.post(f"/rpc/{tool}", json=arguments, headers=headers)

    assert answer.status_code >= 400, answer.text[:800]
    assert answer.json()["error"]["data"]["parameter"] == meant, answer.text[:800]


async def test_a_wrong_token_is_told_by_the_argument_that_held_it(app: WholeApp) -> None:
    given_in = []
    for argument in ("sender_token", "registration_token"):
        letter = {"project_key": APP, "sender_name": "BlueLake", **LETTER, argument: "amt_nobodys"}
        answer = await app.client.post("/rpc/send_message", json=letter)
        given_in.append(answer.json()["error"]["data"]["given_in"])

    assert given_in == [["sender_token"], ["registration_token"]]
