from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.messaging.office import APP, BODY_MAX_BYTES, LIB, OPERATOR, Office
from tests.mailroom import add_agent, token_of


async def refused(office: Office, **arguments: Any) -> AgentMailError:
    """The refusal of a send, which must leave no trace."""
    before = traces(office)
    with pytest.raises(AgentMailError) as error:
        await office.send(**arguments)
    assert traces(office) == before
    return error.value


def traces(office: Office) -> list[Any]:
    tables = ("messages", "recipients", "message_projects", "outbox", "idempotency_keys", "counters")
    return [
        *(office.rows(f"SELECT * FROM {table}") for table in tables),
        office.rows("SELECT unread_count FROM agents"),
    ]


async def test_a_send_answers_with_what_the_contract_names_and_no_body(office: Office) -> None:
    answer = await office.send(to=["redstone"], cc=["GreenField"], topic="Build", thread_id="TKT-1")

    now = iso(office.room.clock.now)
    assert answer == {
        "deliveries": [
            {
                "project": APP,
                "payload": {
                    "id": 1,
                    "thread_id": "TKT-1",
                    "topic": "Build",
                    "subject": "Plan",
                    "from": "BlueLake",
                    "importance": "normal",
                    "ack_required": False,
                    "created_ts": now,
                    "attachments": [],
                    "to": ["RedStone"],
                    "cc": ["GreenField"],
                    "bcc": [],
                    "recipients": [
                        {"name": "RedStone", "kind": "to", "status": "delivered", "last_active_ts": now},
                        {"name": "GreenField", "kind": "cc", "status": "delivered", "last_active_ts": now},
                    ],
                },
            }
        ],
        "count": 1,
        "verified_sender": False,
        "held": [],
        "skipped": [],
    }


async def test_the_body_arrives_byte_for_byte(office: Office) -> None:
    body = "caf\u00e9\r\n\t \0 \U0001f600 </script> {{x}} 'x' \u2028 end \n\n"

    message_id = await office.sent_id(body_md=body)

    assert (await office.read(f"message/{message_id}"))["body_md"] == body
    assert (await office.inbox("RedStone", include_bodies=True))[0]["body_md"] == body


async def test_a_body_may_be_empty_and_may_fill_the_limit(office: Office) -> None:
    assert (await office.read(f"message/{await office.sent_id(body_md='')}"))["body_md"] == ""
    assert await office.sent_id(body_md="x" * BODY_MAX_BYTES) == 2

    assert (await refused(office, body_md="x" * (BODY_MAX_BYTES + 1))).code == "INVALID_INPUT"


async def test_a_recipient_named_twice_counts_once_to_before_cc_before_bcc(office: Office) -> None:
    answer = await office.send(
        to=["RedStone", " REDSTONE "], cc=["redstone", "GreenField"], bcc=["GreenField", "RedStone"]
    )

    payload = answer["deliveries"][0]["payload"]
    assert (payload["to"], payload["cc"], payload["bcc"]) == (["RedStone"], ["GreenField"], [])
    assert len(payload["recipients"]) == 2


async def test_one_may_write_to_oneself_and_to_the_overseer(office: Office) -> None:
    answer = await office.send(to=["BlueLake", "HumanOverseer"])

    assert answer["deliveries"][0]["payload"]["to"] == ["BlueLake", "Human"]


async def test_an_unknown_recipient_is_an_error_with_the_nearest_names(office: Office) -> None:
    error = await refused(office, to=["RedStone", "RedStome"])

    assert error.code == "RECIPIENT_NOT_FOUND"
    assert error.data["nearest"] == ["RedStone"]
    assert error.data["unknown"] == ["RedStome"]
    assert "RedStone" in error.hint


@pytest.mark.parametrize(
    "to", ["System", "system", "Blue Lake", "BlueLak", "QuietFox", "BlueLake@nowhere", "BlueLake@/no/where"]
)
async def test_nothing_is_delivered_to_a_name_that_does_not_match(office: Office, to: str) -> None:
    assert (await refused(office, to=[to])).code == "RECIPIENT_NOT_FOUND"


@pytest.mark.parametrize("to", [["@app"], ["BlueLake@"], ["project:app"], [" "], [7], [{"name": "x"}], {"a": 1}])
async def test_what_is_no_address_is_invalid_input(office: Office, to: Any) -> None:
    error = await refused(office, to=to)

    assert error.code in {"INVALID_INPUT", "RECIPIENT_NOT_FOUND"}


async def test_a_message_needs_a_recipient(office: Office) -> None:
    assert (await refused(office, to=[])).code == "INVALID_INPUT"
    assert (await refused(office, to=None)).code == "INVALID_INPUT"
    assert (await office.send(to=None, cc="RedStone"))["count"] == 1


async def test_at_most_five_hundred_recipients_are_named(office: Office) -> None:
    await office.room.store.write(lambda tx: [add_agent(tx, office.room.app, f"Agent{n}") for n in range(501)])
    names = [f"Agent{n}" for n in range(501)]

    assert (await refused(office, to=names[:250], cc=names[250:])).code == "INVALID_INPUT"
    assert len((await office.send(to=names[:250], cc=names[250:500]))["deliveries"][0]["payload"]["recipients"]) == 500


async def test_a_retired_recipient_refuses_the_whole_message(office: Office) -> None:
    room = office.room
    await room.store.write(lambda tx: tx.agents.set_retired(room.green.id, tx.now, tx.now))

    error = await refused(office, to=["RedStone"], cc=["GreenField"])

    assert error.code == "RECIPIENT_RETIRED"
    assert error.data["refused"][0]["agent"] == "GreenField"


async def test_a_retired_agent_sends_nothing(office: Office) -> None:
    room = office.room
    await room.store.write(lambda tx: tx.agents.set_retired(room.blue.id, tx.now, tx.now))

    assert (await refused(office)).code == "CONFLICT"


