"""What a search found, as rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.search.query import Phrase
from mcp_agent_mail.features.oversight.mail_search import FoundHits
from mcp_agent_mail.web.views.mail import MailRow, mail_row

_MARKS = (
    (re.compile(r"(?:\|[ \t]*:?-{2,}:?[ \t]*)+\|?"), " "),
    (re.compile(r"(?:```|~~~)\w*"), " "),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)"), r"\1"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"\1"),
    (re.compile(r"(?<!\w)__([^_]+)__(?!\w)"), r"\1"),
    (re.compile(r"~~([^~]+)~~"), r"\1"),
    (re.compile(r"`([^`]+)`"), r"\1"),
    (re.compile(r"(?:^|(?<=\s))(?:#{1,6}|[-*+] \[[ xX]\])\s"), ""),
    (re.compile(r"^\s*[>*+-]\s"), ""),
    (re.compile(r"\s*\|(?:\s*\|)*\s*"), " · "),
    (re.compile(r"(?<=[.:;!?]) · "), " "),
)
"""What marks a piece of Markdown, and what stands for it in an excerpt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRow:
    """`project` is that from which it is read; `phrases` are marked in subject and snippet."""

    id: MessageId
    project: str
    project_name: str
    sender: str
    subject: str
    snippet: str
    importance: str
    asks_ack: bool
    thread_id: str | None
    created_ts: Micros
    phrases: Sequence[Phrase]


def plain_words(text: str) -> str:
    """An excerpt of Markdown on one line, without its marks."""
    for pattern, instead in _MARKS:
        text = pattern.sub(instead, text)
    return " ".join(text.split()).strip(" ·")


def hit_rows(found: FoundHits) -> list[HitRow]:
    """Most relevant first."""
    rows = []
    for hit in found.hits:
        seen = None if hit.project_id is None else found.projects.get(hit.project_id)
        slug = hit.sender_project_slug if seen is None else seen.slug
        rows.append(
            HitRow(
                id=hit.id,
                project=slug,
                project_name=slug if seen is None else seen.name,
                sender=hit.sender_name,
                subject=hit.subject,
                snippet=plain_words(hit.snippet),
                importance=hit.importance.value,
                asks_ack=hit.ack_required,
                thread_id=hit.thread_id,
                created_ts=hit.created_ts,
                phrases=found.phrases,
            )
        )
    return rows


def found_rows(found: FoundHits) -> list[MailRow]:
    """The same as rows of a list of mail, each read from the project that it was found in."""
    rows = []
    for hit in hit_rows(found):
        if (head := found.heads.get(hit.id)) is None:
            continue
        row = mail_row(head, found.addressees.get(hit.id, ()), found.person.get(hit.id), project_name=hit.project_name)
        rows.append(replace(row, project=hit.project, snippet=hit.snippet, phrases=hit.phrases))
    return rows
