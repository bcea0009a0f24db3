"""A body as HTML: Markdown without raw HTML, then through an allow-list. Both are needed; each alone would do.

What peers write is data. Images are links, since loading one would tell its host that somebody reads; every link says
where it leads; nothing that remains can run, load or be sent.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from mdit_py_plugins.tasklists import tasklists_plugin

from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.web.render.code import LANGUAGE_CLASS, TOKEN_CLASSES, highlighted

if TYPE_CHECKING:
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

SHOWN_CHARACTERS = 256 * 1024
"""More of a body is folded: it is there as text, at its raw address."""

DEEPEST = 20
"""So many quotes and lists may stand in each other."""
_CONTAINERS = frozenset({"blockquote_open", "list_item_open", "bullet_list_open", "ordered_list_open"})

_TAGS = frozenset(
    """
    a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr input li ol p pre s span strong table tbody td th thead tr ul
    """.split()
)
_SCHEMES = frozenset({"http", "https", "mailto"})
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
_DONE, _TO_DO = "done", "to do"
_ALIGNED = {"left", "center", "right"}
_VALUES = {
    "input": {
        "type": {"checkbox"},
        "disabled": {"", "disabled"},
        "checked": {"", "checked"},
        "aria-label": {_DONE, _TO_DO},
    },
    "th": {"align": _ALIGNED},
    "td": {"align": _ALIGNED},
    "pre": {"tabindex": {"0"}},
    "div": {"tabindex": {"0"}},
}
"""What scrolls sideways is reached by keys."""


def body_html(text: str) -> Markup:
    """The body of a message. What is beyond SHOWN_CHARACTERS is left out: the caller says so.

    One that nests deeper than DEEPEST is shown as the text that it is: else agents alone would see what is inside.
    """
    return Markup(sanitised(rendered(text)))  # noqa: S704  # this is what makes it safe


def rendered(text: str) -> str:
    """The HTML that the parser alone makes of `text`: nothing in it is the writer's but words, and where links lead."""
    shown = visible(text[:SHOWN_CHARACTERS])
    parser = _parser()
    env: _Env = {}
    tokens = parser.parse(shown, env)
    is_cut = any(token.type in _CONTAINERS and token.level >= DEEPEST - 1 for token in tokens)
    return _code(shown, "") if is_cut else str(parser.renderer.render(tokens, parser.options, env))


def sanitised(html: str) -> str:
    """What of `html` is on the allow-list; text of what is not stays as text, scripts and styles go whole."""
    return nh3.clean(
        html,
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
    parser.use(tasklists_plugin)
    parser.validateLink = _may_lead  # type: ignore[method-assign]  # this is how the library is told
    parser.add_render_rule("html_inline", _checkbox)
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
    """ASCII, as the parser writes addresses."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.netloc.rpartition("@")[2] or parts.path.partition("?")[0][:100]


_Tokens = Sequence["Token"]
_Env = MutableMapping[str, Any]


def _link_open(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, env: _Env) -> str:
    href = str(tokens[at].attrGet("href") or "")
    env.setdefault("hosts", []).append(_host_of(href))
    return f'<a href="{escape(href)}">'


def _link_close(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, env: _Env) -> str:
    host = env["hosts"].pop() if env.get("hosts") else ""
    text = tokens[at - 1].content if at and tokens[at - 1].type == "text" else ""
    is_said = not host or host in text
    return "</a>" if is_said else f'</a> <span class="host">{escape(host)}</span>'


def _cell(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, ___: _Env) -> str:
    """How its column is aligned the parser says as a style; no page takes one."""
    tag = tokens[at].tag
    aligned = str(tokens[at].attrGet("style") or "").removeprefix("text-align:")
    return f'<{tag} align="{escape(aligned)}">' if aligned else f"<{tag}>"


def _image(renderer: RendererHTML, tokens: _Tokens, at: int, options: OptionsDict, env: _Env) -> str:
    """A link: to load it would tell its host that somebody reads. Of one that leads elsewhere the parser makes none."""
    token = tokens[at]
    source = str(token.attrGet("src") or "")
    words = renderer.renderInlineAsText(token.children or [], options, env) or "image"
    host = escape(_host_of(source))
    return f'<a href="{escape(source)}">{escape(visible(words))}</a> <span class="host">image at {host}</span>'


def _checkbox(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, ___: _Env) -> str:
    """Of a task: nothing else makes such a token while HTML is off."""
    content = tokens[at].content
    return content.replace("<input ", f'<input aria-label="{_DONE if "checked=" in content else _TO_DO}" ', 1)


def _fence(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, ___: _Env) -> str:
    token = tokens[at]
    return _code(token.content, (token.info or "").strip().partition(" ")[0])


def _code_block(_: RendererHTML, tokens: _Tokens, at: int, __: OptionsDict, ___: _Env) -> str:
    return _code(tokens[at].content, "")


def _code(text: str, language: str) -> str:
    return f'<pre tabindex="0"><code class="{LANGUAGE_CLASS}">{highlighted(text, language)}</code></pre>\n'
