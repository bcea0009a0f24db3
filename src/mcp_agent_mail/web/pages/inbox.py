"""The inbox over all projects, in three boxes: what needs a person, all mail, and what `System` told."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mcp_agent_mail.core.errors import InvalidInput, PermissionDenied
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.features.oversight.needs import NeedsPlace
from mcp_agent_mail.features.oversight.service import MailWish
from mcp_agent_mail.store.mail.all_mail import HumanMail
from mcp_agent_mail.web.addresses import HOME, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.contacts import did
from mcp_agent_mail.web.pages.message import open_message
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.request import PageAnswer
from mcp_agent_mail.web.views.mail import MailList, MailRow, mail_rows, person_row
from mcp_agent_mail.web.views.needs import needs_view, told_reminders

BOXES = ("mail", "needs", "log")
PAGE_SIZE = 50
MAX_FILTER = 500

_TERM = re.compile(r'(?P<name>is|needs|from|project|topic|importance):(?:"(?P<quoted>[^"]*)"|(?P<plain>\S*))')
_TITLES = {"mail": "Mail", "needs": "Needs you", "log": "Log"}


class UnfitFilter(InvalidInput):
    """A term of the filter that nobody knows, or a value that it does not take."""


class OperatorsFilter(PermissionDenied):
    """What somebody has read who is not the one that asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailTerms:
    """A filter as people write it: `from:BlueLake is:unread words`. `words` are for the search."""

    sender: str | None = None
    project: str | None = None
    topic: str | None = None
    importance: Importance | None = None
    is_unread: bool = False
    needs_ack: bool = False
    words: str = ""


def read_terms(text: str) -> MailTerms:
    """Raises UnfitFilter."""
    if len(text) > MAX_FILTER:
        raise UnfitFilter(f"The filter has {len(text)} characters.", hint=f"At most {MAX_FILTER} are taken.")
    given: dict[str, str] = {}
    for found in _TERM.finditer(text):
        value = found["quoted"] if found["quoted"] is not None else found["plain"]
        if not value:
            raise UnfitFilter(
                f"{found['name']}: has no value.", hint=f"Write it behind the colon: {_EXAMPLES[found['name']]}"
            )
        given[f"{found['name']}:{value}" if found["name"] in ("is", "needs") else found["name"]] = value
    for name, only in (("is", "unread"), ("needs", "ack")):
        if unknown := [term for term in given if term.startswith(f"{name}:") and term != f"{name}:{only}"]:
            raise UnfitFilter(f"{unknown[0]} is no filter.", hint=f"Write {name}:{only}.")
    return MailTerms(
        sender=given.get("from"),
        project=given.get("project"),
        topic=given.get("topic"),
        importance=_importance(given.get("importance")),
        is_unread="is:unread" in given,
        needs_ack="needs:ack" in given,
        words=" ".join(_TERM.sub(" ", text).split()),
    )


def _importance(word: str | None) -> Importance | None:
    if word is None:
        return None
    try:
        return Importance(word.lower())
    except ValueError:
        raise UnfitFilter(f"{word!r:.50} is no importance.", hint=f"Write one of {', '.join(Importance)}.") from None


_EXAMPLES = {
    "is": "is:unread",
    "needs": "needs:ack",
    "from": "from:BlueLake",
    "project": "project:my-project",
    "topic": "topic:release",
    "importance": "importance:urgent",
}


