"""What search understands: how text is split for the index, and how a query becomes an index expression.

A query is parsed here and written anew, every word of it in quotes, so that no text of a caller
reaches the index as syntax: the index also holds who may see a message, and no query may ask for that.

    expression = either { OR either }
    either     = both { AND both }          (words side by side: AND, binding tighter than NOT)
    both       = group { NOT group }
    group      = item { item }
    item       = [ column ":" ] ( "(" expression ")" | NEAR "(" phrase { phrase } [ "," number ] ")" | [ "^" ] phrase )
    column     = subject | body | body_md | "{" { name } "}" , each also with "-" before it
    phrase     = word-or-"quoted" { "+" word-or-"quoted" } [ "*" ]

What does not parse is searched as literal words, all of which must be found: `src/app.py`, `it's` and
`(plan` are no mistakes. The length of the text, which the caller bounds, bounds everything here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.messages import Importance

# A prefix costs the index up to 100 ms at 100,000 messages (a whole word: 0.1 ms), parentheses cost stack.
MAX_PREFIXES = 8
MAX_DEPTH = 20
# Within one message the index cannot be interrupted: NEAR of 480 words took a second for each of 100 KB.
MAX_NEAR = 8
MAX_RANKED = 8  # Of its phrases; hits are found by all of them.
_DEFAULT_DISTANCE, _MAX_DISTANCE = 10, 1_000

SUBJECT = "subject"
BODY = "body_md"
ALL_COLUMNS = frozenset({SUBJECT, BODY})
_COLUMN_NAMES = {"subject": SUBJECT, "body": BODY, "body_md": BODY}

# Scripts written without blanks between words: Thai, Lao, Myanmar, Khmer, kana, CJK ideographs, Hangul.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3041-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_EACH_UNSPACED = lazy_pattern(f"([{UNSPACED}])")
_OPERATORS = ("AND", "OR", "NOT")
_ITEM_STARTS, _END = ("word", "quoted", "(", "^", "{", "-"), ("end", "")
_WORD_CHARACTER = re.compile(r"[^\W_]")
_TOKEN = lazy_pattern(r'"(?P<quoted>(?:[^"]|"")*)"|(?P<word>[A-Za-z0-9_\x80-\U0010ffff]+)|(?P<sign>[(){}:,+*^-])|\s+')


def is_unspaced(character: str) -> bool:
    """Is it of a script written without blanks between words?"""
    return _EACH_UNSPACED.fullmatch(character) is not None


def spaced_out(text: str) -> str:
    """`text` with a blank around every character of a script written without blanks.

    The index splits at blanks: so each such character is a word of its own, and any run of them
    is found as a phrase.
    """
    return text if text.isascii() else _EACH_UNSPACED.sub(r" \1 ", text)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand side by side; the last one may be the beginning of a longer word (`is_prefix`)."""

    text: str
    is_prefix: bool = False
    is_initial: bool = False
    columns: frozenset[str] = ALL_COLUMNS


@dataclass(frozen=True, slots=True)
class Near:
    """Phrases within `distance` words of each other."""

    phrases: tuple[Phrase, ...]
    distance: int
    columns: frozenset[str] = ALL_COLUMNS


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Without:
    wanted: Node
    unwanted: Node


Node = Phrase | Near | Either | Both | Without
Columns = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A query that can find something. `expression` finds its hits in the index, `in_subject` those with a word there;
    `phrases` are what hits are ranked by. `bare_words`: words side by side, and nothing else, were asked for.
    `is_literal`: it is none in this syntax, so that its words are looked for. `node` is what was understood.
    """

    expression: str
    in_subject: str
    node: Node
    phrases: tuple[Phrase, ...]
    bare_words: tuple[Phrase, ...] = ()
    is_literal: bool = False


class Order(StrEnum):
    RELEVANCE = "relevance"
    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """For whom is searched. `agent_id` is None for who is no agent; `whole_project`: may read all of its mail.

    `more_projects` are searched along with `project_id`, as a whole: mail of any of them.
    """

    project_id: ProjectId
    agent_id: AgentId | None
    whole_project: bool
    more_projects: tuple[ProjectId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """`participant_id`: sent or got by this agent; a blind copy counts as got when `with_blind`, or for its sender.
    `among`: at most 200 messages. `recipients`: got by one of them. `begin_ts` is in, `end_ts` out.
    """

    participant_id: AgentId | None = None
    with_blind: bool = False
    sender_id: AgentId | None = None
    importance: Importance | None = None
    thread_id: str | None = None
    since_ts: Micros | None = None
    begin_ts: Micros | None = None
    end_ts: Micros | None = None
    senders: tuple[AgentId, ...] | None = None
    recipients: tuple[AgentId, ...] | None = None
    topic: str | None = None
    among: tuple[MessageId, ...] | None = None
    is_system: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message found. `sender_project_*` tell where the sender is at home, `project_id` of which of the projects
    searched it is mail; None for mail of another one that the reader itself got or sent.
    """

    id: MessageId
    subject: str
    importance: Importance
    ack_required: bool
    created_ts: Micros
    thread_id: str | None
    sender_name: str
    sender_project_id: ProjectId
    sender_project_slug: str
    snippet: str
    project_id: ProjectId | None = None


