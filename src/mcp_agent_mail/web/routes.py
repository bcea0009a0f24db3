"""The table of pages: a new row, a function of `pages/` and a template are all that a page needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.web.addresses import HOME, MARKS, REMINDERS, SIGN_IN, SIGN_OUT
from mcp_agent_mail.web.context import Page
from mcp_agent_mail.web.pages import (
    activity,
    agents,
    contacts,
    events,
    history,
    inbox,
    json_answers,
    mailbox,
    marks,
    message,
    projects,
    reminders,
    reservations,
    search,
    server_metrics,
    sessions,
    siblings,
    written_mail,
)

MAX_KEY_CHARACTERS = 500
FORM_BYTES = 32 * 1024
"""A token, or what a person chooses and a note, with the address to go back to: what most forms hold."""
LETTER_BYTES = 4 * 1024 * 1024
"""A form with a message, of which each byte may be written as three."""
UNSENT_BYTES = 128 * 1024
"""Of a letter whose session has ended: read to give its text back, and for nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRoute:
    """`path` has its keys in braces. `get` changes nothing; `post` is an act of the person: it needs a session of the
    operator and its own form, which has at most `form_bytes`. With `is_every_sessions` any session may post; with
    `is_open` anybody may come, and is judged by what the form holds. The text of a letter
    that is refused is given back.
    """

    path: str
    get: Page | None = None
    post: Page | None = None
    is_open: bool = False
    is_every_sessions: bool = False
    form_bytes: int = FORM_BYTES
    is_letter: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        return (*(("GET", "HEAD") if self.get else ()), *(("POST",) if self.post else ()))

    def match(self, parts: Sequence[str]) -> dict[str, str] | None:
        """The keys of a path that is this route's: `parts` are its segments, decoded."""
        segments = self.path.split("/")
        if len(parts) != len(segments):
            return None
        keys = {}
        for segment, part in zip(segments, parts, strict=True):
            if segment.startswith("{"):
                if not part or len(part) > MAX_KEY_CHARACTERS:
                    return None
                keys[segment[1:-1]] = part
            elif segment != part:
                return None
        return keys


ROUTES: tuple[PageRoute, ...] = (
    PageRoute(path=HOME, get=inbox.inbox),
    PageRoute(path=SIGN_IN, get=sessions.sign_in_page, post=sessions.sign_in, is_open=True),
    PageRoute(path=SIGN_OUT, post=sessions.sign_out, is_every_sessions=True),
    # What goes on: the stream of events, now, search, operations.
    PageRoute(path="/mail/events", get=events.events),
    PageRoute(path="/mail/now", get=activity.now),
    PageRoute(path="/mail/search", get=search.search),
    PageRoute(path="/mail/{project}/search", get=search.search_project),
    PageRoute(path="/mail/operations", get=server_metrics.operations),
    PageRoute(path="/mail/{project}/message/{message}", get=message.message),
    PageRoute(path="/mail/{project}/thread/{thread}", get=message.thread),
    # Acts: writing and marking mail.
    PageRoute(path=MARKS, post=marks.mark),
    PageRoute(path=REMINDERS, post=reminders.remind),
    PageRoute(
        path="/mail/{project}/message/{message}/reply",
        get=written_mail.reply_page,
        post=written_mail.reply,
        form_bytes=LETTER_BYTES,
        is_letter=True,
    ),
    PageRoute(
        path="/mail/{project}/overseer/compose",
        get=written_mail.compose_page,
        post=written_mail.compose,
        form_bytes=LETTER_BYTES,
        is_letter=True,
    ),
    # Agents, contacts, file reservations and projects; the same for programs.
    PageRoute(path="/mail/projects", get=projects.projects, post=siblings.decide),
    PageRoute(path="/mail/api/unified-inbox", get=json_answers.unified_inbox),
    PageRoute(path="/mail/api/locks", get=json_answers.locks),
    PageRoute(path="/mail/api/projects/{project}/agents", get=json_answers.agents),
    PageRoute(path="/mail/{project}/agents", get=agents.agents),
    PageRoute(path="/mail/{project}/agents/{name}", get=agents.agent),
    PageRoute(path="/mail/{project}/contacts", get=contacts.contacts, post=contacts.answer),
    PageRoute(path="/mail/{project}/file_reservations", get=reservations.reservations),
    PageRoute(path="/mail/{project}/file_reservations/{reservation}", get=reservations.reservation),
    PageRoute(path="/mail/{project}/file_reservations/{reservation}/release", post=reservations.release),
    # History: what was, and what mail carries.
    PageRoute(path="/mail/archive/guide", get=history.guide),
    PageRoute(path="/mail/archive/activity", get=history.activity),
    PageRoute(path="/mail/archive/commit/{commit}", get=history.commit),
    PageRoute(path="/mail/archive/timeline", get=history.timeline),
    PageRoute(path="/mail/archive/browser", get=history.browser),
    PageRoute(path="/mail/archive/network", get=history.network),
    PageRoute(path="/mail/archive/time-travel", get=history.time_travel),
    PageRoute(path="/mail/{project}/message/{message}/raw", get=history.raw),
    PageRoute(path="/mail/{project}/inbox/{agent}", get=mailbox.inbox),
    PageRoute(path="/mail/{project}/outbox/{agent}", get=mailbox.outbox),
    PageRoute(path="/mail/{project}/attachments", get=mailbox.attachments),
    PageRoute(path="/mail/{project}/attachments/{sha256}", get=mailbox.attachment),
    # Behind all that are whole words.
    PageRoute(path="/mail/{project}", get=agents.project),
)
"""Whole words stand before keys: `/mail/now` is no project."""

MOVED: Mapping[str, str] = {"/": HOME, "/mail/unified-inbox": HOME}


def find_route(raw_path: str, routes: Sequence[PageRoute] = ROUTES) -> tuple[PageRoute, dict[str, str]] | None:
    """By the path as it was sent, so that a quoted slash belongs to its part. A closing slash does not count."""
    trimmed = raw_path.rstrip("/") or "/"
    parts = [unquote(part) for part in trimmed.split("/")]
    for route in routes:
        if (keys := route.match(parts)) is not None:
            return route, keys
    return None
