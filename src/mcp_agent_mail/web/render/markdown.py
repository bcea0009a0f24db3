"""A body as HTML: Markdown without raw HTML, then through an allow-list. Both are needed; each alone would do.

What peers write is data. Images are links, since loading one would tell its host that somebody reads; every link says
where it leads; nothing that remains can run, load or be sent. What would be too much work is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.web.render.body_work import TooMuchWork, Work, bound, env_of, work_of
from mcp_agent_mail.web.render.code import LANGUAGE_CLASS, TOKEN_CLASSES, highlighted
from mcp_agent_mail.web.render.task_marks import BOX, DONE, TO_DO, add_tasks

if TYPE_CHECKING:
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

SHOWN_CHARACTERS = 256 * 1024
"""More of a body is folded: it is there as text, at its raw address."""

DEEPEST = 20
"""So many quotes and lists may stand in each other, and so many emphases."""
_CONTAINERS = frozenset({"blockquote_open", "list_item_open", "bullet_list_open", "ordered_list_open"})

_TAGS = frozenset(
    """
    a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr input li ol p pre s span strong table tbody td th thead tr ul
    """.split()
)
_SCHEMES = frozenset({"http", "https", "mailto"})
_HOST = re.compile(r"[\w.\-~!$&'*+,;=()]+(:[0-9]*)?", re.ASCII)
_OUTWARD = "noopener noreferrer nofollow"
_CLASSES = {
    "code": {LANGUAGE_CLASS},
    "span": {*TOKEN_CLASSES, "host"},
    "ul": {"contains-task-list"},
    "li": {"task-list-item"},
    "input": {"task-list-item-checkbox"},
    "div": {"scroll"},
}
_ATTRIBUTES: dict[str, set[str]] = {
    "*": set(),
    "a": {"href"},
    "ol": {"start"},
}
_ALIGNED = {"left", "center", "right"}
_VALUES = {
    "input": {
        "type": {"checkbox"},
        "disabled": {"", "disabled"},
        "checked": {"", "checked"},
        "aria-label": {DONE, TO_DO},
    },
    "th": {"align": _ALIGNED},
    "td": {"align": _ALIGNED},
    "pre": {"tabindex": {"0"}},
    "div": {"tabindex": {"0"}},
}
"""What scrolls sideways is reached by keys."""


class Body(Markup):
    """HTML. `is_plain`: its Markdown is shown as it was written."""

    is_plain = False


def body_html(text: str) -> Body:
    """The body of a message. What is beyond SHOWN_CHARACTERS is left out: the caller says so.

    One that nests deeper than DEEPEST, or is too much work, is shown as the text that it is.
    """
    html, is_plain = rendered(text)
    body = Body(sanitised(html))
    body.is_plain = is_plain
    return body


def rendered(text: str) -> tuple[str, bool]:
    """The HTML that the parser alone makes of `text`: nothing in it is the writer's but words, and where links lead.
    And whether that is the text as it was written.
    """
    shown = visible(text[:SHOWN_CHARACTERS])
    work = Work(len(shown))
    try:
        return _laid_out(shown, work), False
    except TooMuchWork:
        return _pre(escape(shown)), True


def _laid_out(shown: str, work: Work) -> str:
    """Raises TooMuchWork."""
    parser, env = _parser(), env_of(work)
    tokens = parser.parse(shown, env)
    if any(map(_is_too_deep, tokens)):
        raise TooMuchWork
    html = str(parser.renderer.render(tokens, parser.options, env))
    work.write(len(html))
    return html


def _is_too_deep(token: Token) -> bool:
    if token.type in _CONTAINERS:
        return token.level >= DEEPEST - 1
    return any(child.level > DEEPEST for child in token.children or ())


def sanitised(html: str) -> str:
    """What of `html` is on the allow-list; text of what is not stays as text, scripts and styles go whole."""
    return _cleaner().clean(html)


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(_TAGS),
        clean_content_tags={"script", "style"},
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        tag_attribute_values={
            tag: {name: set(those) for name, those in given.items()} for tag, given in _VALUES.items()
        },
        allowed_classes={tag: set(those) for tag, those in _CLASSES.items()},
        strip_comments=True,
        link_rel=_OUTWARD,
        url_schemes=set(_SCHEMES),
    )


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False, "maxNesting": DEEPEST})
    parser.enable(["table", "strikethrough"])
    add_tasks(parser)
    bound(parser)
    parser.validateLink = _may_lead  # type: ignore[method-assign]  # this is how the library is told
    parser.add_render_rule(BOX, _box)
    for name, rule in (("image", _image), ("fence", _fence), ("code_block", _code_block), ("link_close", _link_close)):
        parser.add_render_rule(name, rule)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _cell)
    return parser


def _may_lead(url: str) -> bool:
    """A link to somewhere on the web, or to somebody's address: a relative one would lead where nobody meant."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in _SCHEMES and bool(parts.netloc or parts.scheme.lower() == "mailto")


