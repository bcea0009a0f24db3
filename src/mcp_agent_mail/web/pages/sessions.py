"""To sign in by a token or a link of `am web`, and out again."""

from __future__ import annotations

import secrets

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.features.web_sessions.service import OpenedSession
from mcp_agent_mail.web.addresses import HOME, SIGN_IN, own_path
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.cookies import FORM_COOKIE, SESSION_COOKIE, forget_cookie, set_cookie
from mcp_agent_mail.web.forms import form_token
from mcp_agent_mail.web.refusals import for_people, retry_header, status_of
from mcp_agent_mail.web.request import PageAnswer, redirect

MAX_TOKEN = 8_192


class NoToken(InvalidInput):
    """The field was left empty, or holds what is no token."""


async def sign_in_page(page: PageContext) -> PageAnswer:
    """The form. With `link` it has one button alone: who fetches the address beforehand signs nobody in."""
    return await _form(page)


async def _form(page: PageContext, refused: AgentMailError | None = None) -> PageAnswer:
    """What is the server's own fault keeps the link's button: the link is still good then."""
    request = page.request
    status = 200 if refused is None else status_of(refused)
    if status in (400, 401):  # What was shown opens nothing, whatever it is.
        status = 403
    secret = request.secret or secrets.token_urlsafe(32)
    cookie = set_cookie(request, FORM_COOKIE, secret, path=SIGN_IN, lasts_s=3_600)
    model = {
        "title": "Sign in",
        "action": SIGN_IN,
        "form_token": form_token(secret, SIGN_IN),
        "link": "" if status == 403 else request.asked("link") or request.field("link"),
        "back": own_path(request.asked("back") or request.field("back")),
        "refused": refused,
    }
    headers = (cookie,) if refused is None else (cookie, *retry_header(refused))
    return PageAnswer(status=status, body=await page.places.made("sign_in.html", model), headers=headers)


async def sign_in(page: PageContext) -> PageAnswer:
    """Open a session for the link or the token of the form, and go back to where one came from."""
    try:
        opened = await _opened(page)
    except AgentMailError as refused:
        return await _form(page, for_people(refused))
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
    """End the session that the form was sent in. The browser forgets it also where that cannot be written down."""
    session = page.request.session
    assert session is not None
    forgotten = forget_cookie(page.request, SESSION_COOKIE, path=HOME)
    try:
        await page.services.pages.sessions.end(session.id)
    except Exception as error:  # noqa: BLE001  # a bug, too, leaves no cookie behind
        told = error if isinstance(error, AgentMailError) else page.host.masked(error)
        return PageAnswer(status=status_of(told), body=await _half_signed_out(page, told), headers=(forgotten,))
    return redirect(SIGN_IN, forgotten)


async def _half_signed_out(page: PageContext, told: AgentMailError) -> bytes:
    model = {
        "title": "You are signed out",
        "status": status_of(told),
        "message": f"Nobody is let in by this session any more. It could not be written down yet: {told.message}",
        "hint": "The server writes it down as soon as it can; there is nothing to press again. Only if it is stopped "
        "before that does the session count again after its next start, for whoever has kept its cookie: this browser "
        "has forgotten it.",
        "sign_in": SIGN_IN,
        "home": HOME,
    }
    return await page.places.made("error.html", model)
