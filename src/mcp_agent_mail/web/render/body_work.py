"""How much work one body may be, whatever it holds: counted as it is parsed and written, and by the processor's time.

A parser looks at each place of a text once, or so it should: what makes it look again and again, or write much for
little, spends what there is, and ends with TooMuchWork.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from markdown_it import helpers
from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markupsafe import Markup

MOST_STEPS = 700_000
"""About half a second. A place of a body that rules look at costs _LOOK of them, a character looked at again one."""
WITHIN_S = 0.8
"""Of the processor, for what is not counted."""
PAGE_WITHIN_S = 2.0
"""For all bodies of a page; but each has FLOOR steps of its own, whatever stands beside it."""
FLOOR = 40_000
COLOURS_WITHIN_S = 0.4
"""For the colours of a body's code, besides what it has itself: code loses these before anything else is lost."""
PAGE_COLOURS_WITHIN_S = 1.0
MOST_COLOURS = 768 * 1024
"""Characters of HTML that only colour a body's code, besides what it has itself."""
WIDENING = 4
MOST_BESIDES = 128 * 1024
"""HTML has at most WIDENING characters for each of the body's, and so many besides."""

_WORK = "work"
_LAST_LINK = "last_link"
_LOOK = 8
_TOKEN = 4
_CLOCK_EVERY = 2_000


class _Page:
    __slots__ = ("colours_left_s", "ends")

    def __init__(self) -> None:
        self.ends = time.thread_time() + PAGE_WITHIN_S
        self.colours_left_s = PAGE_COLOURS_WITHIN_S


_page: ContextVar[_Page | None] = ContextVar("page", default=None)


class TooMuchWork(Exception):
    """The body is to be shown as it was written."""


class Work:
    """Of one body of `characters`, on the thread that makes it."""

    __slots__ = ("_clock_at", "_colours_left", "_colours_left_s", "_ends", "_left", "_page", "steps")

    def __init__(self, characters: int) -> None:
        self.steps = 0
        self._clock_at = 0
        self._left = WIDENING * characters + MOST_BESIDES
        self._colours_left = MOST_COLOURS
        self._colours_left_s = COLOURS_WITHIN_S
        self._ends = time.thread_time() + WITHIN_S
        self._page = _page.get()

    def spend(self, steps: int) -> None:
        """Raise TooMuchWork beyond MOST_STEPS, the time that the body has, or beyond FLOOR that of its page."""
        self.steps += steps
        if self.steps >= self._clock_at:
            self._clock_at = self.steps + _CLOCK_EVERY
            now = time.thread_time()
            is_page_over = self._page is not None and now >= self._page.ends and self.steps > FLOOR
            if self.steps > MOST_STEPS or now >= self._ends or is_page_over:
                raise TooMuchWork

    def write(self, characters: int) -> None:
        """So many are about to be written."""
        self._left -= characters
        if self._left < 0:
            raise TooMuchWork

    def painted(self, plain: Markup, paint: Callable[[float], Markup]) -> Markup:
        """What `paint` makes of `plain` within the seconds it is given, or `plain` where colours are spent."""
        page, begun = self._page, time.thread_time()
        within_s = self._colours_left_s if page is None else min(self._colours_left_s, page.colours_left_s)
        if within_s <= 0 or self._colours_left <= 0 or (page is not None and begun >= page.ends):
            return plain
        made = paint(within_s)
        took_s = time.thread_time() - begun
        self._colours_left_s -= took_s
        self._ends += took_s
        if page is not None:
            page.colours_left_s -= took_s
        besides = len(made) - len(plain)
        if besides > self._colours_left:
            return plain
        self._colours_left -= besides
        self._left += besides
        return made


@contextmanager
def one_page() -> Iterator[None]:
    """The bodies that are rendered inside the block have PAGE_WITHIN_S together, beyond what each has of its own."""
    token = _page.set(_Page())
    try:
        yield
    finally:
        _page.reset(token)


def work_of(env: Any) -> Work:  # noqa: ANN401  # the library's own word for it
    """That of a body which is parsed or rendered with `env_of`."""
    work: Work = env[_WORK]
    return work


def env_of(work: Work) -> dict[str, Any]:
    return {_WORK: work}


def bound(parser: MarkdownIt) -> None:
    """All that this parser does is counted from now on; it takes no env but one of `env_of`."""
    chains: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("table", "bound", _look_at_line, chains)
    parser.inline.ruler.before("text", "bound", _look_at_place)
    parser.core.ruler.at("block", _block)
    parser.core.ruler.at("inline", _inline)
    parser.helpers = _LinkScan  # type: ignore[assignment]  # rules look them up there


def _look_at_line(state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    work_of(state.env).spend(_LOOK)
    return False


def _look_at_place(state: StateInline, _silent: bool) -> bool:
    work_of(state.env).spend(_LOOK)
    return False


class _Tokens(list[Token]):
    """Each costs: a table has some for every cell that its first row promises."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def append(self, token: Token, /) -> None:
        self._work.spend(_TOKEN)
        super().append(token)


def _block(state: StateCore) -> None:
    state.tokens = _Tokens(work_of(state.env))
    state.md.block.parse(state.src, state.md, state.env, state.tokens)


def _inline(state: StateCore) -> None:
    work = work_of(state.env)
    for token in state.tokens:
        if token.type == "inline":
            token.children = _Tokens(work)
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _last_link(state: StateInline) -> int:
    """Where the last `](` of this text stands: without references no bracket behind it is a link's."""
    of, at = state.env.get(_LAST_LINK, (None, -1))
    if of is not state.src:
        at = state.src.rfind("](")
        state.env[_LAST_LINK] = state.src, at
    return int(at)


class _LinkScan:
    """The library's, but that the one which looks ahead, from every bracket anew, is counted."""

    parseLinkDestination: Final = staticmethod(helpers.parseLinkDestination)  # noqa: N815  # the library's names
    parseLinkTitle: Final = staticmethod(helpers.parseLinkTitle)  # noqa: N815

    @staticmethod
    def parseLinkLabel(state: StateInline, start: int, disableNested: bool = False) -> int:  # noqa: N802, N803
        """Where the bracket that opens at `start` closes, below zero for nowhere."""
        if "references" not in state.env and _last_link(state) < start:
            return -1
        work, before = work_of(state.env), state.pos
        state.pos, depth, end = start + 1, 1, -1
        while state.pos < state.posMax:
            work.spend(1)
            mark, at = state.src[state.pos], state.pos
            if mark == "]":
                depth -= 1
                if depth == 0:
                    end = state.pos
                    break
            state.md.inline.skipToken(state)
            if mark == "[":
                if state.pos == at + 1:
                    depth += 1
                elif disableNested:
                    break
        state.pos = before
        return end
