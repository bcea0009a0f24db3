"""How much an archive may list: a few objects of Git can stand for any number of paths, trees within trees.

Each agent's folder is a tree of its own, since its profile is, so mail grows with objects: the most that archives come
to are some hundred paths for each, where lots of broadcasts were committed at once to thousands of agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.git.process import GitFailed

MOST_PER_OBJECT = 1_000
MOST_BESIDE = 10_000
_COUNTED = (b"count", b"in-pack")


def bounded(repository: ArchiveRepository, listed: Iterable[str], *, times: int = 1) -> Iterator[str]:
    """What Git lists of one commit, folders too (`-t`: they may hold nothing but folders), or of a history, in which a
    path may come so many `times`. Raises GitFailed beyond as much as the archive's objects account for.
    """
    most = times * (MOST_BESIDE + MOST_PER_OBJECT * _objects(repository))
    for number, entry in enumerate(listed, start=1):
        if number > most:
            raise GitFailed(f"it lists more than {most:,} files and folders, which its objects do not account for")
        yield entry


def _objects(repository: ArchiveRepository) -> int:
    facts = (line.partition(b": ") for line in repository.git("count-objects", "-v").splitlines())
    return sum(int(number) for name, _, number in facts if name in _COUNTED)
