"""What a secret looks like in mail that is given away, and what stands in its place.

Each form is looked for in the text as it is, and without what Markdown and invisible characters put between its parts.
It finds forms, not meanings: a password told in a sentence of one's own is not one of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mcp_agent_mail.features.sharing.secret_forms import SECRET_FORMS, SecretForm

REDACTED = "REDACTED"
"""In place of a secret: letters alone, so that links and code around it stay what they are."""

HOME = "~"
_CLOSING = ")]}>,.;:!?|\"'`"
_QUOTES = ('"""', "'''", "``", '"', "'", "`")
_UNSEEN = "\u00ad\u034f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
_PASSED_OVER = (
    None,
    re.compile(f"[{_UNSEEN}]"),
    re.compile(rf"[*~`\\{_UNSEEN}]"),
    # An underscore opens emphasis where it follows a mark; many keys hold some of their own.
    re.compile(rf"[*~`\\{_UNSEEN}]|(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])"),
    # Of a link its words alone.
    re.compile(rf"[*~`\\\[{_UNSEEN}]|\]\([^)\s]{{0,500}}\)"),
)
"""What is thought away, look by look."""

_SLASH = r"(?:\\?/|%2[fF])"
# Where a path begins: behind no other path or address, but behind an option of a letter, a scheme and an escape.
_BEGINS = (
    r"(?=[\\/%])(?:(?<![\w.~/\\-])|(?<=[Ff]ile://)|(?<=[Ff]ile:/)|(?<=[Ff]ile://localhost)|(?<=://file)|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2})"
    r"|(?<=[\s\"'`=(,]-[A-Za-z])|(?<=^-[A-Za-z]))"
)
_ABOVE = (
    rf"(?:{_SLASH}(?:var|usr|export|private|host|System/Volumes/Data|(?:(?:mnt|cygdrive|host_mnt){_SLASH})?[a-z]))?"
)
_NAME = r"(?:[^/\s\"'`<>\\%&]|%(?!2[fF]|5[cC])){1,64}"
_HOMES = re.compile(
    rf"{_BEGINS}{_ABOVE}{_SLASH}(?:(?:home|Users){_SLASH}{_NAME}|r(?:oot)(?![\w-]))"
    rf"|[A-Za-z](?::|%3[aA])(?:\\+|/|%5[cC]|{_SLASH})Users(?:\\+|/|%5[cC]|{_SLASH}){_NAME}"
    rf"|(?<!\\)\\\\++wsl(?:\$|\.localhost)\\+[^\\\s]{{1,40}}\\+home\\+{_NAME}"
)


_BETWEEN = re.compile(f"(?<=[!-~])[{_UNSEEN}]+(?=[!-~])")


def without_unseen(text: str) -> str:
    """`text` without characters that have no shape, where they stand between letters of ASCII: words of other scripts,
    and emoji, need theirs.
    """
    return text if text.isascii() else _BETWEEN.sub("", text)


_SLUGS = re.compile(r"(?<![\w-])(?:(?<=@)[a-z0-9]+|[a-z0-9]+(?:-+[a-z0-9]+)+)(?![\w-])")
"""Words that may be a project's slug. One without a dash is a word like others, but behind an agent's name."""


_PATH_MARKS = ("/", "\\", "%2F", "%2f", "%5C", "%5c")


