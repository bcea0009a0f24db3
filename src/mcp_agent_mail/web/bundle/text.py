"""A body as a bundle shows it: what one sees of it holds no secret, however Markdown has put it together."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import unescape
from html.parser import HTMLParser

from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.sharing.redaction import REDACTED, Redactor, without_unseen
from mcp_agent_mail.web.render.body_work import one_page
from mcp_agent_mail.web.render.markdown import SHOWN_CHARACTERS, body_html

_BLOCKS = frozenset("blockquote br div h1 h2 h3 h4 h5 h6 hr li ol p pre table tr ul".split())
_CELLS = frozenset({"td", "th"})
_MOST_SECRETS = 500
"""To look for one by one. Of a body that has more nothing is shown."""
_SAID = frozenset({"href", "title"})
_LINK = re.compile(r"\[(?P<words>[^\[\]\n]{0,1000})\]\((?P<target>[^\[)\n]{0,2000})\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBody:
    """`html` is None for a body that is shown as its `text`, which is what a search finds too."""

    html: object
    text: str


def shown_body(written: str, redactor: Redactor) -> ShownBody:
    """Of a body as it was written. What one sees must be what one would have seen, redacted: where redacting what was
    written gives something else, because Markdown puts a secret together of parts, it becomes plain text, without what
    was a secret as it was written, and what is one as it is seen. So does one of more than SHOWN_CHARACTERS, and one
    whose Markdown is too much work. Where looking at its secrets is too much, nothing of it is shown.
    """
    source = without_unseen(written)
    redacted = redactor.text(source)
    read = _as_text if len(source) > SHOWN_CHARACTERS else _as_html
    shown = read(redacted)
    seen = shown if redacted == source else read(source)
    wanted = redactor.text(seen.text, is_counted=False)
    if shown.text.split() == wanted.split():
        return shown
    known = redactor.secrets(source)
    seen_by_themselves = {_as_text(one).text for one in known} if seen.html is None else _each_seen(known)
    if len(known) > _MOST_SECRETS or seen_by_themselves is None:
        return ShownBody(html=None, text=REDACTED)
    wanted = redactor.text(seen.text, known=known | seen_by_themselves, is_counted=False)
    return shown if shown.text.split() == wanted.split() else ShownBody(html=None, text=wanted)


def _each_seen(known: Collection[str]) -> set[str] | None:
    """Each as text, and as one sees its Markdown; None where they are too many, or more work together than the bodies
    of a page may be: within a fence they were none.
    """
    if len(known) > _MOST_SECRETS:
        return None
    seen = {_as_text(one).text for one in known}
    with one_page():
        for one in known:
            read = _as_html(one)
            if read.html is None:
                return None
            seen.add(read.text)
    return seen


def _as_html(markdown: str) -> ShownBody:
    """As text where it is too much work."""
    html = body_html(markdown)
    return _as_text(markdown) if html.is_plain else ShownBody(html=html, text=text_of(str(html)))


def _as_text(markdown: str) -> ShownBody:
    """Links as their words and where they lead, entities as what they mean."""
    said = [unescape(match["target"]) for match in _LINK.finditer(markdown)]
    text = unescape(_LINK.sub(lambda match: match["words"], markdown))
    return ShownBody(html=None, text=visible("\n".join((text, *said))))


def text_of(html: str) -> str:
    """What one sees of HTML that was sanitised, and where its links lead; without the hosts that are told behind links,
    since they stand in the midst of what a writer has put together.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "".join(reader.parts) + "".join(f"\n{said}\n" for said in reader.said)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.said: list[str] = []
        self._spans: list[bool] = []

    def handle_data(self, data: str) -> None:
        if not any(self._spans):
            self.parts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)
        if tag in _CELLS:
            self.parts.append(" | ")
        if tag == "span":
            is_host = ("class", "host") in attrs
            self._spans.append(is_host)
            if is_host and self.parts and self.parts[-1] == " ":
                self.parts.pop()
        self.said += [value for name, value in attrs if name in _SAID and value]

    def handle_endtag(self, tag: str) -> None:
        self._break(tag)
        if tag == "span" and self._spans:
            self._spans.pop()

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")
