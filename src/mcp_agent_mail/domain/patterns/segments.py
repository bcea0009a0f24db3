"""One segment of a pattern: a plain name, or a glob that stands for many names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.charsets import ANY, BRACKET, Atom, atoms_meet, fold, less_dot, read_bracket
from mcp_agent_mail.domain.patterns.sequences import Piece, meet

_TOKEN = lazy_pattern(rf"\*+|\?|{BRACKET}|\\.|[^*?\[\\]+", re.DOTALL)
_STARS = lazy_pattern(r"\*+")
_SPECIAL = re.compile(r"[*?\[\\]")


class Glob:
    """A segment with wildcards. Read when it is first needed: most pairs are decided by `prefix` and `suffix`.

    `prefix` and `suffix` are plain characters that every name it stands for begins and ends with.
    """

    __slots__ = ("_is_void", "_pieces", "ignore_case", "prefix", "suffix", "text")

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        self.text = text
        self.ignore_case = ignore_case
        first = _SPECIAL.search(text)
        assert first, text
        self.prefix = text[: first.start()]
        # After a bracket or an escape nothing plain is claimed: where they end is not known before they are read.
        self.suffix = "" if "[" in text or "\\" in text else text[max(text.rfind("*"), text.rfind("?")) + 1 :]
        if ignore_case:
            self.prefix, self.suffix = fold(self.prefix), fold(self.suffix)
        self._pieces: tuple[Piece, ...] | None = None
        self._is_void: bool | None = None

    def pieces(self, work: WorkBudget) -> tuple[Piece, ...]:
        """What stands between the stars; plain pieces are strings."""
        if self._pieces is None:
            work.spend(4 + len(self.text) // 2)
            if not self.text.isascii():
                # A wide range can hold every cased letter of Unicode.
                work.spend(self.text.count("[") * 1_000 * self.ignore_case)
            if "[" in self.text or "\\" in self.text:
                self._pieces = _read_pieces(self.text, ignore_case=self.ignore_case)
            else:
                text = fold(self.text) if self.ignore_case else self.text
                self._pieces = tuple(
                    tuple(ANY if character == "?" else character for character in piece) if "?" in piece else piece
                    for piece in _STARS.split(text)
                )
        return self._pieces

    def is_void(self, work: WorkBudget) -> bool:
        """No name at all fits: `[z-a]`, or nothing but the dots that are no names."""
        if self._is_void is None:
            self._is_void = ("[" in self.text or "\\" in self.text) and _fit_nothing(self.pieces(work))
        return self._is_void

    def is_every(self) -> bool:
        """`*`: every name."""
        return not self.text.strip("*")

    def is_any_depth(self) -> bool:
        """`**`, and more stars, alone in a segment: any number of folders."""
        return len(self.text) > 1 and self.is_every()


def _fit_nothing(pieces: Sequence[Piece]) -> bool:
    return any(not atom for piece in pieces for atom in piece) or (
        len(pieces) == 1 and len(pieces[0]) <= 2 and all(atom == "." for atom in pieces[0])
    )


Name = str | Glob
EVERY_NAME = Glob("*", ignore_case=False)


def has_special(text: str) -> bool:
    """Whether any character of `text` stands for more than itself."""
    return _SPECIAL.search(text) is not None


@lru_cache(maxsize=4096)
def _glob(text: str, *, ignore_case: bool) -> Glob:
    """Names like `*.py` stand in many patterns: one Glob serves them all, and is read once."""
    return Glob(text, ignore_case=ignore_case)


def read_name(text: str, *, ignore_case: bool) -> Name:
    """One readable segment: what it is without wildcards, or a Glob."""
    if not has_special(text):
        return fold(text) if ignore_case else text
    if "*" in text or "?" in text or "[" in text:
        glob = _glob(text, ignore_case=ignore_case)
        if "\\" not in text or _has_wildcard(text):
            return glob
    plain = re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
    return fold(plain) if ignore_case else plain


def _has_wildcard(text: str) -> bool:
    return any(token[0] in "*?[" for token in _TOKEN.findall(text))


def _read_pieces(text: str, *, ignore_case: bool) -> tuple[Piece, ...]:
    pieces: list[list[Atom]] = [[]]
    for token in _TOKEN.findall(text):
        if token[0] == "*":
            pieces.append([])
        elif token[0] == "?":
            pieces[-1].append(ANY)
        elif token[0] == "[":
            pieces[-1].append(read_bracket(token, ignore_case=ignore_case))
        else:
            plain = token[1:] if token[0] == "\\" else token
            pieces[-1].extend(fold(plain) if ignore_case else plain)
    return tuple(
        "".join(map(str, piece)) if all(isinstance(atom, str) for atom in piece) else tuple(piece) for piece in pieces
    )


def names_meet(a: Name, b: Name, work: WorkBudget) -> bool:
    """Whether some name of a file or folder fits both, where neither is void."""
    if isinstance(a, str):
        if isinstance(b, str):
            work.spend(1)
            return a == b
        return _glob_holds(b, a, work)
    if isinstance(b, str):
        return _glob_holds(a, b, work)
    work.spend(5)
    if not _ends_agree(a, b):
        return False
    one, other = a.pieces(work), b.pieces(work)
    if len(one) > 1:
        one, other = other, one
    if len(one) > 1 or len(one[0]) > 2:
        return meet(one, other, _atoms_meet, work)
    return any(meet((piece,), other, _atoms_meet, work) for piece in _less_dots(one[0]))


def _glob_holds(glob: Glob, name: str, work: WorkBudget) -> bool:
    work.spend(2)
    if not (name.startswith(glob.prefix) and name.endswith(glob.suffix)):
        return False
    work.spend(2)
    return meet((name,), glob.pieces(work), _atoms_meet, work)


def _ends_agree(a: Glob, b: Glob) -> bool:
    return (a.prefix.startswith(b.prefix) or b.prefix.startswith(a.prefix)) and (
        a.suffix.endswith(b.suffix) or b.suffix.endswith(a.suffix)
    )


def _less_dots(piece: Piece) -> list[Piece]:
    """Pieces of one or two atoms that together fit what `piece` fits, but for `.` and `..`: they name nothing."""
    return [
        tuple(rest if index == at else atom for index, atom in enumerate(piece))
        for at in range(len(piece))
        if (rest := less_dot(piece[at]))
    ]


def _atoms_meet(a: Atom, b: Atom, work: WorkBudget) -> bool:
    if isinstance(a, str):
        work.spend(1 if isinstance(b, str) else 2 + len(b) // 4)
    else:
        work.spend(2 + len(a) // 4 if isinstance(b, str) else 2 + (len(a) + len(b)) // 2)
    return atoms_meet(a, b)
