from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.features.identity.idempotency import KeyedRequest, arguments_hash
from mcp_agent_mail.features.messaging.requests import RecipientList, ReplyRequest, SendRequest
from mcp_agent_mail.features.reservations.requests import ReserveRequest

_SEND = SendRequest(
    project_key="/srv/app",
    sender_name="BlueLake",
    recipients=RecipientList(to=("RedStone",)),
    subject="Grüße",
    body_md="Hello",
    idempotency_key="k1",
)
_REPLY = ReplyRequest(
    project_key="/srv/app",
    sender_name="BlueLake",
    message_id=MessageId(7),
    recipients=RecipientList(),
    body_md="Yes",
    idempotency_key="k2",
)
_RESERVE = ReserveRequest(
    project_key="/srv/app",
    agent_name="BlueLake",
    paths=("src/**",),
    ttl_seconds=3_600,
    exclusive=True,
    reason="",
    idempotency_key="k3",
)


def test_a_field_that_came_later_counts_only_where_it_says_something() -> None:
    plain, said = arguments_hash(_REPLY), arguments_hash(replace(_REPLY, acknowledge=True))

    assert plain == arguments_hash(replace(_REPLY, acknowledge=False))
    assert plain != said


@pytest.mark.parametrize(
    ("request_", "kept"),
    [
        (_SEND, "d1a812b577e93d2780b261dfa4703bbc77a093ac73b86e944e38da34d5bccdb5"),
        (_REPLY, "da2df0537db7e39d5740a3bb20d9dbfeed933b40787e51a516f93363cc7cb612"),
        (_RESERVE, "d5fe03a78eb0bf23bdf815e28b54b9f45cc4c5da1d476d88695eb7578aefdd95"),
    ],
)
def test_a_key_from_before_an_upgrade_is_known_after_it(request_: KeyedRequest, kept: str) -> None:
    """What is hashed for a key was so in earlier versions: a new field or name would turn repeats into conflicts."""
    assert arguments_hash(request_).hex() == kept
