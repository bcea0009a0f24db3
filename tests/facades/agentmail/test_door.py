"""`POST /agentmail/…` over the whole application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.whole_app import OPERATOR, WholeApp, open_whole_app

CODE = str(Path(__file__).resolve().parent)
"""A project of this door is a directory that is there."""
A1 = {"project": CODE, "name": "a1"}
A2 = {"project": CODE, "name": "a2"}


async def asked(app: WholeApp, what: str, **value: Any) -> Any:
    answer = await app.client.post(f"/agentmail/{what}", json=value)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def sent(app: WholeApp, body: str = "hi") -> str:
    answer = await asked(app, "send", **A1, to="a2", body=body, window=True)
    number: str = answer["id"]
    return number


async def test_a_message_is_given_until_it_is_settled(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path, AGENTMAIL_ENABLED="true") as app:
        number = await sent(app)

        given = (await asked(app, "pop", **A2))["message"]
        meanwhile = (await asked(app, "pop", **A2))["message"]
        back = await asked(app, "settle", ticket=given["ticket"], heard=False)
        again = (await asked(app, "pop", **A2))["message"]
        settled = await asked(app, "settle", ticket=again["ticket"], heard=True)
        late = await asked(app, "settle", ticket=again["ticket"], heard=True)

        assert {key: given[key] for key in ("from", "id", "body")} == {"from": "a1", "id": number, "body": "hi"}
        assert meanwhile is None
        assert again["id"] == number
        assert (back, settled, late) == ({"done": True}, {"done": True}, {"done": False})
        assert (await asked(app, "pop", **A2))["message"] is None


async def test_the_native_tools_see_one_and_the_same_mail(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path, AGENTMAIL_ENABLED="true") as app:
        number = await sent(app, "first line\nsecond")
        await asked(app, "status", **A2, status="work")

        inbox = await app.call("fetch_inbox", project_key=CODE, agent_name="a2", include_bodies=True)
        await app.call("send_message", project_key=CODE, sender_name="a1", to=["a2"], subject="S", body_md="B")
        first, second = [(await asked(app, "pop", **A2))["message"] for _ in range(2)]

        (mail,) = inbox["messages"] if isinstance(inbox, dict) else inbox
        assert (mail["subject"], mail["body_md"]) == ("first line", "first line\nsecond")
        assert (first["id"], first["body"]) == (number, "first line\nsecond")
        assert (second["from"], second["body"]) == ("a1", "S\n\nB")


@pytest.mark.parametrize(
    ("what", "value", "named"),
    [
        ("send", {**A1, "to": "a2", "window": True}, "body must be a text."),
        ("send", {**A1, "to": "a2", "body": "x", "window": 1}, "window must be true or false."),
        ("pop", {"name": "a1", "project": "app"}, "project must be an absolute path."),
        ("pop", {"project": "/code/app"}, "name must be a text."),
        ("status", {**A1, "status": "bogus"}, "Invalid status: bogus. Valid: ready, work, offline"),
    ],
)
async def test_what_is_missing_or_of_another_kind_is_named(
    what: str, value: dict[str, Any], named: str, tmp_path: Path
) -> None:
    async with open_whole_app(tmp_path, AGENTMAIL_ENABLED="true") as app:
        answer = await app.client.post(f"/agentmail/{what}", json=value)

        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "INVALID_INPUT")
        assert answer.json()["error"]["message"] == named


async def test_what_is_no_object_no_json_or_no_question_is_refused(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path, AGENTMAIL_ENABLED="true") as app:
        post, json_type = app.client.post, {"content-type": "application/json"}
        verdicts = [
            (await post("/agentmail/pop", content=b"[]", headers=json_type)).status_code,
            (await post("/agentmail/pop", content=b"{", headers=json_type)).status_code,
            (await post("/agentmail/pop", content=b"{}", headers={"content-type": "text/plain"})).status_code,
            (await post("/agentmail/nothing", json={})).status_code,
            (await app.client.get("/agentmail/pop")).status_code,
        ]

        assert verdicts == [400, 400, 415, 404, 405]


TOKEN = "a-token-of-the-whole-server"


@pytest.mark.parametrize("auth", ["open", "strict"])
async def test_who_is_let_in(auth: str, tmp_path: Path) -> None:
    settings = {"AGENTMAIL_ENABLED": "true", "HTTP_BEARER_TOKEN": TOKEN, "AGENT_AUTH": auth}
    async with open_whole_app(tmp_path, **settings) as app:
        bearer = {"authorization": f"Bearer {TOKEN}"}
        asks = {
            "none": {},
            "server": bearer,
            "operator": {"authorization": f"Bearer {OPERATOR}"},
            "wrong": {"authorization": "Bearer wrong"},
            "host": {**bearer, "host": "evil.example"},
            "origin": {**bearer, "origin": "http://evil.example"},
        }
        value = {**A1, "to": "a2", "body": "x", "window": True}
        verdicts = {
            name: (await app.client.post("/agentmail/send", json=value, headers=headers)).status_code
            for name, headers in asks.items()
        }

        assert verdicts == {"none": 401, "server": 200, "operator": 401, "wrong": 401, "host": 403, "origin": 403}


async def test_under_strict_a_native_agent_is_not_spoken_as(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path, AGENTMAIL_ENABLED="true", AGENT_AUTH="strict") as app:
        operator = {"authorization": f"Bearer {OPERATOR}"}
        await app.call("ensure_project", headers=operator, human_key="/code/app")
        await app.call(
            "register_agent", headers=operator, project_key="/code/app", name="BlueLake", program="t", model="m"
        )

        answer = await app.client.post("/agentmail/pop", json={"project": "/code/app", "name": "BlueLake"})

        assert answer.status_code == 403
        assert "am facade link BlueLake agentmail" in answer.json()["error"]["hint"]


async def test_without_the_setting_there_is_no_door(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        answer: httpx.Response = await app.client.post("/agentmail/pop", json=A1)

        assert answer.status_code == 404
