from __future__ import annotations

import json

import pytest

from mcp_agent_mail.core.clock import iso
from tests.features.messaging.harness import APP, LIB, MessagingHarness, refused_send


async def test_a_send_answers_with_what_the_contract_names_and_no_body(harness: MessagingHarness) -> None:
    answer = await harness.send(to=["redstone"], cc=["GreenField"], topic="Build", thread_id="TKT-1")

    now = iso(harness.seeded.clock.now)
    unheard = {"last_active_ts": now, "listening": False, "listening_via": None, "busy_since": None}
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
                        {"name": "RedStone", "kind": "to", "status": "delivered", **unheard},
                        {"name": "GreenField", "kind": "cc", "status": "delivered", **unheard},
                    ],
                },
            }
        ],
        "count": 1,
        "verified_sender": False,
        "held": [],
        "skipped": [],
    }


async def test_a_send_to_one_agent_is_three_looks_and_six_changes(harness: MessagingHarness) -> None:
    with harness.written() as statements:
        await harness.send()

    looks, changes = ["SELECT"] * 3, ["UPDATE", "INSERT", "INSERT", "INSERT", "UPDATE", "INSERT"]
    assert list(statements.values()) == ["BEGIN", "SAVEPOINT", *looks, *changes, "RELEASE", "COMMIT"]


async def test_the_body_arrives_byte_for_byte(harness: MessagingHarness) -> None:
    body = "caf\u00e9\r\n\t \0 \U0001f600 </script> {{x}} 'x' \u2028 end \n\n"

    message_id = await harness.sent_id(body_md=body)

    assert (await harness.read(f"message/{message_id}"))["body_md"] == body
    assert (await harness.inbox("RedStone", include_bodies=True))[0]["body_md"] == body


async def test_a_message_needs_a_recipient(harness: MessagingHarness) -> None:
    assert (await refused_send(harness, to=[])).code == "INVALID_INPUT"
    assert (await refused_send(harness, to=None)).code == "INVALID_INPUT"
    assert (await harness.send(to=None, cc="RedStone"))["count"] == 1


async def test_a_retired_recipient_refuses_the_whole_message(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.green.id, tx.now, tx.now))

    error = await refused_send(harness, to=["RedStone"], cc=["GreenField"])

    assert error.code == "RECIPIENT_RETIRED"
    assert error.data["refused"][0]["agent"] == "GreenField"


async def test_an_archived_project_refuses_mail_from_it_and_to_it(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.lib.id, tx.now))

    assert (await refused_send(harness, to=[f"QuietFox@{LIB}"])).code == "CONFLICT"
    assert (await refused_send(harness, project_key=LIB, sender_name="QuietFox", to=["BlueLake"])).code == "CONFLICT"


async def test_a_send_across_projects_is_one_message_with_one_id(harness: MessagingHarness) -> None:
    answer = await harness.send(to=["RedStone", f"QuietFox@{LIB}"], cc=[f"BlueLake@{LIB}"])

    assert answer["count"] == 2
    assert {d["project"]: d["payload"]["id"] for d in answer["deliveries"]} == {APP: 1, LIB: 1}
    assert harness.rows("SELECT count(*) FROM messages") == [(1,)]
    item = (await harness.inbox("QuietFox", project_key=LIB))[0]
    assert (item["id"], item["from"], item["kind"]) == (1, "BlueLake@code-app", "to")
    assert (await harness.inbox("RedStone"))[0]["from"] == "BlueLake"
    assert harness.rows("SELECT project_id, kind, message_id FROM outbox ORDER BY seq") == [
        (harness.seeded.app.id, "mail", 1),
        (harness.seeded.lib.id, "mail", 1),
    ]


async def test_the_answer_can_be_written_back_to_the_address_shown(harness: MessagingHarness) -> None:
    await harness.send(to=[f"QuietFox@{LIB}"])
    shown = (await harness.inbox("QuietFox", project_key=LIB))[0]["from"]

    await harness.send(project_key=LIB, sender_name="QuietFox", to=[shown])

    assert (await harness.inbox("BlueLake"))[0]["from"] == "QuietFox@code-lib"


@pytest.mark.parametrize("name", ["Nobody", "System", "Human"])
async def test_nobody_sends_as_somebody_who_is_not_theirs_to_be(harness: MessagingHarness, name: str) -> None:
    error = await refused_send(harness, sender_name=name)

    assert error.code == ("NOT_FOUND" if name == "Nobody" else "PERMISSION_DENIED")


async def test_everything_of_a_message_is_stored_together(harness: MessagingHarness) -> None:
    await harness.send(to=["RedStone"], bcc=["GreenField"], importance="urgent", ack_required=True)

    assert harness.rows("SELECT name, unread_count FROM agents WHERE unread_count > 0 ORDER BY name") == [
        ("GreenField", 1),
        ("RedStone", 1),
    ]
    ((kind, agent_id, snapshot),) = harness.rows("SELECT kind, agent_id, snapshot FROM outbox")
    assert (kind, agent_id) == ("mail", harness.seeded.blue.id)
    assert [r["name"] for r in json.loads(snapshot)["recipients"]] == ["RedStone", "GreenField"]
    assert harness.noted == ["BlueLake"]
