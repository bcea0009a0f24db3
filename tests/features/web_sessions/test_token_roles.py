from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import IssuedTokenId, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy, SessionGrant
from mcp_agent_mail.features.web_sessions.token_roles import TokenRoles
from tests.features.web_sessions.tokens import an_issued_token

READER, WRITER, OPERATOR = Role
TOKEN = token_hash("the token")


def today(**given: object) -> TokenRoles:
    """The server's token is TOKEN, and the issued one 1 a reader's."""
    known = {"find_issued": lambda number: an_issued_token(number, READER) if number == 1 else None}
    return TokenRoles(**{**known, "server_token_hash": TOKEN, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("granted", list(Role))
@pytest.mark.parametrize("gives", list(Role))
def test_the_servers_token_gives_what_is_set_and_never_more_than_was_granted(granted: Role, gives: Role) -> None:
    grant = SessionGrant(by=OpenedBy.SERVER, role=granted, judged_by=TOKEN)

    assert today(server_role=gives).role_of(grant) is min(granted, gives)


@pytest.mark.parametrize("now", [None, token_hash("another")])
def test_another_server_token_or_none_gives_nothing(now: bytes | None) -> None:
    tokens = today(server_token_hash=now)

    for judge in (TOKEN, None):
        assert tokens.role_of(SessionGrant(by=OpenedBy.SERVER, role=WRITER, judged_by=judge)) is None


@pytest.mark.parametrize(("number", "gives"), [(1, READER), (2, None), (None, None)])
def test_an_issued_token_gives_what_it_has_now(number: int | None, gives: Role | None) -> None:
    issued = None if number is None else IssuedTokenId(number)

    assert today().role_of(SessionGrant(by=OpenedBy.ISSUED, role=OPERATOR, issued_token=issued)) is gives


def test_without_roles_all_but_the_operators_own_are_writers_at_most() -> None:
    tokens = today(has_roles=False, server_role=OPERATOR, find_issued=an_issued_token)
    grants = {by: SessionGrant(by=by, role=OPERATOR, issued_token=IssuedTokenId(1), judged_by=TOKEN) for by in OpenedBy}

    assert {by: tokens.role_of(grant) for by, grant in grants.items()} == {
        OpenedBy.LINK: OPERATOR,
        OpenedBy.OPERATOR: OPERATOR,
        OpenedBy.SERVER: WRITER,
        OpenedBy.ISSUED: WRITER,
        OpenedBy.JWT: WRITER,
    }
