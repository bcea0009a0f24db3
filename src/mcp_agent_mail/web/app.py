"""From a request to its page: the route, whether the form is our own, every refusal as a page with the next step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.errors import AgentMailError, AuthenticationRequired, NotFound
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.projects.lookup import AmbiguousProject, called_by_people
from mcp_agent_mail.web.addresses import API, HOME, SIGN_IN, own_path, with_query
from mcp_agent_mail.web.context import PageContext, PagePlaces
from mcp_agent_mail.web.forms import is_of_own_source, require_own_form, require_own_source
from mcp_agent_mail.web.headers import PAGE_HEADERS
from mcp_agent_mail.web.meant_links import meant_links
from mcp_agent_mail.web.pages.actor import require_human
from mcp_agent_mail.web.refusals import for_people, in_time, retry_header, status_of
from mcp_agent_mail.web.request import PageAnswer, PageHost, PageRequest, redirect
from mcp_agent_mail.web.routes import FORM_BYTES, MOVED, ROUTES, UNSENT_BYTES, PageRoute, find_route
from mcp_agent_mail.web.shapes import json_answer
from mcp_agent_mail.web.views.mail_form import KeptMail, unsent_letter

_TITLES = {
    400: "That cannot be read",
    401: "Sign in first",
    403: "That is not yours to do",
    404: "Nothing is here",
    405: "Not in this way",
    409: "It is otherwise by now",
    413: "Too much for one form",
    429: "Too much at once",
    500: "A fault of the server",
    503: "Not just now",
}

_WHICH = "Several are called so"

_IN_FRAME = frozenset({400, 403, 404, 409})
"""What a page refuses by itself, to somebody who was let in: the rest of the pages stays at hand."""


class SessionMissing(AuthenticationRequired):
    """What changes anything is done in a session."""


class NoPage(NotFound):
    """No page has this address."""


class WebApp:
    """All pages."""

    def __init__(
        self,
        services: Services,
        *,
        clock: Clock,
        routes: tuple[PageRoute, ...] = ROUTES,
    ) -> None:
        self._services = services
        self._clock = clock
        self._routes = routes
        self._places = PagePlaces()

    def is_open(self, raw_path: str) -> bool:
        """Whether anybody may ask there: the page to sign in at."""
        found = find_route(raw_path, self._routes)
        return found is not None and found[0].is_open

    def form_bound(self, request: PageRequest) -> int | None:
        """How many bytes of a form the page takes from this request, of which nothing is read yet; None for none. A
        letter is read of the operator alone, who writes them. Raises SessionMissing, ForeignForm.
        """
        found = find_route(request.path, self._routes)
        if request.method != "POST" or found is None or found[0].post is None:
            return None
        _require_own_source(request, found[0])
        return found[0].form_bytes if request.role is Role.OPERATOR else min(found[0].form_bytes, FORM_BYTES)

    def unsent_bound(self, request: PageRequest) -> int | None:
        """How many bytes are read of a letter that comes without a session, to give its text back to who wrote it; None
        for none, as of whatever another site sent.
        """
        is_unsent = request.method == "POST" and request.session is None and self._is_own_letter(request)
        return UNSENT_BYTES if is_unsent else None

    def _is_own_letter(self, request: PageRequest) -> bool:
        found = find_route(request.path, self._routes)
        return found is not None and found[0].is_letter and is_of_own_source(request)

    async def answer(self, request: PageRequest, host: PageHost, caller: Callable[[], Awaitable[Caller]]) -> PageAnswer:
        """Never raises but for cancellation."""
        try:
            with called_by_people():
                answer = await self._answer(request, host, caller)
        except AgentMailError as error:
            answer = await self._refusal(request, error)
        except Exception as error:  # noqa: BLE001  # a bug becomes a page, as it becomes INTERNAL for tools
            answer = await self._refusal(request, host.masked(error))
        return replace(answer, headers=_with_defaults(answer.headers))

    async def _answer(
        self, request: PageRequest, host: PageHost, caller: Callable[[], Awaitable[Caller]]
    ) -> PageAnswer:
        if request.method != "POST" and (moved := MOVED.get(request.path.rstrip("/") or "/")) is not None:
            return redirect(moved)
        found = find_route(request.path, self._routes)
        if found is None:
            raise NoPage("No page has this address.", hint=f"Begin at {HOME}.")
        route, keys = found
        if request.method not in route.methods:
            answer = await self._error_page(request, 405, "This address is for something else.", f"Begin at {HOME}.")
            return replace(answer, headers=(*answer.headers, ("allow", ", ".join(route.methods))))
        if request.method == "POST":
            _require_own_source(request, route)
            require_own_form(request)
        page = route.post if request.method == "POST" else route.get
        assert page is not None, route
        context = PageContext(
            request=request,
            host=host,
            places=self._places,
            services=self._services,
            caller=_NOBODY if route.is_open else await caller(),
            keys=keys,
            now=self._clock(),
            after=await self._services.pages.events.newest_id(),
        )
        try:
            if request.method == "POST" and not (route.is_open or route.is_every_sessions):
                require_human(context)
            return await page(context)
        except AgentMailError as refused:
            if route.is_open or status_of(refused) not in _IN_FRAME or request.path.startswith(f"{API}/"):
                raise
            try:
                return await _framed(context, refused, self._unsent(request))
            except Exception:  # noqa: BLE001  # what is around the page cannot be told: the refusal still is
                raise refused from None

    async def refusal(self, request: PageRequest, error: AgentMailError) -> PageAnswer:
        """The page that says why not, and what to do."""
        answer = await self._refusal(request, error)
        return replace(answer, headers=_with_defaults(answer.headers))

    async def _refusal(self, request: PageRequest, error: AgentMailError) -> PageAnswer:
        told = for_people(error)
        answer = await self._error_page(request, status_of(told), told.message, told.hint)
        return replace(answer, headers=(*answer.headers, *retry_header(told)))

    async def refused(self, request: PageRequest, status: int, detail: str, retry_after_s: float | None) -> PageAnswer:
        """A refusal of the edge as a page: nobody has been let in."""
        hint = ""
        if status == 401:
            hint = "Run `am web` on the server's machine, or paste a token that opens this server."
        elif retry_after_s is not None:
            hint = f"Try again in {in_time(retry_after_s)}."
        answer = await self._error_page(request, status, detail if status != 401 else "These pages are locked.", hint)
        return replace(answer, headers=_with_defaults(answer.headers))

    async def _error_page(self, request: PageRequest, status: int, message: str, hint: str) -> PageAnswer:
        model = _told(request, status, message, hint, self._unsent(request))
        if request.path.startswith(f"{API}/"):
            return json_answer({"error": {"message": message, "hint": hint}}, status=status)
        return PageAnswer(status=status, body=await self._places.made("error.html", model))

    def _unsent(self, request: PageRequest) -> KeptMail | None:
        return unsent_letter(request) if request.method == "POST" and self._is_own_letter(request) else None


_NOBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)
"""Of pages that anybody may ask for: no rule is asked there."""


async def _framed(page: PageContext, refused: AgentMailError, unsent: KeptMail | None) -> PageAnswer:
    """Within what is around every page, with the way back to the form that was sent, and to what was probably meant."""
    told, status = for_people(refused), status_of(refused)
    title = _WHICH if isinstance(refused, AmbiguousProject) else _TITLES[status]
    model = _told(page.request, status, told.message, told.hint, unsent)
    model |= {"title": title, "meant": await meant_links(page, refused)}
    return await page.shown("refused.html", model, title=title, status=status)


def _told(request: PageRequest, status: int, message: str, hint: str, unsent: KeptMail | None) -> dict[str, object]:
    sign_in = None
    if status in (401, 403) and request.session is None:
        back = own_path(request.address) if request.method == "GET" else HOME if unsent is None else unsent.form
        sign_in = with_query(SIGN_IN, {"back": back})
    return {
        "title": _TITLES.get(status, "That did not work"),
        "status": status,
        "message": message,
        "hint": hint,
        "sign_in": sign_in,
        "back": own_path(request.field("back"), default="") if request.session is not None else "",
        "home": HOME,
        "unsent": unsent,
    }


def _require_own_source(request: PageRequest, route: PageRoute) -> None:
    if request.session is None and not route.is_open:
        hint = "Nothing was sent. Sign in first." if route.is_letter else "Sign in, and press the button again."
        raise SessionMissing("Changing anything needs a session.", hint=hint)
    require_own_source(request)


def _with_defaults(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    said = {name for name, _ in headers}
    return (*headers, *(pair for pair in PAGE_HEADERS if pair[0] not in said))
