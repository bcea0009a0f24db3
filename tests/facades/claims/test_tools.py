"""Each of the thirteen tools, called by the official client with the earlier system's own parameters."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from datetime import datetime
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.facades.claims.claims_client import PROFILE, Caller, ClaimsServer, open_claims


async def team(claims: Caller, project: Path) -> str:
    """BlueLake and RedStone in the project, whose key is given back."""
    for name in ("BlueLake", "RedStone"):
        await claims.create(project, name)
    return str(project)


async def send(claims: Caller, key: str, subject: str, body: str = "b", **more: object) -> int:
    sent = await claims.call(
        "send_message", project_key=key, from_agent="BlueLake", to=["RedStone"], subject=subject, body_md=body, **more
    )
    number: int = sent["deliveries"][0]["payload"]["id"]
    return number


async def test_creating_an_agent_makes_its_project(claims: Caller, project: Path) -> None:
    made = await claims.call(
        "create_agent", project_key=str(project), program="codex", model="m", task_description="Lexer"
    )

    known = await claims.call("whois", project_key=str(project), agent_name=made["name"])
    assert (made["project_key"], made["registration_token"][:4]) == (str(project), "amt_")
    assert (known["program"], known["task_description"]) == ("codex", "Lexer")
    assert known["recent_commits"] == []


@pytest.mark.parametrize(("hint", "name"), [("Green-Castle!", "GreenCastle"), ("Blue Lake", "BlueLake")])
async def test_of_a_hint_its_letters_and_digits_are_the_name(
    claims: Caller, project: Path, hint: str, name: str
) -> None:
    assert (await claims.create(project, hint))["name"] == name


@pytest.mark.parametrize("hint", ["BlueLake", "blue-lake", "Human", "claude", "!?"])
async def test_a_hint_that_is_taken_or_no_name_gives_a_generated_one(claims: Caller, project: Path, hint: str) -> None:
    first = await claims.create(project, "BlueLake")
    other = await claims.create(project, hint)

    assert other["id"] != first["id"]
    assert other["name"].lower() not in ("bluelake", "human", "claude", "")


async def test_a_relative_path_and_a_directory_that_is_not_there_are_told(claims: Caller, tmp_path: Path) -> None:
    refused = await claims.refused("create_agent", project_key="app", **PROFILE)
    doubted = await claims.create(tmp_path / "gone", "BlueLake")

    assert refused["data"]["parameter"] == "project_key"
    assert "There is no directory" in doubted["hint"]


async def test_of_a_strict_name_that_is_taken_the_hint_does_not_lead_to_becoming_that_agent(tmp_path: Path) -> None:
    async with (
        open_claims(tmp_path, AGENT_NAME_ENFORCEMENT_MODE="strict") as server,
        server.connected() as claims,
    ):
        await claims.create(tmp_path, "BlueLake")
        taken = await claims.refused("create_agent", project_key=str(tmp_path), name_hint="BlueLake", **PROFILE)

    assert taken["hint"] == "Leave name_hint out to be given a free name."


async def test_the_agents_are_listed_last_active_first(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    await send(claims, key, "Plan")

    listed = await claims.call("list_agents", project_key=key, active_within_s=3_600)

    assert [agent["name"] for agent in listed["agents"]] == ["BlueLake", "RedStone"]
    assert listed["total"] == 2


async def test_mail_is_sent_checked_acknowledged_and_answered_in_its_thread(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    number = await send(claims, key, "Plan", "Body", importance="high", ack_required=True, thread_id="T-1")

    (mail,) = (await claims.call("check_my_messages", project_key=key, agent_name="RedStone"))["result"]
    (whole,) = (await claims.call("check_my_messages", project_key=key, agent_name="RedStone", include_bodies=True))[
        "result"
    ]
    acknowledged = await claims.call("acknowledge_message", project_key=key, agent_name="RedStone", message_id=number)
    answer = await claims.call(
        "reply_message", project_key=key, from_agent="RedStone", reply_to_message_id=number, body_md="Yes."
    )

    assert (mail["id"], mail["from"], mail["thread_id"], mail["subject"]) == (number, "BlueLake", "T-1", "Plan")
    assert "body_md" not in mail
    assert whole["body_md"] == "Body"
    assert acknowledged["acknowledged"] is True
    assert (answer["thread_id"], answer["subject"], answer["reply_to"]) == ("T-1", "Re: Plan", number)


async def test_since_ts_is_in_seconds_and_urgent_mail_can_be_asked_for_alone(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    mine = {"project_key": key, "agent_name": "RedStone"}
    await send(claims, key, "Old")
    (old,) = (await claims.call("check_my_messages", **mine))["result"]
    after = datetime.fromisoformat(old["created_ts"]).timestamp()
    await send(claims, key, "New")
    await send(claims, key, "Now", importance="urgent")

    every = (await claims.call("check_my_messages", **mine))["result"]
    since = (await claims.call("check_my_messages", **mine, since_ts=after))["result"]
    written = (await claims.call("check_my_messages", **mine, since_ts=old["created_ts"]))["result"]
    later = (await claims.call("check_my_messages", **mine, since_ts=int(after) + 3_600))["result"]
    urgent = (await claims.call("check_my_messages", **mine, urgent_only=True))["result"]
    one = (await claims.call("check_my_messages", **mine, limit=1))["result"]

    assert [mail["subject"] for mail in every] == ["Now", "New", "Old"]
    assert [mail["subject"] for mail in since] == [mail["subject"] for mail in written] == ["Now", "New"]
    assert later == []
    assert [mail["subject"] for mail in urgent] == [mail["subject"] for mail in one] == ["Now"]


@pytest.mark.parametrize("since", [True, [], {}])
async def test_what_is_no_time_is_refused_as_a_number_that_is_missing(
    claims: Caller, project: Path, since: object
) -> None:
    key = await team(claims, project)

    refused = await claims.refused("check_my_messages", project_key=key, agent_name="RedStone", since_ts=since)

    assert refused["message"] == "since_ts must be a number."


async def test_whoever_is_not_registered_sends_and_answers_nothing(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    number = await send(claims, key, "Plan")

    letter = {"project_key": key, "from_agent": "GrayFox", "body_md": "b"}
    sent = await claims.refused("send_message", **letter, to=["RedStone"], subject="s")
    answered = await claims.refused("reply_message", **letter, reply_to_message_id=number)

    for error in (sent, answered):
        assert error["type"] == "NOT_FOUND"
        assert error["message"] == "from_agent not registered: GrayFox"
        assert error["hint"].startswith("Create the agent first with create_agent")


async def test_a_misspelt_sender_is_told_the_name_that_is_like_it(claims: Caller, project: Path) -> None:
    key = await team(claims, project)

    letter = {"project_key": key, "from_agent": "BlueLak", "body_md": "b"}
    error = await claims.refused("send_message", **letter, to=["RedStone"], subject="s")

    assert error["hint"].startswith("Did you mean BlueLake? Create the agent first with create_agent")


async def test_an_unknown_recipient_is_not_called_the_sender(claims: Caller, project: Path) -> None:
    key = await team(claims, project)

    error = await claims.refused(
        "send_message", project_key=key, from_agent="BlueLake", to=["GrayFox"], subject="s", body_md="b"
    )

    assert error["type"] == "RECIPIENT_NOT_FOUND"
    assert "from_agent" not in error["message"]


async def test_a_project_that_nobody_made_leads_to_create_agent(claims: Caller) -> None:
    error = await claims.refused("list_agents", project_key="/nowhere")

    assert error["type"] == "NOT_FOUND"
    assert error["hint"] == "create_agent(project_key='/nowhere') creates it."


def picture() -> str:
    noise = BytesIO()
    Image.effect_noise((64, 64), 90).save(noise, "PNG")
    return f"![p](data:image/png;base64,{base64.b64encode(noise.getvalue()).decode()})"


@pytest.mark.parametrize(
    ("more", "is_inline"),
    [
        ({}, True),
        ({"image_embed_policy": "auto"}, True),
        ({"image_embed_policy": "inline"}, True),
        ({"image_embed_policy": "file"}, False),
        ({"inline_max_bytes": 10}, False),
        ({"inline_max_bytes": 1_000_000}, True),
    ],
)
async def test_small_images_lie_inline_as_the_message_says(
    claims: Caller, project: Path, more: dict[str, object], is_inline: bool
) -> None:
    key = await team(claims, project)
    number = await send(claims, key, "Picture", picture(), convert_images=True, **more)
    await claims.call(
        "reply_message",
        project_key=key,
        from_agent="RedStone",
        reply_to_message_id=number,
        body_md=picture(),
        convert_images=True,
        **more,
    )

    for agent in ("RedStone", "BlueLake"):
        (mail,) = (await claims.call("check_my_messages", project_key=key, agent_name=agent))["result"]
        (carried,) = mail["attachments"]
        assert (carried["media_type"], "path" not in carried) == ("image/webp", is_inline), agent


async def test_what_another_holds_exclusively_is_not_granted_and_the_rest_is(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    mine = {"project_key": key, "ttl_seconds": 600, "exclusive": True, "reason": "parser"}
    first = await claims.call("claim_paths", **mine, agent_name="BlueLake", paths=["src/*.py"])

    second = await claims.call("claim_paths", **mine, agent_name="RedStone", paths=["src/a.py", "docs/a.md"])
    again = await claims.call("claim_paths", **mine, agent_name="RedStone", paths=["src/a.py"])

    assert [one["path"] for one in first["granted"]] == ["src/*.py"]
    assert first["conflicts"] == []
    assert [one["path"] for one in second["granted"]] == ["docs/a.md"]
    (conflict,) = second["conflicts"]
    assert (conflict["path"], [one["agent"] for one in conflict["holders"]]) == ("src/a.py", ["BlueLake"])
    assert second["hint"] == "Not granted: write to BlueLake, or claim again once it is given back."
    assert again["granted"] == []


async def test_shared_claims_stand_beside_each_other(claims: Caller, project: Path) -> None:
    key = await team(claims, project)

    granted = [
        (await claims.call("claim_paths", project_key=key, agent_name=name, paths=["a.py"], exclusive=False))["granted"]
        for name in ("BlueLake", "RedStone")
    ]

    assert [len(each) for each in granted] == [1, 1]


async def test_a_released_claim_is_free_and_no_paths_at_all_are_refused(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    await claims.call("claim_paths", project_key=key, agent_name="BlueLake", paths=["a.py", "b.py"])

    none = await claims.refused("release_claims", project_key=key, agent_name="BlueLake", paths=[])
    released = await claims.call("release_claims", project_key=key, agent_name="BlueLake", paths=["a.py", "c.py"])
    free = await claims.call("claim_paths", project_key=key, agent_name="RedStone", paths=["a.py", "b.py"])

    assert none["type"] == "INVALID_INPUT"
    assert (released["released"], [one["path"] for one in released["not_released"]]) == (1, ["c.py"])
    assert [one["path"] for one in free["granted"]] == ["a.py"]


async def test_a_search_gives_the_newest_first_whatever_fits_best(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    await send(claims, key, "Parser parser parser", "parser parser")
    await send(claims, key, "Weather", "and a parser, among many other words that stand in this text")

    found = await claims.call("search_messages", project_key=key, query="parser")
    one = await claims.call("search_messages", project_key=key, query="parser", limit=1)

    assert [hit["subject"] for hit in found["result"]] == ["Weather", "Parser parser parser"]
    assert [hit["subject"] for hit in one["result"]] == ["Weather"]


async def test_a_thread_is_summarized(claims: Caller, project: Path) -> None:
    key = await team(claims, project)
    await send(claims, key, "Plan", "- [ ] @RedStone writes the lexer", thread_id="T-1")

    summed = await claims.call("summarize_thread", project_key=key, thread_id="T-1", include_examples=True)

    assert summed["summary"]["participants"] == ["BlueLake"]
    assert summed["summary"]["open_actions"] == 1
    assert [example["subject"] for example in summed["examples"]] == ["Plan"]


async def test_the_guard_is_installed_and_taken_out(claims: Caller, project: Path) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(project)], check=True)
    await team(claims, project)

    installed = await claims.call("install_precommit_guard", project_key=str(project), code_repo_path=str(project))
    removed = await claims.call("uninstall_precommit_guard", code_repo_path=str(project))

    assert installed["status"] == "installed"
    assert removed["removed"]


async def test_a_connection_that_says_who_calls_may_leave_it_out(server: ClaimsServer, project: Path) -> None:
    said = {"X-Agent-Project": str(project), "X-Agent-Name": "BlueLake"}
    async with server.connected(headers=said) as claims:
        await team(claims, project)
        await claims.call("send_message", to=["RedStone"], subject="Plan", body_md="b")
        claimed = await claims.call("claim_paths", paths=["a.py"])

    assert [one["path"] for one in claimed["granted"]] == ["a.py"]
