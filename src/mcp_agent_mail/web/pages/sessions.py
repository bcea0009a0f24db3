"""To sign in by a token or a link of `am web`, and out again."""

from __future__ import annotations

import secrets

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.features.web_sessions.service import OpenedSession
from mcp_agent_mail.web.addresses import HOME, SIGN_IN, own_path
from mcp_agent_mail.web.context import PageContext, rendered
from mcp_agent_mail.web.cookies import FORM_COOKIE, SESSION_COOKIE, forget_cookie, set_cookie
from mcp_agent_mail.web.forms import form_token
from mcp_agent_mail.web.refusals import as_told
from mcp_agent_mail.web.request import PageAnswer, redirect

MAX_TOKEN = 8_192


class NoToken(InvalidInput):
    """The field was left empty, or holds what is no token."""


async def sign_in_page(page: PageContext) -> PageAnswer:
    """The form. With `link` it has one button alone: who fetches the address beforehand signs nobody in."""
    return await _form(page)


async def _form(page: PageContext, refused: AgentMailError | None = None, status: int = 200) -> PageAnswer:
    request = page.request
    secret = request.secret or secrets.token_urlsafe(32)
    cookie = set_cookie(request, FORM_COOKIE, secret, path=SIGN_IN, lasts_s=3_600)
    model = {
        "title": "Sign in",
        "action": SIGN_IN,
        "form_token": form_token(secret, SIGN_IN),
        "link": request.asked("link") or request.field("link"),
        "back": own_path(request.asked("back") or request.field("back")),
        "refused": refused,
    }
    return PageAnswer(status=status, body=await rendered("sign_in.html", model), headers=(cookie,))


async def sign_in(page: PageContext) -> PageAnswer:
    """Open a session for the link or the token of the form, and go back to where one came from."""
    try:
        opened = await _opened(page)
    except AgentMailError as refused:
        return await _form(page, as_told(refused), status=403)
    request = page.request
    session = set_cookie(request, SESSION_COOKIE, opened.secret, path=HOME)
    spent = forget_cookie(request, FORM_COOKIE, path=SIGN_IN)
    return redirect(own_path(request.field("back")), session, spent)


async def _opened(page: PageContext) -> OpenedSession:
    if link := page.request.field("link"):
        return await page.services.pages.sessions.open_by_link(link)
    token = page.request.field("token").strip()
    if not token or len(token) > MAX_TOKEN or not token.isascii() or not token.isprintable():
        raise NoToken("That is no token.", hint="Paste one, or run `am web` on the server's machine.")
    return await page.services.pages.sessions.open(await page.host.judge_token(token))


async def sign_out(page: PageContext) -> PageAnswer:
    """End the session that the form was sent in."""
    session = page.request.session
    assert session is not None
    await page.services.pages.sessions.end(session.id)
    return redirect(SIGN_IN, forget_cookie(page.request, SESSION_COOKIE, path=HOME))
