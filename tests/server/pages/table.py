"""Who may see which page and send which form: written by hand, and asked of real servers by `test_table.py`.

A page or a form that does not stand here fails the tests until somebody has decided whose it is.
"""

from __future__ import annotations

from collections.abc import Mapping

ANYBODY, AGENT, READER, WRITER, OPERATOR = "anybody", "agent", "reader", "writer", "operator"
VISITORS = (ANYBODY, AGENT, READER, WRITER, OPERATOR)
"""Nobody in particular; an agent that shows its own token, and no other; and sessions of tokens of each role."""

Statuses = tuple[int, int, int, int, int]
"""In the order of VISITORS."""

OPEN, LOCKED = "open", "locked"
"""A server that needs no token, and one that does."""

READ: Statuses = (200, 200, 200, 200, 200)
PERSONS: Statuses = (403, 403, 403, 403, 200)
OPERATORS: Statuses = (403, 403, 403, 403, 200)
LEADS_ON: Statuses = (303, 303, 303, 303, 303)

IN_AN_OPEN_SERVER: Mapping[str, Statuses] = {
    "/": LEADS_ON,
    "/mail/unified-inbox": LEADS_ON,
    "/mail": READ,
    "/mail/sign-in": READ,
    "/mail/events": READ,
    "/mail/now": READ,
    "/mail/search": READ,
    "/mail/{project}/search": READ,
    "/mail/operations": OPERATORS,
    "/mail/{project}/message/{message}": READ,
    "/mail/{project}/thread/{thread}": READ,
    "/mail/{project}/message/{message}/reply": PERSONS,
    "/mail/{project}/overseer/compose": PERSONS,
    "/mail/projects": READ,
    "/mail/api/unified-inbox": READ,
    "/mail/api/locks": READ,
    "/mail/api/projects/{project}/agents": READ,
    "/mail/{project}/agents": READ,
    "/mail/{project}/agents/{name}": READ,
    "/mail/{project}/contacts": READ,
    "/mail/{project}/file_reservations": READ,
    "/mail/{project}/file_reservations/{reservation}": READ,
    "/mail/archive/guide": READ,
    "/mail/archive/activity": READ,
    "/mail/archive/commit/{commit}": READ,
    "/mail/archive/timeline": READ,
    "/mail/archive/browser": OPERATORS,
    "/mail/archive/network": READ,
    "/mail/archive/time-travel": READ,
    "/mail/{project}/message/{message}/raw": READ,
    "/mail/{project}/inbox/{agent}": READ,
    "/mail/{project}/outbox/{agent}": READ,
    "/mail/{project}/attachments": READ,
    "/mail/{project}/attachments/{sha256}": READ,
    "/mail/{project}": LEADS_ON,
}
"""Every route that is read, and what has moved, each asked for what is there."""

OF_A_MESSAGE_THAT_IS_HELD: Mapping[str, Statuses] = {
    "/mail/{project}/message/{held}": (404, 404, 404, 404, 200),
    "/mail/{project}/message/{held}/raw": (404, 404, 404, 404, 200),
    "/mail/{project}/message/{held}/reply": (403, 403, 403, 403, 200),
}
OF_WHAT_IS_NOT_THERE: Mapping[str, Statuses] = {
    "/mail/none/agents": (404, 404, 404, 404, 404),
    "/mail/{project}/message/999": (404, 404, 404, 404, 404),
    "/mail/{project}/message/x": (400, 400, 400, 400, 400),
    "/mail/{project}/message/999/reply": (403, 403, 403, 403, 404),
    "/mail/no/such/page/at/all": (404, 404, 404, 404, 404),
}

FOR_ANYBODY = frozenset({"/mail/sign-in"})
"""Of a locked server too."""
WITHOUT_A_COOKIE = frozenset({"/"})
"""A session's cookie is sent below `/mail` alone."""


def expected(server: str, path: str, statuses: Statuses) -> Statuses:
    """A locked server tells who shows it no token, or an agent's own, nothing but how to sign in."""
    if server == OPEN or path in FOR_ANYBODY:
        return statuses
    if path in WITHOUT_A_COOKIE:
        return (401, 401, 401, 401, 401)
    return (401, 401, *statuses[2:])


FORMS: Mapping[str, Statuses] = {
    "/mail/sign-in": (303, 303, 303, 303, 303),
    "/mail/sign-out": (401, 401, 303, 303, 303),
    "/mail/marks": (401, 401, 403, 403, 303),
    "/mail/reminders": (401, 401, 403, 403, 303),
    "/mail/{project}/message/{message}/reply": (401, 401, 403, 403, 303),
    "/mail/{project}/overseer/compose": (401, 401, 403, 403, 303),
    "/mail/projects": (401, 401, 403, 403, 303),
    "/mail/{project}/contacts": (401, 401, 403, 403, 303),
    "/mail/{project}/file_reservations/{reservation}/release": (401, 401, 403, 403, 303),
}
"""Every form, sent whole from its own page: who has no session sends none. 303 is done, all else changes nothing."""

GET_IN_ITS_PLACE: Mapping[str, int] = {
    "/mail/sign-in": 200,
    "/mail/sign-out": 405,
    "/mail/marks": 405,
    "/mail/reminders": 405,
    "/mail/{project}/message/{message}/reply": 200,
    "/mail/{project}/overseer/compose": 200,
    "/mail/projects": 200,
    "/mail/{project}/contacts": 200,
    "/mail/{project}/file_reservations/{reservation}/release": 405,
}
"""What the operator gets who asks for the address of a form with its fields as a query: a page, where there is one."""
