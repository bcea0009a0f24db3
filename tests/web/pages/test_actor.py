"""The person alone acts: in a session, and of the operator's. Neither half of it is enough."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.web.forms import form_token
from tests.web.acting import BEARER, SHOP, Person, before_the_pages, form_to

ONLY_THE_OPERATOR = "Only the operator writes and marks mail as Human."


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Person]:
    """Nobody is signed in yet."""
    async with before_the_pages(tmp_path) as opened:
        yield opened


async def sign_in_as(visitor: Person, role: str) -> str:
    """The secret of the session."""
    made = await visitor.app.call("create_issued_token", BEARER, expires="1d", role=role)
    form = form_to(await visitor.get("/mail/sign-in"), "/mail/sign-in")
    answer = await visitor.send(form.action, form.filled(token=made["token"]))
    assert answer.status_code == 303, answer.text
    return next(value for name, value in visitor.app.client.cookies.items() if name.startswith("agent_mail_session"))


async def forms_that_are_written(visitor: Person) -> list[str]:
    """The second answers a message that is not there: who may not answer is not told so."""
    slug = await visitor.slug(SHOP)
    return [f"/mail/{slug}/overseer/compose", f"/mail/{slug}/message/999/reply"]


async def test_the_operators_token_without_a_session_opens_no_form(visitor: Person) -> None:
    for path in await forms_that_are_written(visitor):
        answer = await visitor.app.client.get(path, headers=BEARER)

        assert answer.status_code == 403, path
        assert ONLY_THE_OPERATOR in answer.text


@pytest.mark.parametrize("role", ["reader", "writer"])
async def test_a_session_of_anybody_else_opens_no_form_and_acts_in_nothing(visitor: Person, role: str) -> None:
    secret = await sign_in_as(visitor, role)
    forms = await forms_that_are_written(visitor)
    acts = [(path, [("act", "send")]) for path in forms]
    # What is wrong with these beside is not told to whoever may not.
    acts += [("/mail/marks", [("act", "burn")]), ("/mail/projects", [("first", "1"), ("second", "2"), ("act", "burn")])]

    shown = [await visitor.get(path) for path in forms]
    done = [await visitor.send(path, [*fields, ("csrf", form_token(secret, path))]) for path, fields in acts]

    assert [answer.status_code for answer in (*shown, *done)] == [403] * 6
    assert [ONLY_THE_OPERATOR in answer.text for answer in (*shown, *done)] == [True] * 6
