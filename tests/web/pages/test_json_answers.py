from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.web.pages import json_answers
from tests.web.swarm import HOSTILE, SHOP, open_swarm


async def test_mail_of_all_projects_is_filtered_as_the_inbox_does(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        for subject, sender in (("One", "BlueLake"), (HOSTILE, "GreenHill")):
            await swarm.app.call(
                "send_message", project_key=SHOP, sender_name=sender, to=["Human"], subject=subject, body_md="x"
            )

        every = await swarm.app.client.get("/mail/api/unified-inbox")
        blues = (await swarm.app.client.get("/mail/api/unified-inbox?q=from:BlueLake")).json()

        assert every.headers["content-type"] == "application/json"
        assert "<script" not in every.headers["content-security-policy"]
        assert [one["subject"] for one in every.json()["mail"]] == [HOSTILE, "One"]
        assert [(one["sender"], one["project"], one["created_ts"][-6:]) for one in blues["mail"]] == [
            ("BlueLake", swarm.shop, "+00:00")
        ]


async def test_mail_leads_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_answers, "PAGE_SIZE", 1)
    async with open_swarm(tmp_path) as swarm:
        for subject in ("One", "Two"):
            await swarm.app.call(
                "send_message", project_key=SHOP, sender_name="BlueLake", to=["Human"], subject=subject, body_md="x"
            )

        first = (await swarm.app.client.get("/mail/api/unified-inbox")).json()
        second = (await swarm.app.client.get(first["next"])).json()

        assert [one["subject"] for page in (first, second) for one in page["mail"]] == ["Two", "One"]


async def test_locks_are_the_live_reservations_of_all_projects_or_of_one_with_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_answers, "PAGE_SIZE", 1)
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "a.py")
        await swarm.hold("GreenHill", "b.py")

        every = (await swarm.app.client.get("/mail/api/locks")).json()
        one = (await swarm.app.client.get(f"/mail/api/locks?project={swarm.shop}")).json()
        rest = (await swarm.app.client.get(one["next"])).json()

        assert [(lock["project"], lock["id"], lock["state"]) for lock in every["locks"]] == [
            (swarm.shop, number, "live")
        ]
        assert every["has_more"] is True
        assert [lock["path_pattern"] for page in (one, rest) for lock in page["locks"]] == ["a.py", "b.py"]
        assert [seen["label"] for seen in one["locks"][0]["evidence"]][:2] == ["last call", "last mail"]
        assert (rest["has_more"], rest["next"]) == (False, None)


async def test_agents_are_those_of_the_page(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.hold("BlueLake", "a.py")

        found = (await swarm.app.client.get(f"/mail/api/projects/{swarm.shop}/agents")).json()

        assert (found["project"], found["total"]) == (swarm.shop, 2)
        assert {one["name"]: (one["leases"], one["task"]) for one in found["agents"]} == {
            "BlueLake": (1, "Coupons"),
            "GreenHill": (0, HOSTILE),
        }


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/mail/api/projects/nothing/agents", 404),
        ("/mail/api/unified-inbox?q=words", 400),
        ("/mail/api/unified-inbox?q=is:unread", 400),
        ("/mail/api/locks?project=nothing", 404),
        ("/mail/api/nothing-of-this/name/at-all/here", 404),
    ],
)
async def test_a_refusal_is_json_with_the_next_step(tmp_path: Path, path: str, status: int) -> None:
    async with open_swarm(tmp_path) as swarm:
        answer = await swarm.app.client.get(path)

        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"message", "hint"}
