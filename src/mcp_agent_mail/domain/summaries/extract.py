"""Summaries: what a thread says, taken out of its messages by rules, without a model.

Pure functions over messages that the caller may see; who may see what is decided before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.summaries.cue_patterns import POINT
from mcp_agent_mail.domain.summaries.cues import Cue, CueKind, is_small_talk, read_piece
from mcp_agent_mail.domain.summaries.ledger import ActionItem, Ledger
from mcp_agent_mail.domain.summaries.markdown import MarkdownPiece, Section, pieces_of, quoted_lines
from mcp_agent_mail.domain.threads import parse_thread_id

MAX_ENTRIES = 10
"""Of every list of a summary."""
MAX_AGGREGATED = 25
MAX_EXAMPLES = 3
MAX_THREADS = 20
MAX_ENTRY = 240
"""Characters of one entry."""

_CODE_SPAN = lazy_pattern(r"(?<!`)`([^`\n]{1,120})`(?!`)")
_ENDINGS = (
    "py pyi js ts tsx jsx go rs rb java kt c h cpp hpp cs sql sh toml yaml yml json md html css lock cfg ini txt proto"
)
_BARE_CODE = lazy_pattern(
    r"/?(?:[\w.-]{1,64}/){1,12}[\w.-]{0,64}\.[A-Za-z]\w{0,7}(?::\d{1,6})?"
    rf"|[\w-]{{1,64}}(?:\.[\w-]{{1,32}})?\.(?:{_ENDINGS.replace(' ', '|')})(?::\d{{1,6}})?"
    r"|[A-Za-z_][\w.]{0,80}\(\)"
)
"""A path, a file, a call: what is code without being marked as such."""
_AROUND_CODE = ".,;:!?\"'[]{}<>*"
_FENCED = lazy_pattern(r"^\s{0,3}(```|~~~).*?(?:^\s{0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_MENTION = lazy_pattern(r"(?<![\w.@/`+-])@([A-Za-z][\w-]{0,63})(?!\w*[(.]\w)")


class UnfitThreads(InvalidInput):
    """`thread_id` names no thread, or too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """A message as a summary reads it. `sender` is the name as the reader is shown it; the body may be cut.

    `is_tombstone`: its words are gone; it is counted and not read.
    """

    id: MessageId
    sender: str
    subject: str
    body_md: str
    created_ts: Micros
    thread_id: str | None = None
    is_tombstone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMail:
    """The newest messages of a thread, oldest first; `total` counts all of them."""

    thread_id: str
    messages: Sequence[ThreadMessage]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """Lists of at most `MAX_ENTRIES`. An action reads `[ ] Owner: text`, `[x]` when it is done."""

    participants: tuple[str, ...] = ()
    key_points: tuple[str, ...] = ()
    action_items: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    total_messages: int = 0
    open_actions: int = 0
    done_actions: int = 0
    mentions: tuple[tuple[str, int], ...] = ()
    code_references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """What several threads say together."""

    top_mentions: tuple[tuple[str, int], ...]
    key_points: tuple[str, ...]
    action_items: tuple[str, ...]


def parse_thread_ids(text: str) -> str:
    """One thread id, or several with commas between them, each named once."""
    ids = list(dict.fromkeys(parse_thread_id(part) for part in text.split(",") if part.strip()))
    if not 1 <= len(ids) <= MAX_THREADS:
        raise UnfitThreads(
            f"thread_id names {len(ids)} threads; accepted are 1 to {MAX_THREADS}.",
            hint="Use an id like TKT-123, or several with commas between them.",
            data={"parameter": "thread_id", "max": MAX_THREADS},
        )
    return ",".join(ids)


def summarize(messages: Sequence[ThreadMessage], *, total: int | None = None) -> ThreadSummary:
    """The summary of `messages`, which come oldest first. `total` counts the thread's where these are not all."""
    spoken = [message for message in messages if not message.is_tombstone]
    reading = _Reading(names=frozenset(_known_names(spoken)))
    for position, message in enumerate(spoken):
        reading.take(message, position)
    actions = reading.ledger.actions
    return ThreadSummary(
        participants=tuple(_most_active(spoken)),
        key_points=tuple(reading.key_points()),
        action_items=tuple(_shown_action(one) for one in _chosen_actions(actions)),
        open_questions=tuple(cut(one.text) for one in reading.ledger.questions if not one.is_answered)[-MAX_ENTRIES:],
        decisions=tuple(reading.decisions)[-MAX_ENTRIES:],
        total_messages=len(messages) if total is None else total,
        open_actions=sum(not one.is_done for one in actions),
        done_actions=sum(one.is_done for one in actions),
        mentions=tuple(_most(reading.mentions)),
        code_references=tuple(name for name, _ in _most(reading.references)),
    )


def aggregate(summaries: Sequence[ThreadSummary]) -> Aggregate:
    """What the summaries of several threads say together, each thing once, in their order."""
    mentions: Counter[str] = Counter()
    for summary in summaries:
        mentions.update(dict(summary.mentions))
    return Aggregate(
        top_mentions=tuple(_most(mentions)),
        key_points=_once(point for summary in summaries for point in summary.key_points),
        action_items=_once(item for summary in summaries for item in summary.action_items),
    )


def examples_of(messages: Sequence[ThreadMessage]) -> list[ThreadMessage]:
    """The first of the messages and the two newest, each once."""
    return list(messages) if len(messages) <= MAX_EXAMPLES else [messages[0], *messages[1 - MAX_EXAMPLES :]]


def cut(text: str) -> str:
    return text if len(text) <= MAX_ENTRY else f"{text[: MAX_ENTRY - 1].rstrip()}…"


def _once(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries))[:MAX_AGGREGATED]


