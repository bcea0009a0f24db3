"""Guidance: mail and its delivery."""

from __future__ import annotations

from mcp_agent_mail.features.introspection.guidance import Cluster, Guidance

_HERE = {"project_key": "/code/app"}
_MINE = {**_HERE, "agent_name": "BlueLake"}

MESSAGING = Cluster(
    purpose="Mail: sending, answering, reading, acknowledging.",
    tools={
        "send_message": Guidance(
            use_when="You have something to say that is not an answer.",
            related=("reply_message", "fetch_inbox", "request_contact"),
            frequency="often",
            examples={
                "To one agent, with an acknowledgement": {
                    **_HERE,
                    "sender_name": "BlueLake",
                    "to": ["RedStone"],
                    "subject": "Parser plan",
                    "body_md": "I take the lexer.",
                    "ack_required": True,
                },
                "To everyone active": {
                    **_HERE,
                    "sender_name": "BlueLake",
                    "broadcast": True,
                    "subject": "Main is frozen",
                    "body_md": "Until the release is out.",
                },
            },
            complexity="medium",
        ),
        "reply_message": Guidance(
            use_when="You answer a message: thread, topic and recipient come from it, and it counts as read.",
            related=("send_message", "acknowledge_message"),
            frequency="often",
            examples={
                "Answer": {**_HERE, "message_id": 7, "sender_name": "BlueLake", "body_md": "Agreed."},
                "Answer and acknowledge": {
                    **_HERE,
                    "message_id": 7,
                    "sender_name": "BlueLake",
                    "body_md": "Agreed, I do it.",
                    "acknowledge": True,
                },
            },
        ),
        "fetch_inbox": Guidance(
            use_when="You want your mail, or only to know whether there is any. Nothing is marked unless you say so.",
            related=("read_mail", "mark_message_read", "acknowledge_message", "wait_for_messages"),
            frequency="often",
            examples={
                "What is unread, with bodies, read by that": {
                    **_MINE,
                    "unread_only": True,
                    "include_bodies": True,
                    "mark_read": True,
                },
                "Is there anything new?": {**_MINE, "limit": 0},
                "What came after a message": {**_MINE, "after_id": 7},
            },
        ),
        "fetch_topic": Guidance(
            use_when="You want all mail on a topic, whoever got it.",
            related=("search_messages", "fetch_inbox"),
            frequency="often",
            examples={"By name": {**_HERE, "topic_name": "parser"}},
        ),
        "read_mail": Guidance(
            use_when="You want one message, or a thread from its beginning, whoever it was sent to.",
            related=("list_threads", "fetch_inbox", "summarize_thread"),
            frequency="often",
            examples={"A message": {**_HERE, "message_id": 7}, "A thread": {**_HERE, "thread_id": "TKT-1"}},
        ),
        "list_threads": Guidance(
            use_when="You want to know what is being talked about, or where you have something to read.",
            related=("read_mail", "fetch_topic", "search_messages"),
            frequency="often",
            examples={"The project's": _HERE, "Your own, with what is unread": _MINE},
        ),
        "mark_message_read": Guidance(
            use_when="You have read a message that asks for no acknowledgement.",
            related=("acknowledge_message",),
            frequency="often",
            examples={"One": {**_MINE, "message_id": 7}, "Several": {**_MINE, "message_ids": [7, 8]}},
        ),
        "acknowledge_message": Guidance(
            use_when="You have read a message and take on what it asks. It counts as read too.",
            related=("reply_message", "mark_message_read"),
            frequency="often",
            examples={"One": {**_MINE, "message_id": 7}, "Several": {**_MINE, "message_ids": [7, 8]}},
        ),
        "purge_old_messages": Guidance(
            use_when="The operator wants old read mail out of the live store. Git keeps the bodies.",
            related=("archive_project",),
            frequency="rare",
            examples={"See what would go": {**_HERE, "max_age_days": 180}},
            complexity="high",
        ),
    },
)

DELIVERY = Cluster(
    purpose="What became of a message, waiting for mail, withdrawing.",
    tools={
        "message_status": Guidance(
            use_when="You want to know how far a message got with each recipient.",
            related=("send_message",),
            frequency="often",
            examples={"Of a message": {**_HERE, "message_id": 7}},
        ),
        "wait_for_messages": Guidance(
            use_when="You have nothing to do until mail comes.",
            related=("fetch_inbox",),
            frequency="often",
            examples={"Up to 25 seconds": _MINE},
        ),
        "fetch_inbox_events": Guidance(
            use_when="A program follows an inbox without reading bodies.",
            related=("wait_for_messages",),
            frequency="often",
            examples={"From the beginning": _MINE},
            complexity="medium",
        ),
        "withdraw_message": Guidance(
            use_when="A message that you sent no longer holds.",
            related=("send_message", "message_status"),
            frequency="rare",
            examples={"Take it back": {**_HERE, "sender_name": "BlueLake", "message_id": 7}},
        ),
    },
)
