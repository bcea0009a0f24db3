"""Makes all files of an archive what they should be now, in one commit, and joins another archive's history to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mcp_agent_mail.archive.fast_import import Put
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository, sync
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.contacts import CONTACTS_FOLDER

LIMIT_S = 3_600.0
"""For all of an archive, once."""

_REF = "refs/agent-mail/joining"
_CONFIG = ("core.fsync=all",)

Render = Callable[[Put], None]
"""Puts every file of ours; without content one that is about to be written again, which is left alone."""


class Rewrite:
    """What differs between the branch and what `render` puts. Nothing large is kept: it renders each time."""

    def __init__(self, repository: ArchiveRepository, render: Render, *, is_empty: bool) -> None:
        self._render = render
        self._blobs = {} if is_empty else _blobs_of_branch(repository)

    def fill(self, put: Put) -> None:
        """Only links between agents have names of others in their paths: of them what is left over goes."""
        over = {path for path in self._blobs if path.startswith(f"{CONTACTS_FOLDER}/")}
        last: tuple[bytes | None, str] = (None, "")

        def compare(path: str, content: bytes | None) -> None:
            nonlocal last
            over.discard(path)
            if content is None:
                return
            if content is not last[0]:
                last = (content, blob_id(content))
            if self._blobs.get(path) != last[1]:
                put(path, content)

        self._render(compare)
        for path in sorted(over):
            put(path, None)

    def show(self, tree: WorkTree) -> None:
        """The same, for people: copies of one content are one file with many names."""
        content: bytes | None = None
        paths: list[str] = []

        def put(path: str, new: bytes | None) -> None:
            nonlocal content
            if new is None:
                tree.remove(path)
                return
            if new is not content and content is not None:
                tree.put(content, paths)
                paths.clear()
            content = new
            paths.append(path)

        self.fill(put)
        if content is not None:
            tree.put(content, paths)


def bring_history(repository: ArchiveRepository, source: Path) -> str:
    """All that the archive at `source` has, in this repository too; its tip.

    Packed from its objects, which are lent as data: no transport runs, and no Git with its configuration.
    """
    lender = ArchiveRepository(source)
    tip = lender.tip()
    if tip is None:
        raise GitFailed(f"{source} has no commit on {BRANCH}")
    folder = repository.git_path / "objects" / "pack"
    own_tip = repository.tip()
    revisions = f"{tip}\n" if own_tip is None else f"{tip}\n^{own_tip}\n"
    repository.start(
        *("pack-objects", "-q", "--revs", "--delta-base-offset", str(folder / "pack")),
        stdin=revisions.encode(),
        config=_CONFIG,
        borrowed=(lender.git_path / "objects",),
    ).finish(LIMIT_S)
    sync(folder)
    repository.git("update-ref", _REF, tip, config=_CONFIG)
    return tip


def forget_joining(repository: ArchiveRepository) -> None:
    """What kept the history that is joined by now."""
    repository.git("update-ref", "-d", _REF)


def _blobs_of_branch(repository: ArchiveRepository) -> dict[str, str]:
    blobs = {}
    for entry in repository.records("ls-tree", "-r", "-z", BRANCH, timeout_s=LIMIT_S):
        facts, _, path = entry.partition("\t")
        blobs[path] = facts.rpartition(" ")[2]
    return blobs