def _most(counted: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent, those first met first among equals."""
    return counted.most_common(MAX_ENTRIES)


def _known_names(messages: Sequence[ThreadMessage]) -> Iterable[str]:
    for message in messages:
        yield message.sender.partition("@")[0].lower()
        yield from (name.lower() for name in _MENTION.findall(message.body_md))


def _most_active(messages: Sequence[ThreadMessage]) -> list[str]:
    """Who wrote, in the order of their first message; of more than fit, those who wrote most."""
    counted = Counter(message.sender for message in messages)
    kept = {name for name, _ in _most(counted)}
    return [name for name in counted if name in kept]


def _chosen_actions(actions: Sequence[ActionItem]) -> list[ActionItem]:
    """Open ones first, the newest of each where there are too many."""
    waiting = [one for one in actions if not one.is_done][-MAX_ENTRIES:]
    done = [one for one in actions if one.is_done]
    return [*waiting, *done[len(done) - min(len(done), MAX_ENTRIES - len(waiting)) :]]


def _shown_action(action: ActionItem) -> str:
    owner = f"{action.owner}: " if action.owner else ""
    return cut(f"[{'x' if action.is_done else ' '}] {owner}{action.text}")


def _bare_code(prose: str) -> Iterable[str]:
    for word in prose.split():
        if "." in word or "()" in word:
            bare = word.strip(_AROUND_CODE).lstrip("(")
            name = bare.rstrip(".,;:()")
            bare = f"{name}()" if bare.startswith(f"{name}()") else bare.rstrip(".,;:)")
            if _BARE_CODE.fullmatch(bare):
                yield bare


@dataclass(slots=True)
class _Reading:
    """What has been gathered so far."""

    names: frozenset[str]
    ledger: Ledger = field(default_factory=Ledger)
    decisions: dict[str, None] = field(default_factory=dict)
    mentions: Counter[str] = field(default_factory=Counter)
    references: Counter[str] = field(default_factory=Counter)
    _points: list[tuple[int, str]] = field(default_factory=list)
    """(weight, text), in the order met."""

    def take(self, message: ThreadMessage, position: int) -> None:
        prose = (
            _FENCED.sub("\n", message.body_md)
            if "```" in message.body_md or "~~~" in message.body_md
            else message.body_md
        )
        self._count(prose)
        pieces = list(pieces_of(message.body_md))
        if not pieces:
            return
        quotes = quoted_lines(message.body_md) if ">" in message.body_md else ()
        self.ledger.accept(pieces[0].text, message.sender, position)
        self.ledger.hear_reply(pieces[0].text, message.sender, quotes=quotes, message=position, body_md=message.body_md)
        is_first = True
        for piece in pieces:
            cue = read_piece(piece, self.names)
            self._enter(cue, piece, message.sender, position)
            if (
                cue.kind is CueKind.PLAIN
                and is_first
                and len(piece.text) >= _WORTH_SAYING
                and not is_small_talk(piece.text)
            ):
                self._points.append((_OPENING, piece.text))
            is_first = is_first and is_small_talk(piece.text)

    def _enter(self, cue: Cue, piece: MarkdownPiece, sender: str, position: int) -> None:
        if cue.kind is CueKind.QUESTION:
            self.ledger.ask(cue.text, sender, position)
            return
        if cue.kind is CueKind.ACTION:
            self.ledger.add_action(cue, sender, position, is_box=piece.box is not None)
            return
        self.ledger.hear(piece.text, sender)
        if cue.kind is CueKind.DECISION:
            self.decisions[cut(cue.text)] = None
        elif cue.kind is CueKind.DONE:
            self._enter_done(cue, piece, sender, position)
        elif cue.kind is CueKind.POINT:
            self._add_point(cue.text, piece)

    def _add_point(self, text: str, piece: MarkdownPiece) -> None:
        if piece.section is Section.POINTS or ": " in text:
            self._points.append((_LABELLED, text))
        elif len(text) >= _SHORTEST and not is_small_talk(text):
            self._points.append((_CUED, text))

    def _enter_done(self, cue: Cue, piece: MarkdownPiece, sender: str, position: int) -> None:
        is_listed = piece.box is not None or piece.section is Section.DONE
        if is_listed:
            self.ledger.add_action(cue, sender, position, is_box=piece.box is not None)
        elif not self.ledger.report_done(cue.text, cue.owner or sender) or POINT.search(cue.text):
            self._add_point(cue.text, piece)

    def _count(self, prose: str) -> None:
        if "@" in prose:
            self.mentions.update(_MENTION.findall(_CODE_SPAN.sub(" ", prose)))
        if "`" in prose:
            spans = (span.strip() for span in _CODE_SPAN.findall(prose))
            self.references.update(span for span in spans if span)
            prose = _CODE_SPAN.sub(" ", prose)
        self.references.update(_bare_code(prose))

    def key_points(self) -> list[str]:
        """The weightiest, in the order of the thread; how messages open only where little else was found."""
        weights: dict[str, int] = {}
        for weight, text in self._points:
            shown = cut(text)
            weights[shown] = max(weight, weights.get(shown, 0))
        strong = [text for text, weight in weights.items() if weight > _OPENING]
        openings = [text for text, weight in weights.items() if weight == _OPENING]
        chosen = set(openings[: max(0, _FEW_POINTS - len(strong))])
        newest_first = sorted(enumerate(strong), key=lambda at: (-weights[at[1]], -at[0]))
        chosen.update(text for _, text in newest_first[: MAX_ENTRIES - len(chosen)])
        return [text for text in weights if text in chosen]


_OPENING, _CUED, _LABELLED = 1, 2, 3
_FEW_POINTS = 3
_WORTH_SAYING = 25
_SHORTEST = 20
