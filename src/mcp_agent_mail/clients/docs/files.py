"""Files for agents in a folder (`AGENTS.md` and its like), changed without changing anything else about them.

A link stays a link, and what it leads to is changed; mode and owner stay; a write is a rename.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.clients.docs.block import between, insert, remove
from mcp_agent_mail.clients.setup.targets import look_at, replace
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.plain_files import UnfitFile, git_directory_above, read_plain, real_path

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
MAX_BYTES = 4 * 2**20
_TEXT = Path(__file__).with_name("usage.md")
WRITTEN = ("79a7934288ee64363501a639dea348e64d8a9de2f0bac977883d6f0b25fd74fe",)
"""Digests of each text that we ever wrote between the marks, the present one last: only such a text is ours to take."""


class InsertOutcome(StrEnum):
    MADE = "made"
    INSERTED = "inserted"
    UPDATED = "brought up to date"
    UNCHANGED = "nothing to do"
    REMOVED = "removed"
    DELETED = "deleted: it was ours alone"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What became of one file. `problem` says why it was left alone; `real` is where links of `path` lead."""

    path: str
    real: str
    outcome: InsertOutcome
    problem: AgentMailError | None = None


class UnfitDocument(InvalidInput):
    """The file is left alone: it is read-only, has several names, has changed meanwhile, lies where nobody meant, or
    has somebody's own text between the marks.
    """


def usage_text() -> str:
    """What agents are told: the README shows the same, by a test."""
    return _TEXT.read_text(encoding="utf-8")


def default_files(folder: Path) -> list[Path]:
    """Those of NAMES that are there, else the first."""
    found = [folder / name for name in NAMES if os.path.lexists(folder / name)]
    return found or [folder / NAMES[0]]


def digest_of(text: bytes) -> str:
    """Of what stands between the marks, the newlines around it aside."""
    return hashlib.sha256(text.strip(b"\n")).hexdigest()


def edit_all(paths: Sequence[Path], *, removes: bool, within: Path | None = None) -> list[Edited]:
    """Each file once, be it named twice or linked. What is refused is told, and the others go on.

    `within`: of files that nobody named, in a folder that a stranger may have laid out, no link leads out of it.
    """
    edited: list[Edited] = []
    seen: set[str] = set()
    for path in paths:
        target = str(path)
        problem: AgentMailError | None = None
        outcome = InsertOutcome.REFUSED
        try:
            target = real_path(str(path))
            if target in seen:
                continue
            seen.add(target)
            if within is not None:
                _require_within(path, target, within)
            outcome = _edit(target, removes=removes)
        except AgentMailError as refused:
            problem = refused
        except OSError as failed:
            problem = UnfitFile(f"{failed.strerror or failed}.")
        edited.append(Edited(path=str(path), real=target, outcome=outcome, problem=problem))
    return edited


def _require_within(path: Path, target: str, within: Path) -> None:
    """Raises UnfitDocument for what a repository's own links could make us write."""
    real = Path(target)
    hint = f"If you mean that file, name it: am docs insert {real}"
    if not real.is_relative_to(real_path(str(within))):
        raise UnfitDocument(f"It is a link that leads out of {within}, to {real}.", hint=hint)
    if git_directory_above(real) is not None:
        raise UnfitDocument(f"It is a link into a Git directory, to {real}.", hint=hint)
    if path.is_symlink() and not real.exists():
        raise UnfitDocument(f"It is a link to {real}, where nothing is.", hint=hint)


def _edit(target: str, *, removes: bool) -> InsertOutcome:
    content = read_plain(target, MAX_BYTES)
    if content is not None:
        _require_ours(content)
    if removes:
        return InsertOutcome.UNCHANGED if content is None else _remove(target, content)
    if content is None:
        _write(target, insert(b"", usage_text(), is_new=True), None)
        return InsertOutcome.MADE
    fresh = insert(content, usage_text())
    if fresh == content:
        return InsertOutcome.UNCHANGED
    _write(target, fresh, content)
    return InsertOutcome.INSERTED if remove(content) == content else InsertOutcome.UPDATED


def _require_ours(content: bytes) -> None:
    """Raises UnfitDocument where somebody wrote between the marks: it would be lost."""
    found = between(content)
    if found is not None and found[1] and digest_of(found[1]) not in WRITTEN:
        raise UnfitDocument(
            f"From line {found[0]} on stands between the marks what am docs insert has not written.",
            hint="Move what is yours out of the marks, and empty what is between them; then run the command again.",
        )


def _remove(target: str, content: bytes) -> InsertOutcome:
    rest = remove(content)
    if rest == content:
        return InsertOutcome.UNCHANGED
    if rest is None:
        _require_fit(target, content)
        os.unlink(target)  # noqa: PTH108  # as everything here, by the text of the path
        return InsertOutcome.DELETED
    _write(target, rest, content)
    return InsertOutcome.REMOVED


def _require_fit(target: str, content: bytes) -> None:
    """Raises UnfitDocument unless what is known of the file just now is fit for a change."""
    found = os.lstat(target)
    if not found.st_mode & 0o222:
        raise UnfitDocument("It is read-only.", hint=f"Make it writable if you mean it: chmod u+w {target}")
    if found.st_nlink > 1:
        raise UnfitDocument("It has several names (hard links), which a write would part.", hint="Change it by hand.")
    if read_plain(target, MAX_BYTES) != content:
        raise _changed()


def _write(target: str, content: bytes, before: bytes | None) -> None:
    """As am setup writes: by rename, with the mode and the owner that it has. Raises UnfitDocument and OSError."""
    if before is not None:
        _require_fit(target, before)
    found = look_at(Path(target))
    if found.content != before:
        raise _changed()
    replace(found, content, no_fault)


def _changed() -> UnfitDocument:
    return UnfitDocument("It was changed meanwhile.", hint="Run the command again.")