class _NotUnderstood(Exception):
    """The text is no query in the syntax above."""


def read_query(text: str) -> SearchQuery | None:
    """None when there is nothing to look for: a blank query, `*`, or signs without a word."""
    is_literal = False
    try:
        tokens = _tokens(text)
        node, is_bare = _Parser(tokens).parse(), all(kind == "word" for kind, _ in tokens)
    except _NotUnderstood:
        node, is_bare, is_literal = _literal_words(text), '"' not in text, True
    if node is None:
        return None
    expression, phrases = _written(node), tuple(dict.fromkeys(_ranked_by(node)))[:MAX_RANKED]
    in_subject = " OR ".join(f"{SUBJECT} : {_quoted(phrase)}" for phrase in phrases)
    return SearchQuery(
        expression=expression,
        in_subject=f"({expression}) AND ({in_subject})",
        node=node,
        phrases=phrases,
        bare_words=tuple(dict.fromkeys(_ranked_by(node))) if is_bare else (),
        is_literal=is_literal,
    )


def _literal_words(text: str) -> Node | None:
    words = dict.fromkeys(word for word in text.replace('"', " ").split() if _WORD_CHARACTER.search(word))
    return _joined(Both, [Phrase(word) for word in words])


def _joined(kind: type[Both | Either], parts: Sequence[Node | None]) -> Node | None:
    """Parts without any word ask for nothing and drop out."""
    kept = tuple(part for part in parts if part is not None)
    return kept[0] if len(kept) == 1 else kind(kept) if kept else None


def _tokens(text: str) -> list[tuple[str, str]]:
    """Pairs of kind and text; the kind is `quoted`, `word`, an operator or a sign."""
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _NotUnderstood
        position = match.end()
        if match.lastgroup == "sign" or match["word"] in _OPERATORS:
            tokens.append((match[0], match[0]))
        elif match.lastgroup == "word":
            tokens.append(("word", match[0]))
        elif match.lastgroup == "quoted":
            tokens.append(("quoted", match["quoted"].replace('""', '"')))
    return tokens