async def inbox(page: PageContext) -> PageAnswer:
    """`/mail?box=…&q=…&before=…&open=…`: as text filters, like everything here, so that an address says it all: the
    message that is read beside the list too, as `open=project.number`.
    """
    box = page.request.asked("box", "mail")
    if box not in BOXES:
        raise UnfitFilter(f"There is no box {box!r:.50}.", hint=f"Choose one of {', '.join(BOXES)}.")
    if box == "needs":
        return await _needs(page)
    written = page.request.asked("q")
    terms = read_terms(written)
    if terms.words:
        found = with_query(f"{HOME}/search", {"q": written})
        return PageAnswer(status=303, headers=(("location", found),))
    before = _before(page.request.asked("before"))
    if terms.is_unread or terms.needs_ack:
        if not page.caller.is_operator:
            raise OperatorsFilter(
                "is:unread and needs:ack ask for mail to Human, which is the operator's.", hint="Sign in by am web."
            )
        listed = await _to_person(page, terms, before)
    else:
        listed = await _mail(page, box, terms, before)
    read = page.request.asked("open")
    opened = await open_message(page, *read.rpartition(".")[::2]) if read else None
    shown = MailList(rows=listed[0], next_href=_address(box, written, listed[1]) if listed[1] is not None else None)
    named = None if terms.project is None else await page.services.pages.oversight.project(terms.project)
    return await page.shown(
        "inbox.html",
        {
            "box": box,
            "written": written,
            "mail": shown,
            "of_project": named if terms == MailTerms(project=terms.project) else None,
            **({"message": None} if opened is None else opened.model),
            "shut_href": _address(box, written, before),
        },
        title=_TITLES[box],
        section=box,
        project=None if named is None else named.slug,
    )


async def _mail(page: PageContext, box: str, terms: MailTerms, before: int | None) -> tuple[list[MailRow], int | None]:
    wish = MailWish(
        limit=PAGE_SIZE,
        before=before,
        project_key=terms.project,
        sender=terms.sender,
        importance=terms.importance,
        topic=terms.topic,
        is_system=box == "log",
    )
    found = await page.services.pages.oversight.mail(page.caller, wish)
    return mail_rows(found), found.next_before


async def _to_person(page: PageContext, terms: MailTerms, before: int | None) -> tuple[list[MailRow], int | None]:
    """Mail to `Human`: nobody else's reading is a person's business."""
    found = await page.services.pages.oversight.to_person(
        page.caller, limit=PAGE_SIZE + 1, before=before, owes_ack=terms.needs_ack
    )
    kept = [one for one in found[:PAGE_SIZE] if _passes(one, terms)]
    reasons = await page.services.pages.oversight.reasons(page.caller, [one.head.id for one in kept])
    return [person_row(one, reasons.get(one.head.id)) for one in kept], found[PAGE_SIZE - 1].head.id if len(
        found
    ) > PAGE_SIZE else None


def _passes(one: HumanMail, terms: MailTerms) -> bool:
    head = one.head
    return (
        (terms.sender is None or head.sender_name.casefold() == terms.sender.casefold())
        and (terms.project is None or head.project_slug == terms.project)
        and (terms.importance is None or head.importance == terms.importance)
        and (terms.topic is None or (head.topic or "").casefold() == terms.topic.casefold())
        and not (terms.is_unread and one.read_ts is not None)
    )


def _before(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UnfitFilter(f"{text!r:.50} is no id of a message.", hint="Go on from a page of the list.")
    return int(text)


def _address(box: str, written: str, before: int | None) -> str:
    return with_query(HOME, {"box": box if box != "mail" else None, "q": written, "before": before})


async def _needs(page: PageContext) -> PageAnswer:
    """`requests=…` and `overdue=…` are pages of one kind alone, behind what they name."""
    requests, overdue = page_number(page.request.asked("requests")), page_number(page.request.asked("overdue"))
    model: dict[str, object] = {"needs": None, "did": did(page) or told_reminders(page.request.asked("reminded"))}
    if page.caller.is_operator:
        place = NeedsPlace(after_request=requests or 0, after_delivery=overdue or 0)
        found = await page.services.pages.oversight.needs(page.caller, place)
        model |= {
            "needs": needs_view(found),
            "own": with_query(HOME, {"box": "needs", "requests": requests, "overdue": overdue}),
            "is_first": requests is None and overdue is None,
            "has_requests": overdue is None,
            "has_overdue": requests is None,
        }
    return await page.shown("needs.html", model, title=_TITLES["needs"], section="needs")
