"""What later mail does to what was asked before: an action is done, a question is answered."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import field

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.summaries.cue_patterns import ACCEPTANCE, ANSWER, BARE_DONE, CHOICE, UNKNOWING
from mcp_agent_mail.domain.summaries.cues import Cue, CueKind

MAX_WATCHED = 200
"""Of actions and of questions: beyond, the oldest settled ones are no longer looked at."""

_ANY_WORD = lazy_pattern(r"\w+")
_WORD = lazy_pattern(r"[^\W_]{3,}")
_STEM = 5
_ENOUGH = 0.5
_ALIKE = 0.6
_TWO = 2
_IT = lazy_pattern(r"\b(?:it|that|this|both)\b[.!,]?", re.IGNORECASE)
_COMMON = frozenset(
    """
    the and for are was were has have had not but you your our with that this these those from they them their what
    when where which who why how does did can could should would will shall may might must need needs please about
    into onto than then there here been being also just still only any all some one two now let get got out its it's
    use used using want wants anyone someone everyone make makes made think know see today tomorrow after before
    """.split()
)


def stems_of(text: str) -> frozenset[str]:
    """The words that carry the meaning, cut so that endings do not matter."""
    words = _WORD.findall(text.lower())
    return frozenset(word[:_STEM] for word in words if word not in _COMMON)


@dataclass(slots=True, kw_only=True, eq=False)
class ActionItem:
    text: str
    owner: str | None
    asker: str
    is_done: bool
    message: int
    stems: frozenset[str]


@dataclass(slots=True, kw_only=True, eq=False)
class OpenQuestion:
    text: str
    key: str
    asker: str
    message: int
    stems: frozenset[str]
    is_answered: bool = False


@dataclass(slots=True)
class Ledger:
    """The actions and questions of a thread, fed message by message, oldest first."""

    actions: list[ActionItem] = field(default_factory=list)
    questions: list[OpenQuestion] = field(default_factory=list)
    _asked_by_stem: dict[str, list[OpenQuestion]] = field(default_factory=lambda: defaultdict(list))
    _action_of: dict[str, ActionItem] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)

    def add_action(self, cue: Cue, sender: str, message: int, *, is_box: bool = False) -> None:
        """Note an action. The same text again is the same action, whose newest state counts; so is, except of
        checkboxes, nearly the same text of the same owner.
        """
        text, is_done = cue.text, cue.kind is CueKind.DONE
        owner = sender if cue.is_mine else cue.owner
        key, stems = _key(text), stems_of(text)
        known = self._action_of.get(key)
        if known is None and not is_box:
            near = self._open_action(stems, owner)
            if near is not None and len(near.stems & stems) >= max(_TWO, _ALIKE * len(stems)):
                known = near
        if known is not None:
            known.is_done = is_done
            known.owner = known.owner or owner
            return
        action = ActionItem(text=text, owner=owner, asker=sender, is_done=is_done, message=message, stems=stems)
        self._action_of[key] = action
        self.actions.append(action)

    def report_done(self, text: str, sender: str) -> bool:
        """Tick what the sender says it finished; False when it was no known action."""
        action = self._open_action(stems_of(text), sender)
        if action is None and (BARE_DONE.match(text) or _IT.search(text)):
            waiting = [one for one in self.actions[-MAX_WATCHED:] if not one.is_done and not _same(one.asker, sender)]
            own = [one for one in self.actions[-MAX_WATCHED:] if not one.is_done and _same(one.owner, sender)]
            chosen = own or [one for one in waiting if one.owner is None]
            action = chosen[0] if len(chosen) == 1 else None
        if action is None:
            return False
        action.is_done = True
        action.owner = action.owner or sender
        return True

    def ask(self, text: str, asker: str, message: int) -> None:
        """Note a question of the thread's message at this position. The same words again, whatever their letter case
        and punctuation, are not a second question, whoever asks them.
        """
        key = _key(text)
        if key in self._asked:
            return
        self._asked.add(key)
        question = OpenQuestion(text=text, key=key, asker=asker, message=message, stems=stems_of(text))
        self.questions.append(question)
        for stem in question.stems:
            self._asked_by_stem[stem].append(question)

    def hear(self, text: str, sender: str) -> None:
        """Mark as answered the questions of others that share most of their words with this statement."""
        if not self.questions:
            return
        shared: Counter[int] = Counter()
        found: dict[int, OpenQuestion] = {}
        for stem in stems_of(text):
            for question in self._asked_by_stem.get(stem, ())[-MAX_WATCHED:]:
                if not question.is_answered and not _same(question.asker, sender):
                    shared[id(question)] += 1
                    found[id(question)] = question
        for key, count in shared.items():
            if count >= _TWO and count >= _ENOUGH * len(found[key].stems):
                self._answer(found[key])

    def accept(self, first: str, sender: str, message: int) -> None:
        """Make the sender the owner of the one open request of the message before that named nobody, if `first` says
        yes to it.
        """
        asked = [one for one in self.actions[-MAX_WATCHED:] if one.message == message - 1 and one.owner is None]
        if len(asked) == 1 and not asked[0].is_done and not _same(asked[0].asker, sender) and ACCEPTANCE.match(first):
            asked[0].owner = sender

    def hear_reply(self, first: str, sender: str, *, quotes: Iterable[str], message: int, body_md: str) -> None:
        """Mark as answered the questions that a message quotes, and the only open one of the message before, unless it
        says that it does not know. `first` is its first sentence.
        """
        open_ones = [one for one in self.questions[-MAX_WATCHED:] if not one.is_answered]
        others = [one for one in open_ones if not _same(one.asker, sender)]
        if not others:
            return
        quoted = {_key(quote) for quote in quotes}
        quoted_text = " ".join(quoted)
        for question in others:
            if question.key in quoted or (len(question.key) > _LONG_ENOUGH and question.key in quoted_text):
                self._answer(question)
        lately = [one for one in others if one.message == message - 1]
        if len(lately) == 1 and _replies_to(lately[0], first, sender) and not UNKNOWING.search(body_md):
            self._answer(lately[0])

    def _answer(self, question: OpenQuestion) -> None:
        if question.is_answered:
            return
        question.is_answered = True
        for stem in question.stems:
            self._asked_by_stem[stem].remove(question)

    def _open_action(self, stems: frozenset[str], owner: str | None) -> ActionItem | None:
        """The open action most of whose words are in `stems`, of this owner or nobody's."""
        best, best_share = None, 0.0
        for action in self.actions[-MAX_WATCHED:]:
            if action.is_done or not action.stems or not (action.owner is None or _same(action.owner, owner)):
                continue
            share = len(action.stems & stems) / len(action.stems)
            if share >= _ENOUGH and share > best_share and (len(action.stems & stems) >= _TWO or share == 1):
                best, best_share = action, share
        return best


_LONG_ENOUGH = 12


def _replies_to(question: OpenQuestion, first: str, sender: str) -> bool:
    """Whether a message that begins so is an answer: a yes or no, one of the ways offered, or the one who was asked."""
    if ANSWER.match(first):
        return True
    if first.rstrip().endswith("?"):
        return False
    asked = question.text.lower()
    if sender.lower() in asked or (asked.startswith("who ") and _SELF.match(first)):
        return True
    return bool(stems_of(first) & question.stems) or CHOICE.search(asked) is not None


_SELF = lazy_pattern(r"(?:I|me)\b")


def _same(left: str | None, right: str | None) -> bool:
    return left is not None and right is not None and left.lower() == right.lower()


def _key(text: str) -> str:
    return " ".join(_ANY_WORD.findall(text.lower())) or text.strip().lower()
