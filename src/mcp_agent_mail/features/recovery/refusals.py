"""Why archives do not make a store: by slug, with what is missing, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp_agent_mail.archive.reading.hints import of_unfit
from mcp_agent_mail.core.errors import Conflict, in_sentences

_SHOWN = 20
OF_ALL = "archives"
"""In place of a slug, for what is wrong with none of them alone."""


def next_step(archives: Iterable[str], *, has_database: bool) -> str:
    """What to do about archives that do not make a whole store."""
    return of_unfit([slug for slug in archives if slug != OF_ALL], has_database=has_database)


class RebuildRefused(Conflict):
    """The archives do not make a whole store. Nothing was changed."""


class ArchiveProblems:
    """What is wrong with which archive: the first problem of each, and how often there was one."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._first)

    def add(self, slug: str, problem: str) -> None:
        self._first.setdefault(slug, problem)
        self._counts[slug] = self._counts.get(slug, 0) + 1

    @property
    def by_slug(self) -> Mapping[str, str]:
        return {slug: self._told(slug) for slug in sorted(self._first)[:_SHOWN]}

    def _told(self, slug: str) -> str:
        more = self._counts[slug] - 1
        return f"{self._first[slug]}{f' (and {more} more like it)' if more else ''}"

    def require_none(self, *, has_database: bool = False) -> None:
        """Raise RebuildRefused when there is one. `has_database`: there is one that can be read."""
        if not self._first:
            return
        shown = self.by_slug
        left = len(self._first) - len(shown)
        told = "; ".join(f"{slug}: {problem}" for slug, problem in shown.items())
        raise RebuildRefused(
            in_sentences("The archives do not make a whole store", f"{told}{f'; and {left} more' if left else ''}"),
            hint=next_step(shown, has_database=has_database),
            data={"archives": dict(shown)},
        )