def _host_of(url: str) -> str:
    """ASCII, as browsers read it: percent signs decoded, then dots and letters of all scripts. As the parser wrote it
    where a browser takes none.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme.lower() == "mailto":
        return url.partition(":")[2].partition("?")[0][:100]
    written = parts.netloc.rpartition("@")[2]
    if "%" not in written:
        return written
    try:
        decoded = unquote(written, errors="strict").encode("idna").decode("ascii").lower()
    except UnicodeError:
        return written
    return decoded if _HOST.fullmatch(decoded) else written


_Tokens = Sequence["Token"]
_Env = MutableMapping[str, Any]


def _link_open(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, env: _Env) -> str:
    href = str(tokens[at].attrGet("href") or "")
    work_of(env).write(len(href))
    env.setdefault("hosts", []).append((_host_of(href), urlsplit(href).scheme))
    return f'<a href="{escape(href)}">'


def _link_close(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, env: _Env) -> str:
    host, scheme = env["hosts"].pop() if env.get("hosts") else ("", "")
    words = tokens[at - 1].content if [one.type for one in tokens[at - 2 : at]] == ["link_open", "text"] else ""
    return "</a>" if not host or _says(words, host, scheme) else f'</a> <span class="host">{escape(host)}</span>'


def _says(words: str, host: str, scheme: str) -> bool:
    """Whether the words of a link are an address, of this host and scheme and no other; nobody's name may stand before
    it.
    """
    if words == host:
        return True
    try:
        parts = urlsplit(words)
    except ValueError:
        return False
    is_address = parts.scheme.lower() == scheme and not any(map(str.isspace, words))
    return is_address and parts.netloc.lower() == host.lower()


def _cell(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, ___: _Env) -> str:
    """How its column is aligned the parser says as a style; no page takes one."""
    tag = tokens[at].tag
    aligned = str(tokens[at].attrGet("style") or "").removeprefix("text-align:")
    return f'<{tag} align="{escape(aligned)}">' if aligned else f"<{tag}>"


def _image(renderer: RendererHTML, tokens: _Tokens, at: int, options: OptionsDict, env: _Env) -> str:
    """A link: to load it would tell its host that somebody reads. Of one that leads elsewhere the parser makes none."""
    token = tokens[at]
    source = str(token.attrGet("src") or "")
    work_of(env).write(len(source))
    words = renderer.renderInlineAsText(token.children or [], options, env) or "image"
    host = escape(_host_of(source))
    return f'<a href="{escape(source)}">{escape(visible(words))}</a> <span class="host">image at {host}</span>'


def _box(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, ___: _Env) -> str:
    said = tokens[at].info
    checked = ' checked="checked"' if said == DONE else ""
    return f'<input aria-label="{said}" class="task-list-item-checkbox"{checked} disabled="disabled" type="checkbox">'


def _fence(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, env: _Env) -> str:
    token = tokens[at]
    language = (token.info or "").strip().partition(" ")[0]
    work_of(env).spend(len(token.content))
    plain = escape(token.content)
    return _pre(work_of(env).painted(plain, lambda within_s: highlighted(token.content, language, within_s=within_s)))


def _code_block(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, ___: _Env) -> str:
    return _pre(escape(tokens[at].content))


def _pre(code: Markup) -> str:
    return f'<pre tabindex="0"><code class="{LANGUAGE_CLASS}">{code}</code></pre>\n'
