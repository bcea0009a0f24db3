"""How much work one body may be, whatever it holds: counted as it is parsed and written, and by the processor's time.

A parser looks at each place of a text once, or so it should: what makes it look again and again, or write much for
little, spends what there is, and ends with TooMuchWork.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
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

MOST_STEPS = 700_000
"""About half a second. A place of a body that rules look at costs _LOOK of them, a character looked at again one."""
WITHIN_S = 0.8
"""Of the processor, for what is not counted."""
PAGE_WITHIN_S = 2.0
"""For all bodies of a page."""
WIDENING = 4
MOST_BESIDES = 128 * 1024
"""HTML has at most WIDENING characters for each of the body's, and so many besides."""

_WORK = "work"
_LOOK = 8
_TOKEN = 4
_CLOCK_EVERY = 2_000

_page_ends: ContextVar[float | None] = ContextVar("page_ends", default=None)


class TooMuchWork(Exception):
    """The body is to be shown as it was written."""


class Work:
    """Of one body of `characters`, on the thread that makes it."""

    __slots__ = ("_clock_at", "_ends", "_left", "steps")

    def __init__(self, characters: int) -> None:
        self.steps = 0
        self._clock_at = 0
        self._left = WIDENING * characters + MOST_BESIDES
        ends, page_ends = time.thread_time() + WITHIN_S, _page_ends.get()
        self._ends = ends if page_ends is None else min(ends, page_ends)

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps >= self._clock_at:
            self._clock_at = self.steps + _CLOCK_EVERY
            if self.steps > MOST_STEPS or self.left_s <= 0:
                raise TooMuchWork

    def write(self, characters: int) -> None:
        """So many are about to be written."""
        self._left -= characters
        if self._left < 0:
            raise TooMuchWork

    @property
    def left_s(self) -> float:
        """Of the processor's time."""
        return self._ends - time.thread_time()


@contextmanager
def one_page() -> Iterator[None]:
    """The bodies that are rendered inside the block have PAGE_WITHIN_S together."""
    token = _page_ends.set(time.thread_time() + PAGE_WITHIN_S)
    try:
        yield
    finally:
        _page_ends.reset(token)


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
    parser.helpers = _Helpers  # type: ignore[assignment]  # rules look them up there


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


class _Helpers:
    """The library's, but that the one which looks ahead, from every bracket anew, is counted."""

    parseLinkDestination: Final = staticmethod(helpers.parseLinkDestination)  # noqa: N815  # the library's names
    parseLinkTitle: Final = staticmethod(helpers.parseLinkTitle)  # noqa: N815

    @staticmethod
    def parseLinkLabel(state: StateInline, start: int, disableNested: bool = False) -> int:  # noqa: N802, N803
        """Where the bracket that opens at `start` closes, below zero for nowhere."""
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
