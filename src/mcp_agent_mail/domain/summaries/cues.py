"""What one sentence of a message is: a decision, a question, something to do or done, a point, or nothing of these."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import StrEnum

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.summaries.cue_patterns import (
    COURTESY,
    DECIDED,
    DONE_WORK,
    INTERJECTION,
    MINE,
    NEGATED,
    OPEN_MATTER,
    PLEASANT_QUESTION,
    POINT,
    REQUEST,
    SMALL_TALK,
    UNDECIDED,
)
from mcp_agent_mail.domain.summaries.markdown import MarkdownPiece, Section


class CueKind(StrEnum):
    DECISION = "decision"
    QUESTION = "question"
    ACTION = "action"
    DONE = "done"
    POINT = "point"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """What a sentence is, its text less the label, and of an action whose it is, if that is said.

    `is_mine`: the sender speaks of itself.
    """

    kind: CueKind
    text: str
    owner: str | None = None
    is_mine: bool = False


_LABELS = {
    CueKind.DECISION: "decision decided agreed resolution resolved outcome settled verdict conclusion",
    CueKind.QUESTION: "q question open-question",
    CueKind.ACTION: "todo action ai action-item task next next-step next-steps follow-up followup fixme request ask",
    CueKind.DONE: "done completed finished fixed shipped",
    CueKind.POINT: "note important fyi finding result status update summary root-cause cause blocker blocked risk "
    "warning caveat heads-up reason context problem issue background deadline measured impact constraint tl;dr key",
}
_KIND_OF_LABEL = {label: kind for kind, labels in _LABELS.items() for label in labels.split()}
_LABEL = lazy_pattern(
    r"([A-Za-z][A-Za-z;-]{0,12}(?: [A-Za-z]{1,12})?)(?: ?\d{1,2})?(?: ?[(\[]@?([\w.-]{1,64})[)\]])?: +(?=\S)"
)
_NAMED = lazy_pattern(r"@?([A-Za-z][\w-]{0,63})(?:@[\w./-]{1,80})?(?: ?[:,]| -+| —) +(?=\S)")
_PROMISE = lazy_pattern(
    r"^(?:(?:so|then|ok|okay|good|sure|yes|and)[, ]+){0,2}I(?:'ll| will| am going to|'m going to|'m taking| can)\s+",
    re.IGNORECASE,
)
_ADDRESSED = lazy_pattern(r"@([A-Za-z][\w-]{0,63}) (?=(?:please|can|could|would|will) )")
_NAME = r"@?([A-Za-z][\w-]{0,63})"
_OWNER_VERB = lazy_pattern(
    _NAME + r"(?:@[\w./-]{1,80})? (?:will|to|should|must|can|shall|is going to|is to|needs to|takes|owns|has to)\b"
)
_OWNER_AT_END = lazy_pattern(
    r" ?(?:[(\[](?:owner: ?)?@?([A-Za-z][\w-]{0,63})[)\]]|(?:—|-+>?|owner:) ?@([A-Za-z][\w-]{0,63}))\.?$"
)
_YOU = frozenset(
    "you someone somebody anyone we i it this that they he she there please which what who all everyone both".split()
)


def read_piece(piece: MarkdownPiece, names: Collection[str]) -> Cue:
    """What the piece is. `names` are the agents known to the thread, in lower case."""
    if piece.box is not None:
        return _owned(CueKind.DONE if piece.box else CueKind.ACTION, piece.text, names)
    labelled = _labelled(piece.text, names)
    if labelled is not None:
        return labelled
    if piece.section is not Section.NONE:
        return _of_section(piece, names)
    return _sentence(piece.text, names)


_OF_SECTION = {
    Section.DECISIONS: CueKind.DECISION,
    Section.QUESTIONS: CueKind.QUESTION,
    Section.POINTS: CueKind.POINT,
    Section.ACTIONS: CueKind.ACTION,
    Section.DONE: CueKind.DONE,
}


def _of_section(piece: MarkdownPiece, names: Collection[str]) -> Cue:
    kind = _OF_SECTION[piece.section]
    if kind in (CueKind.ACTION, CueKind.DONE):
        return _owned(kind, piece.text, names)
    return Cue(kind=kind, text=piece.text)


def _labelled(text: str, names: Collection[str]) -> Cue | None:
    match = _LABEL.match(text)
    if match is None:
        return None
    kind = _KIND_OF_LABEL.get(match[1].lower().replace(" ", "-"))
    if kind is None:
        return None
    rest = text[match.end() :]
    if kind in (CueKind.ACTION, CueKind.DONE):
        owner = match[2]
        return Cue(kind=kind, text=rest, owner=owner) if owner else _owned(kind, rest, names)
    return Cue(kind=kind, text=text if kind is CueKind.POINT else rest)


def _owned(kind: CueKind, text: str, names: Collection[str]) -> Cue:
    """An action whose owner, if its text names one, is taken out of the text where that leaves a sentence."""
    if (end := _OWNER_AT_END.search(text)) and _is_name(owner := end[1] or end[2], text[end.start() :], names):
        return Cue(kind=kind, text=text[: end.start()].rstrip(), owner=owner)
    if (start := _NAMED.match(text)) and _is_name(start[1], start[0], names):
        return Cue(kind=kind, text=text[start.end() :], owner=start[1])
    if (verb := _OWNER_VERB.match(text)) and _is_name(verb[1], verb[0], names):
        return Cue(kind=kind, text=text[verb.end() :].lstrip(), owner=verb[1])
    return Cue(kind=kind, text=text, is_mine=MINE.search(text) is not None)


def _is_name(word: str, written: str, names: Collection[str]) -> bool:
    """An agent known here, or a word that is marked as one by `@`."""
    return word.lower() not in _YOU and (word.lower() in names or "@" in written)


def _sentence(text: str, names: Collection[str]) -> Cue:
    if (bare := INTERJECTION.sub("", text)) and SMALL_TALK.match(text) is None:
        text = bare
    task = _task(text, names)
    if task is not None:
        return task
    kind = _kind_of(text)
    if kind is CueKind.ACTION:
        text = _PROMISE.sub("", text)
    return Cue(kind=kind, text=text, is_mine=kind in (CueKind.ACTION, CueKind.DONE))


def _kind_of(text: str) -> CueKind:
    """The first that fits: what a sentence asks weighs more than what it says."""
    return next((kind for kind, fits in _FITTING.items() if fits(text)), CueKind.PLAIN)


def _is_done_work(text: str) -> bool:
    done = DONE_WORK.search(text)
    return done is not None and NEGATED.search(text[: done.end()]) is None


_QUESTION_ENDS = ("\uff1f", *(f"?{after}" for after in ("", '"', "'", ")", "*", "_", "`", '")')))
_FITTING: dict[CueKind, Callable[[str], bool]] = {
    CueKind.PLAIN: lambda text: PLEASANT_QUESTION.match(text) is not None,
    CueKind.QUESTION: lambda text: text.endswith(_QUESTION_ENDS) or OPEN_MATTER.search(text) is not None,
    CueKind.DECISION: lambda text: DECIDED.search(text) is not None and UNDECIDED.search(text) is None,
    CueKind.DONE: _is_done_work,
    CueKind.ACTION: lambda text: ("I" in text or "et me" in text) and MINE.search(text) is not None,
    CueKind.POINT: lambda text: POINT.search(text) is not None and SMALL_TALK.match(text) is None,
}


def _task(text: str, names: Collection[str]) -> Cue | None:
    """A request, or what the sentence gives a named agent to do."""
    named = _NAMED.match(text)
    owner, rest = None, text
    if named is None:
        named = _ADDRESSED.match(text)
    if named is not None and _is_name(named[1], named[0], names):
        owner, rest = named[1], text[named.end() :]
    if REQUEST.search(rest):
        if COURTESY.search(rest):
            return None
        return Cue(kind=CueKind.ACTION, text=rest, owner=owner)
    if (verb := _OWNER_VERB.match(rest)) and _is_name(verb[1], verb[0], names) and not rest.endswith("?"):
        return Cue(kind=CueKind.ACTION, text=rest[verb.end() :].lstrip(), owner=verb[1])
    return None


def is_small_talk(text: str) -> bool:
    return SMALL_TALK.match(text) is not None