async def test_an_archived_project_refuses_mail_from_it_and_to_it(office: Office) -> None:
    room = office.room
    await room.store.write(lambda tx: tx.projects.set_archived(room.lib.id, tx.now))

    assert (await refused(office, to=[f"QuietFox@{LIB}"])).code == "CONFLICT"
    assert (await refused(office, project_key=LIB, sender_name="QuietFox", to=["BlueLake"])).code == "CONFLICT"


@pytest.mark.parametrize(
    "address", [f"QuietFox@{LIB}", "quietfox@code-lib", "project:code-lib#QuietFox", f" project:{LIB}#QUIETFOX "]
)
async def test_an_agent_of_another_project_is_addressed_by_path_or_slug(office: Office, address: str) -> None:
    answer = await office.send(to=[address])

    assert [delivery["project"] for delivery in answer["deliveries"]] == [LIB]
    payload = answer["deliveries"][0]["payload"]
    assert (payload["from"], payload["to"]) == ("BlueLake@code-app", ["QuietFox"])


async def test_a_send_across_projects_is_one_message_with_one_id(office: Office) -> None:
    answer = await office.send(to=["RedStone", f"QuietFox@{LIB}"], cc=[f"BlueLake@{LIB}"])

    assert answer["count"] == 2
    assert {d["project"]: d["payload"]["id"] for d in answer["deliveries"]} == {APP: 1, LIB: 1}
    assert office.rows("SELECT count(*) FROM messages") == [(1,)]
    item = (await office.inbox("QuietFox", project_key=LIB))[0]
    assert (item["id"], item["from"], item["kind"]) == (1, "BlueLake@code-app", "to")
    assert (await office.inbox("RedStone"))[0]["from"] == "BlueLake"
    assert office.rows("SELECT project_id, kind, message_id FROM outbox ORDER BY seq") == [
        (office.room.app.id, "mail", 1),
        (office.room.lib.id, "mail", 1),
    ]


async def test_the_answer_can_be_written_back_to_the_address_shown(office: Office) -> None:
    await office.send(to=[f"QuietFox@{LIB}"])
    shown = (await office.inbox("QuietFox", project_key=LIB))[0]["from"]

    await office.send(project_key=LIB, sender_name="QuietFox", to=[shown])

    assert (await office.inbox("BlueLake"))[0]["from"] == "QuietFox@code-lib"


@pytest.mark.parametrize(
    "bad",
    [
        {"subject": ""},
        {"subject": " \n"},
        {"subject": "x" * 513},
        {"subject": "a\x1bb"},
        {"importance": "critical"},
        {"thread_id": "a b"},
        {"topic": "a/b"},
        {"idempotency_key": "k" * 201},
        {"body_md": None},
        {"body_md": {"a": 1}},
        {"reply_to": "seven"},
        {"reply_to": -1},
        {"ack_required": "perhaps"},
        {"sender_name": ""},
        {"attachment_paths": ["x.png"]},
    ],
)
async def test_bad_input_is_invalid_and_leaves_no_trace(office: Office, bad: dict[str, Any]) -> None:
    assert (await refused(office, **bad)).code == "INVALID_INPUT"


async def test_loose_input_is_understood(office: Office) -> None:
    answer = await office.send(
        to='["RedStone", "GreenField"]',
        importance=" HIGH ",
        ack_required="true",
        thread_id="  ",
        topic="",
        subject="a\nb",
    )

    payload = answer["deliveries"][0]["payload"]
    assert (payload["importance"], payload["ack_required"], payload["thread_id"]) == ("high", True, None)
    assert (payload["subject"], payload["to"]) == ("a b", ["RedStone", "GreenField"])


@pytest.mark.parametrize("name", ["Nobody", "System", "Human"])
async def test_nobody_sends_as_somebody_who_is_not_theirs_to_be(office: Office, name: str) -> None:
    error = await refused(office, sender_name=name)

    assert error.code == ("NOT_FOUND" if name == "Nobody" else "PERMISSION_DENIED")


async def test_a_token_proves_the_sender_and_another_agents_token_is_refused(office: Office) -> None:
    blue, red = token_of("BlueLake", office.room.app), token_of("RedStone", office.room.app)

    assert (await office.send(sender_token=blue))["verified_sender"] is True
    assert (await refused(office, sender_token=red)).code == "PERMISSION_DENIED"
    assert (await refused(office, sender_token="amt_made_up")).code == "PERMISSION_DENIED"


async def test_in_strict_mode_a_send_needs_the_token(office: Office) -> None:
    office.identities.auth = AgentAuth.STRICT

    assert (await refused(office)).code == "AUTHENTICATION_REQUIRED"
    assert (await office.send(sender_token=token_of("BlueLake", office.room.app)))["verified_sender"] is True


async def test_the_operator_writes_as_the_overseer(office: Office) -> None:
    answer = await office.send(OPERATOR, sender_name="Human")

    assert answer["deliveries"][0]["payload"]["from"] == "Human"


async def test_everything_of_a_message_is_stored_together(office: Office) -> None:
    await office.send(to=["RedStone"], bcc=["GreenField"], importance="urgent", ack_required=True)

    assert office.rows("SELECT name, unread_count FROM agents WHERE unread_count > 0 ORDER BY name") == [
        ("GreenField", 1),
        ("RedStone", 1),
    ]
    ((kind, agent_id, snapshot),) = office.rows("SELECT kind, agent_id, snapshot FROM outbox")
    assert (kind, agent_id) == ("mail", office.room.blue.id)
    assert [r["name"] for r in json.loads(snapshot)["recipients"]] == ["RedStone", "GreenField"]
    assert office.noted == ["BlueLake"]
