from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import (
    AgentMailError,
    AuthenticationRequired,
    Conflict,
    Internal,
    InvalidInput,
    NotFound,
    PermissionDenied,
    RateLimited,
    Unavailable,
)
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy, SessionGrant, WebSession
from mcp_agent_mail.web.app import WebApp
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.forms import form_token
from mcp_agent_mail.web.headers import PAGE_HEADERS
from mcp_agent_mail.web.request import PageAnswer, PageHost, PageRequest
from mcp_agent_mail.web.routes import PageRoute
from tests.web.requests import OWN, SECRET, a_request

NOW = Micros(1_800_000_000 * SECOND)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
Made = Callable[[PageContext], Awaitable[PageAnswer]]


async def plain(page: PageContext) -> PageAnswer:
    return PageAnswer(body=page.caller.kind.value.encode())


def raising(error: Exception) -> Made:
    async def page(_: PageContext) -> PageAnswer:
        raise error

    return page


async def _newest_id() -> str:
    return "run-7"


async def asked(
    request: PageRequest,
    *,
    get: Made | None = plain,
    post: Made | None = None,
    by: Caller = ANYBODY,
    is_open: bool = False,
    is_every_sessions: bool = False,
) -> Any:
    """The answer of an application with one page, at `/mail/it`."""
    pages = SimpleNamespace(events=SimpleNamespace(newest_id=_newest_id))
    none_else: Any = SimpleNamespace(pages=pages)
    routes = (PageRoute(path="/mail/it", get=get, post=post, is_open=is_open, is_every_sessions=is_every_sessions),)
    app = WebApp(none_else, clock=lambda: NOW, routes=routes)

    async def no_tool(*_: object) -> Any:
        raise AssertionError

    async def caller() -> Caller:
        return by

    def masked(error: Exception) -> AgentMailError:
        assert "secret" in str(error)
        return Internal("It failed.", hint="See the log.")

    return await app.answer(
        request, PageHost(run_tool=no_tool, judge_token=no_tool, identify=caller, masked=masked), caller
    )


def get(path: str = "/mail/it", **given: Any) -> PageRequest:
    return a_request(path=path, **given)


def a_session() -> WebSession:
    grant = SessionGrant(by=OpenedBy.LINK, role=a_request().role)
    return WebSession(id=1, grant=grant, created_ts=NOW, used_ts=NOW)  # type: ignore[arg-type]


def post(**given: Any) -> PageRequest:
    """Our own form, in a session."""
    own: dict[str, Any] = {"method": "POST", "path": "/mail/it", "origin": OWN, "session": a_session()}
    return a_request(**{"fields": {"csrf": form_token(SECRET, "/mail/it")}, **own, **given})


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (InvalidInput, 400),
        (AuthenticationRequired, 401),
        (PermissionDenied, 403),
        (NotFound, 404),
        (Conflict, 409),
        (RateLimited, 429),
        (Internal, 500),
        (Unavailable, 503),
    ],
)
async def test_every_refusal_is_a_page_with_the_next_step(kind: type[AgentMailError], status: int) -> None:
    answer = await asked(get(), get=raising(kind("No <b>.", hint="Do <i>.", data={"retry_after_s": 2.6})))

    assert answer.status == status
    assert b"No &lt;b&gt;." in answer.body
    assert b"Do &lt;i&gt;." in answer.body
    assert dict(answer.headers) == {**dict(PAGE_HEADERS), "retry-after": "3"}
    assert (b"/mail/sign-in?back=%2Fmail%2Fit" in answer.body) is (status in (401, 403))


async def test_the_way_to_sign_in_leads_back_to_what_was_asked_for() -> None:
    request = get(query={"q": ("old", "is:unread & more"), "box": ("log",)})

    answer = await asked(request, get=raising(PermissionDenied("No.", hint="Sign in.")))

    found = re.search(r'href="(/mail/sign-in[^"]*)"', answer.body.decode())
    assert found is not None
    back = parse_qs(urlsplit(html.unescape(found[1])).query)["back"]
    assert back == ["/mail/it?q=is%3Aunread+%26+more&box=log"]


async def test_a_bug_is_masked() -> None:
    answer = await asked(get(), get=raising(ValueError("secret")))

    assert answer.status == 500
    assert b"secret" not in answer.body
    assert b"See the log." in answer.body


async def test_a_header_of_the_page_stands_instead_of_the_default() -> None:
    async def cached(_: PageContext) -> PageAnswer:
        return PageAnswer(headers=(("cache-control", "private"),))

    answer = await asked(get(), get=cached)

    assert [value for name, value in answer.headers if name == "cache-control"] == ["private"]


async def test_no_page_and_no_method_are_told_apart() -> None:
    assert (await asked(get("/mail/other"))).status == 404
    refused = await asked(post(), post=None)
    assert (refused.status, dict(refused.headers)["allow"]) == (405, "GET, HEAD")


async def test_what_moved_leads_on() -> None:
    for path in ("/", "/mail/unified-inbox", "/mail/unified-inbox/"):
        answer = await asked(get(path))
        assert (answer.status, dict(answer.headers)["location"]) == (303, "/mail"), path


async def test_a_form_needs_a_session_and_to_be_our_own() -> None:
    assert (await asked(post(), post=plain, by=OPERATOR)).body == b"operator"
    assert (await asked(post(session=None), post=plain, by=OPERATOR)).status == 401
    assert (await asked(post(fields={}), post=plain, by=OPERATOR)).status == 403
    assert (await asked(post(origin="http://evil.example"), post=plain, by=OPERATOR)).status == 403
    assert (await asked(post(session=None), post=plain, is_open=True)).status == 200
    assert (await asked(post(session=None, fields={}), post=plain, is_open=True)).status == 403


async def test_an_act_of_the_person_is_the_operators_and_any_session_may_end_itself() -> None:
    assert (await asked(post(), post=plain)).status == 403
    assert (await asked(post(), post=plain, is_every_sessions=True)).body == b"anonymous"


async def test_of_a_page_that_is_open_nobody_is_asked_who_he_is() -> None:
    async def strict(page: PageContext) -> PageAnswer:
        return PageAnswer(body=page.caller.auth.value.encode())

    assert (await asked(get(), get=strict, is_open=True)).body == b"strict"
    assert (await asked(get(), get=strict)).body == b"open"


async def test_who_is_signed_in_is_not_sent_to_sign_in() -> None:
    answer = await asked(get(session=a_session()), get=raising(PermissionDenied("No.", hint="Ask.")))

    assert b"/mail/sign-in" not in answer.body


@pytest.mark.parametrize("is_framed", [False, True])
@pytest.mark.parametrize(
    ("back", "is_offered"),
    [("/mail/it?page=2", True), ("https://evil.example/", False), ("//evil.example", False), ("/mail/\\evil", False)],
)
async def test_a_refused_form_leads_back_to_pages_of_ours_alone(back: str, is_offered: bool, is_framed: bool) -> None:
    token = form_token(SECRET, "/mail/it") if is_framed else "0" * 64
    sent = post(fields={"csrf": token, "back": back})

    answer = await asked(sent, post=raising(Conflict("No.", hint="Do.")), by=OPERATOR)

    assert answer.status in (403, 409)
    assert (f'href="{back}"'.encode() in answer.body) is is_offered
    assert (b">Back</a>" in answer.body) is is_offered