class Redactor:
    """`paths` are directories of this machine and `slugs` those of its projects, with what is said in place of each. It
    counts what it replaces.
    """

    def __init__(self, paths: Mapping[str, str], slugs: Mapping[str, str] | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._slugs = slugs or {}
        self._paths = [
            (_path(path), path.rstrip("/").rpartition("/")[2], name)
            for path, name in sorted(paths.items(), key=lambda one: len(one[0]), reverse=True)
            if path.strip("/")
        ]

    def text(self, text: str, *, known: Iterable[str] = (), is_counted: bool = True) -> str:
        """`text` without secrets, those that are `known` among them, and without directories of this machine. Again on
        its own answer it changes nothing.
        """
        shown = text
        for turn in range(3):
            said = () if turn else _said(known, text)
            spans = _merged((*_all_spans(shown), *said))
            if not spans:
                break
            if is_counted:
                self.counts.update(kind for _, _, kind in spans)
            shown = _replaced(shown, spans)
        return self._without_places(shown)

    def secrets(self, text: str) -> set[str]:
        """What `text()` takes for secrets, each as it stands there and as each look at it sees it."""
        found: set[str] = set()
        shown = text
        for _ in range(3):
            spans = _merged(_all_spans(shown))
            told = {shown[begin:end] for begin, end, _ in spans}
            found |= {_without(one, passed) for one in told for passed in _PASSED_OVER}
            shown = _replaced(shown, spans)
        return found

    def finds(self, text: str) -> bool:
        """Whether `text` still holds what `text()` takes away."""
        return next(_all_spans(text), None) is not None or self._without_places(text) != text

    def _without_places(self, text: str) -> str:
        if "-" in text or "@" in text:
            text = _SLUGS.sub(lambda found: self._slugs.get(found[0], found[0]), text)
        if not any(mark in text for mark in _PATH_MARKS):
            return text
        for pattern, last, name in self._paths:
            if last in text:
                text = pattern.sub(lambda _, name=name: name, text)  # type: ignore[misc]  # a default binds it
        return _HOMES.sub(HOME, text)


def _path(path: str) -> re.Pattern[str]:
    """Of a directory, as in a shell, in JSON and in an address."""
    parts = _SLASH.join(re.escape(part) for part in path.split("/"))
    return re.compile(rf"(?:(?<=/)|{_BEGINS}){parts}(?![\w-])")


_Span = tuple[int, int, str]
_SHORT = 6
_WORD = re.compile(r"\S+")


def _said(known: Iterable[str], text: str) -> Iterator[_Span]:
    """Where in `text` one of those is, however its parts are spaced; a short one where it is a word."""
    parts = {" ".join(part.split()) for secret in known for part in secret.split(REDACTED)} - {""}
    if not parts:
        return
    spaced, places = _spaced_once(text)
    for part in parts:
        is_short = len(part) - part.count(" ") < _SHORT
        at = spaced.find(part)
        while at >= 0:
            end = at + len(part)
            is_taken = not is_short or not (_is_in_word(spaced, at - 1) or _is_in_word(spaced, end))
            if is_taken:
                yield places[at], places[end - 1] + 1, "known"
            at = spaced.find(part, end if is_taken else at + 1)


def _spaced_once(text: str) -> tuple[str, list[int]]:
    """With one blank for all space between two words, and where in `text` each character stands."""
    places: list[int] = []
    words: list[str] = []
    for word in _WORD.finditer(text):
        if words:
            places.append(word.start() - 1)
        words.append(word[0])
        places.extend(range(*word.span()))
    return " ".join(words), places


def _is_in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def _by_marks(forms: Iterable[SecretForm]) -> Mapping[str, Sequence[tuple[str, SecretForm]]]:
    """Needles with what they are of, by a mark that they hold: where a text lacks it, it lacks all of these."""
    found: dict[str, list[tuple[str, SecretForm]]] = {}
    for form in forms:
        for needle in form.needles:
            mark = next((one for one in _MARKS if one in needle), "")
            found.setdefault(mark, []).append((needle, form))
    return found


_MARKS = "_-./:"
_EXACT = _by_marks(form for form in SECRET_FORMS if not form.is_any_case)
_ANY_CASE = _by_marks(form for form in SECRET_FORMS if form.is_any_case)


def _all_spans(text: str) -> Iterator[_Span]:
    """Where in `text` secrets stand, by each look at it that shows something else."""
    shown: set[str] = set()
    for passed in _PASSED_OVER:
        seen = _without(text, passed)
        if seen not in shown:
            shown.add(seen)
            yield from _moved(_spans(seen), text, passed)


def _without(text: str, passed: re.Pattern[str] | None) -> str:
    return text if passed is None else passed.sub("", text)


def _moved(spans: Iterable[_Span], text: str, passed: re.Pattern[str] | None) -> Iterator[_Span]:
    """From what was seen without what `passed` matches to places in `text`."""
    if passed is None:
        yield from spans
        return
    places: list[int] = []
    for begin, end, kind in spans:
        places = places or _places(text, passed)
        yield places[begin], places[end - 1] + 1, kind


def _spans(seen: str) -> Iterator[_Span]:
    lowered = seen.lower()
    is_ascii = seen.isascii()
    for form in (*_possible(_EXACT, seen), *_possible(_ANY_CASE, lowered)):
        pattern = form.pattern_of_ascii if is_ascii else form.pattern
        for match in pattern.finditer(lowered if is_ascii and form.is_any_case else seen):
            begin, end = _secret_of(match)
            if begin < end and seen[begin:end].strip("\"'`") != REDACTED:
                yield begin, end, form.kind


def _possible(needles: Mapping[str, Sequence[tuple[str, SecretForm]]], text: str) -> Iterable[SecretForm]:
    """Forms of which `text` has a needle, each once and in their order."""
    return {form: None for mark, those in needles.items() if mark in text for needle, form in those if needle in text}


def _places(text: str, passed: re.Pattern[str]) -> list[int]:
    """The places of the characters that stay."""
    kept: list[int] = []
    at = 0
    for match in passed.finditer(text):
        kept.extend(range(at, match.start()))
        at = match.end()
    kept.extend(range(at, len(text)))
    return kept


def _secret_of(match: re.Match[str]) -> tuple[int, int]:
    """Of `secret` without what closes a sentence, a link or a cell behind it, and within its quotes; of another group
    all.
    """
    if match.lastgroup != "secret":
        return match.span(match.lastgroup or 0)
    begin, end = match.span("secret")
    said = match["secret"]
    for marks in _QUOTES:
        if len(said) > 2 * len(marks) and said.startswith(marks) and said.endswith(marks):
            return begin + len(marks), end - len(marks)
    is_joined = match.groupdict().get("joined") is not None
    return begin, end if is_joined else begin + len(said.rstrip(_CLOSING))


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for begin, end, kind in sorted(spans):
        if merged and begin < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), known)
        else:
            merged.append((begin, end, kind))
    return merged


def _replaced(text: str, spans: Iterable[_Span]) -> str:
    parts: list[str] = []
    at = 0
    for begin, end, _ in spans:
        parts += (text[at:begin], REDACTED)
        at = end
    return "".join((*parts, text[at:]))
