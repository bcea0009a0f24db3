"""What a secret looks like in mail that is given away, and what stands in its place.

Each form is looked for in the text as it is, and without what Markdown and invisible characters put between its parts.
It finds forms, not meanings: a password told in a sentence of one's own is not one of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_agent_mail.core.ids import TOKEN_PREFIXES

REDACTED = "REDACTED"
"""In place of a secret: letters alone, so that links and code around it stay what they are."""

HOME = "~"
_NAMED = (
    r"(?:passw(?:or)?d|passphrase|passwd|pwd|secret|token(?!s\b)|credential|cookie|dsn|session[_ -]?id|otp"
    r"|(?:api|access|private|secret|account|auth|encryption|signing|shared|master|license|service)[_ -]?key"
    r"|connection[_ -]?string)"
)
_QUOTED = r'"(?:[^"\\\n]|\\.){1,2000}"|' + r"'(?:[^'\\\n]|\\.){1,2000}'|`[^`\n]{1,2000}`"
_VALUE = rf"(?=[*_~]{{0,4}}[^\s*_~])(?P<secret>{_QUOTED}|\S{{1,4000}})"
_CLOSING = ")]}>,.;:!?|\"'`"


@dataclass(frozen=True, slots=True)
class SecretForm:
    """`needles`: without any of them a text has none. What is replaced is the group `secret`, or all.

    A form that `is_any_case` is written in small letters, and `pattern_of_ascii` is for ASCII in small letters: to
    ignore case takes twice as long. It begins with letters, or with a class of few, and looks back behind them, so
    that a text is passed over quickly.
    """

    kind: str
    needles: tuple[str, ...]
    is_any_case: bool
    pattern: re.Pattern[str]
    pattern_of_ascii: re.Pattern[str]


def _form(kind: str, *needles: str, form: str) -> SecretForm:
    exact = re.compile(form)
    return SecretForm(kind, needles, is_any_case=False, pattern=exact, pattern_of_ascii=exact)


def _in_any_case(kind: str, *needles: str, form: str) -> SecretForm:
    return SecretForm(
        kind,
        needles,
        is_any_case=True,
        pattern=re.compile(form, re.IGNORECASE),
        pattern_of_ascii=re.compile(form),
    )


def _key(*needles: str, form: str) -> SecretForm:
    return _form("provider key", *needles, form=form)


SECRET_FORMS = (
    _form(
        "private key",
        "PRIVATE KEY",
        "-Key-File",
        form=(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[\s\S]{0,20000}?-----END [^-\n]{0,60}-----|[\s\S]{0,20000})"
            r"|PuTTY-User-Key-File-\d[\s\S]{0,20000}"
        ),
    ),
    _form("jwt", "eyJ", form=r"eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*){0,3}"),
    _in_any_case(
        "password in a URL",
        "@",
        form=r"[a-z][a-z0-9+.-]{1,20}://(?:[^\s/?#@:]{0,200}:(?P<secret>[^\s/]{1,500})|[^\s/?#@:]{16,500})@",
    ),
    _in_any_case(
        "webhook",
        "hooks.slack.com",
        "/api/webhooks/",
        "webhook.office.com",
        form=(
            r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
            r"|webhook\.office\.com)/(?P<secret>[^\s\"'`<>)]{8,})"
        ),
    ),
    _form(
        "token of this program", *TOKEN_PREFIXES, form=rf"(?:{'|'.join(map(re.escape, TOKEN_PREFIXES))})[\w-]{{12,}}"
    ),
    _key("sk-", form=r"sk-(?<![A-Za-z0-9]sk-)[\w-]{16,}"),
    _key("_live_", "_test_", form=r"[srp]k_(?<![A-Za-z0-9][srp]k_)(?:live|test)_\w{8,}"),
    _key("whsec_", form=r"whsec_[\w+/=-]{12,}"),
    _key("ghp_", "gho_", "ghu_", "ghs_", "ghr_", form=r"gh[pousr]_\w{16,}"),
    _key("github_pat_", form=r"github_pat_\w{16,}"),
    _key("gl", form=r"gl(?:pat|dt|ptt|rt|rtr|soat|cbt|ft|imt|agent|oas|ffct)-[\w.-]{12,}"),
    _key("xox", "xapp-", form=r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{8,}"),
    _key("AKIA", "ASIA", "ABIA", "ACCA", form=r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"),
    _key("AIza", form=r"AIza[\w-]{28,}"),
    _key("ya29.", "GOCSPX-", "1//0", form=r"(?:ya29\.|GOCSPX-|1//0)[\w-]{16,}"),
    *(
        _key(prefix, form=rf"{prefix}(?<![A-Za-z0-9]{prefix})\w{{16,}}")
        for prefix in ("npm_", "hf_", "gsk_", "xai-", "r8_", "pplx-")
    ),
    _key("pypi-", "testpypi-", form=r"pypi-[\w-]{16,}"),
    _key("dckr_", "doo_v1_", "dop_v1_", "dor_v1_", form=r"(?:dckr_(?:pat|oat)_|do[opr]_v1_)[\w-]{16,}"),
    _key("SG.", form=r"SG\.[\w-]{12,}\.[\w-]{12,}"),
    _key("AC", "SK", form=r"[SA][KC](?<=SK|AC)(?<![A-Za-z0-9]..)[0-9a-f]{32}"),
    _key(":", form=r"\d(?<![A-Za-z0-9].)\d{7,9}:[\w-]{32,}"),
    _key(".", form=r"[MNO](?<![\w.-].)[\w-]{22,27}\.[\w-]{6}\.[\w-]{25,}"),
    _key("shp", form=r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}"),
    _key("lin_", "ntn_", "secret_", "figd_", "sbp_", form=r"(?:lin_(?:api|oauth)_|ntn_|secret_|figd_|sbp_)[\w-]{20,}"),
    _key("key-", form=r"key-(?<![A-Za-z0-9]key-)[0-9a-f]{24,}"),
    _key("dapi", form=r"dapi(?<![A-Za-z0-9]dapi)[0-9a-f]{24,}"),
    _key("hvs.", "hvb.", "hvr.", form=r"hv[sbr]\.[\w-]{16,}"),
    _in_any_case("provider key", "age-secret-key-", form=r"age-secret-key-[0-9a-z]{20,}"),
    _key("EAAC", "EAAG", form=r"EAA[CG]\w{20,}"),
    _key("sq0", "NRAK-", "fo1_", "ATATT", form=r"(?:sq0[a-z]{3}-|NRAK-|fo1_|ATATT)[\w=-]{16,}"),
    _key("pul-", "tskey-", "rubygems_", "sntrys_", form=r"(?:pul-|tskey-\w+-|rubygems_|sntrys_)[\w+/=-]{16,}"),
    _in_any_case(
        "authorization",
        "authorization",
        form=r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:\w{1,20}\s{1,4})?(?P<secret>[^\s\"'`]{4,})",
    ),
    _in_any_case("authorization", "bearer", form=r"bearer\s{1,4}(?P<secret>[\w.~+/=-]{12,})"),
    _in_any_case(
        "key=value",
        "pass",
        "pwd",
        "secret",
        "token",
        "credential",
        "cookie",
        "dsn",
        "session",
        "otp",
        "key",
        "connection",
        form=rf"{_NAMED}[\w-]{{0,30}}[\"'\]]{{0,2}}[ \t]{{0,4}}(?::=|=>|={{1,3}}|:|\|)[ \t]{{0,4}}{_VALUE}",
    ),
    _in_any_case("key=value", "--", form=rf"--?[\w-]{{0,30}}{_NAMED}[\w-]{{0,30}}[ \t]{{1,4}}{_VALUE}"),
    _in_any_case("key=value", "pass", form=rf"pass(?:word|wd|phrase)[ \t]{{1,4}}is[ \t:]{{1,4}}{_VALUE}"),
)

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

_HOMES = re.compile(
    r"(?<![\w.~/-])(?:/(?:home|Users)/[^/\s\"'`<>]{1,64}|/r(?:oot)(?![\w-]))|[A-Za-z]:\\+Users\\+[^\\\s\"'`<>]{1,64}"
)


_BETWEEN = re.compile(f"(?<=[!-~])[{_UNSEEN}]+(?=[!-~])")


def without_unseen(text: str) -> str:
    """`text` without characters that have no shape, where they stand between letters of ASCII: words of other scripts,
    and emoji, need theirs.
    """
    return text if text.isascii() else _BETWEEN.sub("", text)


_SLUGS = re.compile(r"(?<![\w-])(?:(?<=@)[a-z0-9]+|[a-z0-9]+(?:-+[a-z0-9]+)+)(?![\w-])")
"""Words that may be a project's slug. One without a dash is a word like others, but behind an agent's name."""


class Redactor:
    """`paths` are directories of this machine and `slugs` those of its projects, with what is said in place of each. It
    counts what it replaces.
    """

    def __init__(self, paths: Mapping[str, str], slugs: Mapping[str, str] | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._slugs = slugs or {}
        self._paths = [
            (re.compile(rf"(?<![\w.~-]){re.escape(path)}(?![\w-])"), path, name)
            for path, name in sorted(paths.items(), key=lambda one: len(one[0]), reverse=True)
            if path.strip("/")
        ]

    def text(self, text: str, *, is_counted: bool = True) -> str:
        """`text` without secrets, and without directories of this machine. Again on its own answer it changes
        nothing.
        """
        shown = text
        for _ in range(3):
            spans = _merged(_all_spans(shown))
            if not spans:
                break
            if is_counted:
                self.counts.update(kind for _, _, kind in spans)
            shown = _replaced(shown, spans)
        return self._without_places(shown)

    def finds(self, text: str) -> bool:
        """Whether `text` still holds what `text()` takes away."""
        return next(_all_spans(text), None) is not None or self._without_places(text) != text

    def _without_places(self, text: str) -> str:
        if "-" in text or "@" in text:
            text = _SLUGS.sub(lambda found: self._slugs.get(found[0], found[0]), text)
        if "/" not in text and "\\" not in text:
            return text
        for pattern, path, name in self._paths:
            if path in text:
                text = pattern.sub(lambda _, name=name: name, text)  # type: ignore[misc]  # a default binds it
        return _HOMES.sub(HOME, text)


_Span = tuple[int, int, str]


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
        seen = text if passed is None else passed.sub("", text)
        if seen not in shown:
            shown.add(seen)
            yield from _moved(_spans(seen), text, passed)


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
    """Without what closes a sentence, a link or a cell behind it, and within its quotes."""
    if "secret" not in match.re.groupindex or match["secret"] is None:
        return match.span()
    begin, end = match.span("secret")
    said = match["secret"]
    if len(said) > 2 and said[0] == said[-1] and said[0] in "\"'`":
        return begin + 1, end - 1
    return begin, begin + len(said.rstrip(_CLOSING))


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