class _Parser:
    """Recursive descent over the grammar at the top; methods give None for parts without any word."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = [*tokens, _END, _END]
        self._at = 0
        self._depth = 0
        self._prefixes = 0

    def parse(self) -> Node | None:
        node = self._expression(ALL_COLUMNS)
        self._require(_END[0])
        return node

    def _kind(self, ahead: int = 0) -> str:
        return self._tokens[self._at + ahead][0]

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _accept(self, kind: str) -> bool:
        if self._kind() != kind:
            return False
        self._at += 1
        return True

    def _require(self, kind: str) -> None:
        if not self._accept(kind):
            raise _NotUnderstood

    def _chain(self, part: Callable[[Columns], Node | None], between: str, columns: Columns) -> list[Node | None]:
        parts = [part(columns)]
        while self._accept(between):
            parts.append(part(columns))
        return parts

    def _expression(self, columns: Columns) -> Node | None:
        return _joined(Either, self._chain(self._either, "OR", columns))

    def _either(self, columns: Columns) -> Node | None:
        return _joined(Both, self._chain(self._both, "AND", columns))

    def _both(self, columns: Columns) -> Node | None:
        wanted, *others = self._chain(self._group, "NOT", columns)
        unwanted = _joined(Either, others)  # As one: the index's parser has a place for each NOT inside of another.
        return wanted if wanted is None or unwanted is None else Without(wanted, unwanted)

    def _group(self, columns: Columns) -> Node | None:
        items = [self._item(columns)]
        while self._kind() in _ITEM_STARTS:
            items.append(self._item(columns))
        return _joined(Both, items)

    def _item(self, columns: Columns) -> Node | None:
        columns = self._columns(columns)
        if self._accept("("):
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise _NotUnderstood
            node = self._expression(columns)
            self._require(")")
            self._depth -= 1
            return node
        if self._kind() == "word" and self._tokens[self._at][1] == "NEAR" and self._kind(1) == "(":
            return self._near(columns)
        is_initial = self._accept("^")
        return self._phrase(columns, is_initial=is_initial)

    def _columns(self, columns: Columns) -> Columns:
        """The columns that what follows is looked for in."""
        excluded = self._accept("-")
        if self._kind() in ("word", "quoted") and self._kind(1) == ":":
            names = [self._take()]
        elif self._accept("{"):
            names = []
            while self._kind() in ("word", "quoted"):
                names.append(self._take())
            self._require("}")
        elif excluded:
            raise _NotUnderstood
        else:
            return columns
        self._require(":")
        if not names or any(name.lower() not in _COLUMN_NAMES for name in names):
            raise _NotUnderstood
        named = frozenset(_COLUMN_NAMES[name.lower()] for name in names)
        kept = columns - named if excluded else columns & named
        if not kept:
            raise _NotUnderstood
        return kept

    def _phrase(self, columns: Columns, *, is_initial: bool = False) -> Phrase | None:
        texts: list[str] = []
        while not texts or self._accept("+"):
            if self._kind() not in ("word", "quoted"):
                raise _NotUnderstood
            texts.append(self._take())
        is_prefix = self._accept("*")
        self._prefixes += is_prefix
        if self._prefixes > MAX_PREFIXES:
            raise _NotUnderstood
        text = " ".join(texts)
        if not _WORD_CHARACTER.search(text):
            return None
        return Phrase(text, is_prefix=is_prefix, is_initial=is_initial, columns=columns)

    def _near(self, columns: Columns) -> Node | None:
        self._at += 2
        phrases = [self._phrase(columns)]
        while self._kind() in ("word", "quoted"):
            phrases.append(self._phrase(columns))
        if len(phrases) > MAX_NEAR:
            raise _NotUnderstood
        distance = _DEFAULT_DISTANCE
        if self._accept(","):
            number = self._take()
            if not re.fullmatch(r"[0-9]{1,9}", number):
                raise _NotUnderstood
            distance = min(int(number), _MAX_DISTANCE)
        self._require(")")
        kept = tuple(phrase for phrase in phrases if phrase is not None)
        return Near(kept, distance, columns) if kept else None


def _written(node: Node) -> str:
    """The expression for the index. Everything a caller wrote stands in quotes."""
    match node:
        case Phrase():
            return written_phrase(node)
        case Near():
            return f"{_filter(node.columns)} : NEAR({' '.join(map(_quoted, node.phrases))}, {node.distance})"
        case Without():
            return f"(({_written(node.wanted)}) NOT ({_written(node.unwanted)}))"
        case Either() | Both():
            between = " OR " if isinstance(node, Either) else " AND "
            return f"({between.join(map(_written, node.parts))})"


def written_phrase(phrase: Phrase) -> str:
    return f"{_filter(phrase.columns)} : {'^ ' if phrase.is_initial else ''}{_quoted(phrase)}"


def _filter(columns: frozenset[str]) -> str:
    return f"{{{' '.join(sorted(columns))}}}"


def _quoted(phrase: Phrase) -> str:
    text = spaced_out(phrase.text).replace("\0", " ").replace('"', '""')
    return f'"{text}" *' if phrase.is_prefix else f'"{text}"'


def _ranked_by(node: Node) -> list[Phrase]:
    match node:
        case Phrase():
            return [node]
        case Near():
            return list(node.phrases)
        case Without():
            return _ranked_by(node.wanted)
        case Either() | Both():
            return [phrase for part in node.parts for phrase in _ranked_by(part)]
