"""Reservation patterns: which paths one covers, and whether two of them cover some path in common.

Pure and light, because the Git hook reads it too. The rules stand in docs/concepts/reservations.md; the
intersection is exact, not a likeness of strings (docs/adr/0060).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import takewhile

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.charsets import fold
from mcp_agent_mail.domain.patterns.segments import EVERY_NAME, Glob, Name, has_special, names_meet, read_name
from mcp_agent_mail.domain.patterns.sequences import Piece, meet
from mcp_agent_mail.domain.patterns.syntax import PatternText, normalise, read_normal


class Reading:
    """One way to take a pattern: names, with gaps for any number of folders (`**`) between the pieces."""

    __slots__ = ("_is_void", "above", "pieces")

    def __init__(self, pieces: Sequence[Sequence[Name]]) -> None:
        self.pieces: tuple[Piece, ...] = tuple(tuple(piece) for piece in pieces)
        self.above: tuple[Piece, ...] = (*self.pieces, ())
        """The same, and all below."""
        self._is_void: bool | None = None

    def is_void(self, budget: WorkBudget) -> bool:
        """No path at all fits, because no name fits one of the names."""
        if self._is_void is None:
            globs = [name for piece in self.pieces for name in piece if isinstance(name, Glob)]
            budget.spend(2 * len(globs))
            self._is_void = any(glob.is_void(budget) for glob in globs)
        return self._is_void


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """`text` is the normal form, stored and shown; what follows from it is not compared."""

    text: str
    ignore_case: bool = False
    is_folder: bool = False
    """The workspace has a folder there, so that a literal pattern stands for all below it too."""
    is_virtual: bool = field(default=False, compare=False)
    is_literal: bool = field(default=False, compare=False)
    """No wildcard: one path, and all below it where that is a folder."""
    plain: str | None = field(default=None, compare=False, repr=False)
    """`path/` of a literal path or folder: two such overlap exactly when one begins with the other."""
    readings: tuple[Reading, ...] = field(default=(), compare=False, repr=False)
    folders: tuple[tuple[str, ...], ...] = field(default=(), compare=False, repr=False)
    """The names before the first wildcard, less the last name: each beginning of them is a folder."""

    def with_folder(self, is_folder: bool) -> Pattern:
        """Rule 3: the same pattern, with what the workspace says; only a literal one takes notice."""
        is_folder = is_folder and self.is_literal
        if is_folder == self.is_folder:
            return self
        return stored_pattern(self.text, is_folder=is_folder, ignore_case=self.ignore_case)

    def with_case(self, *, ignore_case: bool) -> Pattern:
        """The same pattern where letter case counts, or does not."""
        if ignore_case == self.ignore_case:
            return self
        return stored_pattern(self.text, is_folder=self.is_folder, ignore_case=ignore_case)


def parse_pattern(text: str, *, project_root: str | None = None, ignore_case: bool = False) -> Pattern:
    """What a caller wrote, in normal form; UnreadablePattern (INVALID_INPUT) with the reason otherwise.

    `project_root` is the absolute path of the project's directory as it is stored.
    """
    return _build(normalise(text, project_root=project_root), is_folder=False, ignore_case=ignore_case)


def stored_pattern(text: str, *, is_folder: bool = False, ignore_case: bool = False) -> Pattern:
    """A pattern from a lease: its `text` as stored, and what the workspace said at the time."""
    return _build(read_normal(text), is_folder=is_folder, ignore_case=ignore_case)


def overlap(a: Pattern, b: Pattern, budget: WorkBudget) -> bool:
    """Whether some path is covered by both: exact, symmetric. Spends `budget`; PatternsTooHard beyond it."""
    budget.spend(1)
    if a.is_virtual or b.is_virtual:
        return a.is_virtual and b.is_virtual and a.text == b.text
    if a.ignore_case != b.ignore_case:
        a, b = a.with_case(ignore_case=True), b.with_case(ignore_case=True)
    if a.plain is not None and b.plain is not None:
        return a.plain.startswith(b.plain) or b.plain.startswith(a.plain)
    return (
        any(_readings_meet(one, other, budget) for one in a.readings for other in b.readings)
        or any(_covers_some(a, folders, budget) for folders in b.folders)
        or any(_covers_some(b, folders, budget) for folders in a.folders)
    )


def covers(pattern: Pattern, path: str, budget: WorkBudget) -> bool:
    """Whether `pattern` covers this path from the root, taken letter by letter, or a folder that it lies in."""
    budget.spend(1)
    if pattern.is_virtual:
        return False
    checked = fold(path) if pattern.ignore_case else path
    if pattern.plain is not None:
        return f"{checked}/".startswith(pattern.plain)
    return _covers_some(pattern, tuple(checked.split("/")), budget)


def anchor(pattern: Pattern) -> str:
    """The folder that all of a pattern lies in or is: the names before its first wildcard, `""` for `*.py`.

    The law that an index may rest on: patterns with the same `ignore_case` overlap only if one's anchor is
    the other's, or begins with the other's and a `/`, or one is empty. A virtual name is its own anchor.
    """
    if pattern.is_virtual:
        return pattern.text
    if pattern.plain is not None:
        return pattern.plain[:-1]
    first, *others = pattern.folders
    return "/".join(first) if all(first == other for other in others) else ""


def last_names(pattern: Pattern) -> dict[str, bool] | None:
    """What the last names of the paths and folders it matches can be: whole (False), or how they end (True).

    None where they can be any: it stands for a tree. The law for an index: patterns overlap only if a name of
    one equals a name of the other, or ends with it and that one is an end, or one of the patterns is a tree.
    """
    names: dict[str, bool] = {}
    for reading in pattern.readings:
        if not reading.pieces[-1]:
            return None
        last = reading.pieces[-1][-1]
        if isinstance(last, Glob):
            names[last.suffix] = True
        else:
            names.setdefault(last, False)
    for folders in pattern.folders:
        for name in folders:
            names.setdefault(name, False)
    return names


def _readings_meet(a: Reading, b: Reading, budget: WorkBudget) -> bool:
    budget.spend(4)
    return not a.is_void(budget) and not b.is_void(budget) and meet(a.pieces, b.pieces, names_meet, budget)


def _covers_some(pattern: Pattern, names: tuple[str, ...], budget: WorkBudget) -> bool:
    """Whether the pattern matches the path of these names or a folder above: something may follow the match."""
    if not names:
        return False
    budget.spend(2 + len(names) // 32)
    return any(meet((names,), reading.above, names_meet, budget) for reading in pattern.readings)


def _build(parts: PatternText, *, is_folder: bool, ignore_case: bool) -> Pattern:
    text = parts.text
    if parts.is_virtual:
        return Pattern(text=text, ignore_case=ignore_case, is_virtual=True)
    if not has_special(text):
        return _build_plain(parts, is_folder=is_folder, ignore_case=ignore_case)
    names = [read_name(segment, ignore_case=ignore_case) for segment in parts.segments]
    below = _names_above_all(names, parts)
    is_literal = below is None and all(isinstance(name, str) for name in names)
    if below is not None:
        main = _literal_reading(below, is_tree=True)
    elif is_literal:
        main = _literal_reading(names, is_tree=is_folder)
    else:
        main = _wildcard_reading(names, parts)
    by_name = _very_name(parts, is_tree=is_literal and is_folder, ignore_case=ignore_case)
    path = below if below is not None else names if is_literal else None
    known = _leading(path[:-1] if path is not None else names)
    folders = [known]
    if by_name is not None and by_name.pieces[0][: len(known)] != known:
        folders.append(tuple(by_name.pieces[0][: len(known)]))
    return Pattern(
        text=text,
        ignore_case=ignore_case,
        is_folder=is_folder,
        is_literal=is_literal,
        plain="/".join(map(str, path)) + "/" if path is not None and by_name is None else None,
        readings=(main,) if by_name is None else (main, by_name),
        folders=tuple(folders),
    )


def _build_plain(parts: PatternText, *, is_folder: bool, ignore_case: bool) -> Pattern:
    """The same as `_build` for what most leases are: a path or a folder without any special character."""
    path = "/".join(parts.segments)
    path = fold(path) if ignore_case else path
    names = tuple(path.split("/"))
    return Pattern(
        text=parts.text,
        ignore_case=ignore_case,
        is_folder=is_folder,
        is_literal=not parts.ends_in_slash,
        plain=f"{path}/",
        readings=(_literal_reading(names, is_tree=parts.ends_in_slash or is_folder),),
        folders=(names[:-1],),
    )


def _names_above_all(names: Sequence[Name], parts: PatternText) -> Sequence[Name] | None:
    """Rule 1: the names of `dir` in `dir/`, `dir/*` and `dir/**`, where none of them has a wildcard."""
    if parts.ends_in_slash:
        directory: Sequence[Name] = names
    elif len(names) > 1 and isinstance(names[-1], Glob) and names[-1].is_every():
        directory = names[:-1]
    else:
        return None
    return directory if all(isinstance(name, str) for name in directory) else None


def _literal_reading(names: Sequence[Name], *, is_tree: bool) -> Reading:
    return Reading([names, ()] if is_tree else [names])


def _wildcard_reading(names: Sequence[Name], parts: PatternText) -> Reading:
    """Rule 2, as a line of .gitignore; a final `/` is read as `/**`, and that means something below."""
    is_bound = "/" in parts.text
    pieces: list[list[Name]] = [[]] if is_bound else [[], []]
    for name in names:
        if not (isinstance(name, Glob) and name.is_any_depth()):
            pieces[-1].append(name)
        elif pieces[-1] or len(pieces) == 1:
            pieces.append([])
    if parts.ends_in_slash and (pieces[-1] or len(pieces) == 1):
        pieces.append([])
    if not pieces[-1]:
        pieces[-1].append(EVERY_NAME)
    return Reading(pieces)


def _very_name(parts: PatternText, *, is_tree: bool, ignore_case: bool) -> Reading | None:
    """The pattern taken letter by letter, where that can be another path: `app/[id]/page.tsx`, names with a backslash.

    Rule 1 holds for it too: `app/[id]/**` is also the folder `app/[id]` and everything below.
    """
    if "[" not in parts.text and "\\" not in parts.text:
        return None
    text = parts.text.strip("/")
    last = parts.segments[-1].strip("*")
    names = (fold(text) if ignore_case else text).split("/")
    if not parts.ends_in_slash and len(parts.segments) > 1 and not last:
        return _literal_reading(names[:-1], is_tree=True)
    return _literal_reading(names, is_tree=is_tree or parts.ends_in_slash)


def _leading(names: Sequence[Name]) -> tuple[str, ...]:
    """The names before the first wildcard."""
    return tuple(name for name in takewhile(lambda name: isinstance(name, str), names) if isinstance(name, str))
