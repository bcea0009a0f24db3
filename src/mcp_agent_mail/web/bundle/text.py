"""A body as a bundle shows it: what one sees of it holds no secret, however Markdown has put it together."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.features.sharing.redaction import Redactor
from mcp_agent_mail.web.render.markdown import SHOWN_CHARACTERS, body_html

_BLOCKS = frozenset("blockquote br div h1 h2 h3 h4 h5 h6 hr li ol p pre table td th tr ul".split())
_SAID = frozenset({"href", "title"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBody:
    """`html` is None for a body that is shown as its `text`, which is what a search finds too."""

    html: object
    text: str


def shown_body(markdown: str, redactor: Redactor) -> ShownBody:
    """Of a body that was redacted. Where the page that it makes shows a secret all the same, put together of parts that
    were none, it becomes plain text, which is redacted again; so does one of more than SHOWN_CHARACTERS.
    """
    if len(markdown) > SHOWN_CHARACTERS:
        return ShownBody(html=None, text=visible(markdown))
    html = body_html(markdown)
    seen = text_of(str(html))
    if redactor.finds(seen):
        return ShownBody(html=None, text=redactor.text(seen))
    return ShownBody(html=html, text=seen)


def text_of(html: str) -> str:
    """What one sees of HTML that was sanitised, and where its links lead."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "".join(reader.parts) + "".join(f"\n{said}\n" for said in reader.said)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.said: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)
        self.said += [value for name, value in attrs if name in _SAID and value]

    def handle_endtag(self, tag: str) -> None:
        self._break(tag)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")
