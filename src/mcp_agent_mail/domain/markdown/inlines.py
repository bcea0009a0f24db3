"""Where images stand in the text of one paragraph or heading: code, HTML and links count as CommonMark says."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.markdown.links import LinkTarget, label_key, read_inline, read_label
from mcp_agent_mail.domain.markdown.steps import Steps

_SPECIAL = lazy_pattern(r"[\\`<!\[\]]")
_TICKS = lazy_pattern(r"`++")
_NAME = r"[A-Za-z_:][A-Za-z0-9_.:-]*+"
_VALUE = r"""(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+")"""
TAG = (
    rf"<[A-Za-z][A-Za-z0-9-]*+(?>(?:\s++{_NAME}(?:\s*+=\s*+{_VALUE}|(?!\s*+=)))*)\s*+/?+>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*+>"
)
"""An HTML tag, opening or closing, as a regular expression; its blanks are those of ASCII."""
_TAG = lazy_pattern(TAG, re.ASCII)
_LINK = lazy_pattern(
    r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\x00-\x20<>]*+|[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]++@"
    r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*)>"
)
_DECLARATION = lazy_pattern(r"<![A-Za-z]")
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@dataclass(frozen=True, slots=True)
class InlineImage:
    """An image: where it begins, and its destination, or by which label a definition has it."""

    start: int
    target: LinkTarget | None
    label: str | None


@dataclass(slots=True)
class _Bracket:
    at: int
    is_image: bool
    is_followed: bool = False
    """Another bracket opens after it: what is between it and its end is no label."""


class InlineImages:
    """The images of one text, in their order; not those inside of an image's own text, which nobody sees.
    Raises TooManySteps.
    """

    def __init__(self, text: str, begin: int, labels: Container[str], steps: Steps | None = None) -> None:
        self._text = text
        self._steps = steps or Steps()
        self._labels = labels
        self._brackets: list[_Bracket] = []
        self._past_links = 0
        """So many of the open brackets are of no link: one has ended inside them."""
        self._ticks: dict[int, list[int]] = {}
        for run in _TICKS.finditer(text, begin):
            self._steps.take()
            self._ticks.setdefault(len(run[0]), []).append(run.start())
        self._unended: set[str] = set()
        self.found: list[InlineImage] = []
        at = begin
        while special := _SPECIAL.search(text, at):
            self._steps.take()
            at = self._step(special[0], special.start())

    def _step(self, mark: str, at: int) -> int:
        """Look at the special character there; where to go on."""
        if mark == "\\":
            return at + 2 if self._text[at + 1 : at + 2] in _ESCAPABLE else at + 1
        if mark == "`":
            return self._after_code(at)
        if mark == "<":
            return self._after_html(at)
        if mark == "]":
            return self._close(at)
        is_image = mark == "!"
        if is_image and not self._text.startswith("[", at + 1):
            return at + 1
        if self._brackets:
            self._brackets[-1].is_followed = True
        self._brackets.append(_Bracket(at, is_image))
        return at + 1 + is_image

    def _after_code(self, at: int) -> int:
        end = _TICKS.match(self._text, at).end()  # type: ignore[union-attr]  # there is one at least
        same = self._ticks.get(end - at, [])
        closing = bisect_left(same, end)
        return same[closing] + end - at if closing < len(same) else end

    def _after_html(self, at: int) -> int:
        text = self._text
        if found := _LINK.match(text, at) or _TAG.match(text, at):
            return found.end()
        if text.startswith("<!--", at):
            return self._after("-->", at, 2)
        if text.startswith("<?", at):
            return self._after("?>", at, 2)
        if text.startswith("<![CDATA[", at):
            return self._after("]]>", at, 9)
        return self._after(">", at, 2) if _DECLARATION.match(text, at) else at + 1

    def _after(self, ending: str, at: int, skipped: int) -> int:
        """What has no ending once has none later: it is looked for once."""
        if ending in self._unended:
            return at + 1
        end = self._text.find(ending, at + skipped)
        if end < 0:
            self._unended.add(ending)
            return at + 1
        return end + len(ending)

    def _close(self, at: int) -> int:
        if not self._brackets:
            return at + 1
        bracket = self._brackets.pop()
        is_past = len(self._brackets) < self._past_links
        self._past_links = min(self._past_links, len(self._brackets))
        if is_past and not bracket.is_image:
            return at + 1
        image = self._inline(bracket, at) or self._reference(bracket, at)
        if image is None:
            return at + 1
        found, end = image
        if bracket.is_image:
            while self.found and self.found[-1].start > bracket.at:
                self.found.pop()
            self.found.append(found)
        else:
            self._past_links = len(self._brackets)
        return end

    def _inline(self, bracket: _Bracket, at: int) -> tuple[InlineImage, int] | None:
        target = read_inline(self._text, at + 1, self._steps)
        return None if target is None else (InlineImage(bracket.at, target, None), target.after)

    def _reference(self, bracket: _Bracket, at: int) -> tuple[InlineImage, int] | None:
        """`[text][label]`, `[label][]` or `[label]`; a label that nothing defines is not tried in another way."""
        label, end = read_label(self._text, at + 1), at + 1
        if label is not None:
            end = label.end()
        if label is not None and label[1]:
            key = label_key(label[1])
        elif bracket.is_followed:
            return None
        else:
            key = label_key(self._text[bracket.at + 1 + bracket.is_image : at])
        return (InlineImage(bracket.at, None, key), end) if key in self._labels else None
