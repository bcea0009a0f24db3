"""Makes all files of an archive what they should be now, in one commit, and joins another archive's history to it."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from pathlib import Path

from mcp_agent_mail.archive.contents import NO_CONTENTS, Contents
from mcp_agent_mail.archive.fast_import import Put
from mcp_agent_mail.archive.repository import BIG_FILES, BRANCH, ArchiveRepository
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.contacts import CONTACTS_FOLDER
from mcp_agent_mail.domain.attachments import StoredContent, is_content_path

LIMIT_S = 3_600.0
"""For all of an archive, once."""

_REF = "refs/agent-mail/joining"
_CONFIG = ("core.fsync=all", BIG_FILES)
_LINKS = f"{CONTACTS_FOLDER}/"

Render = Callable[[Put], None]
"""Puts every file of ours; without content one that is about to be written again, which is left alone."""


class Rewrite:
    """What differs between the branch and what `render` puts. Nothing large is kept: it renders each time."""

    def __init__(self, repository: ArchiveRepository, render: Render, *, is_empty: bool) -> None:
        self._render = render
        self._blobs = {} if is_empty else _blobs_of_branch(repository)

    def fill(self, put: Put) -> None:
        """Put every file that differs from the branch, and None for what nothing renders any more: links, of which
        alone other agents' names are in the paths and may have changed, and contents, which come once each.
        """
        over = {path for path in self._blobs if path.startswith(_LINKS) or is_content_path(path)}
        put_already: set[str] = set()
        last: tuple[bytes | None, str] = (None, "")

        def compare(path: str, content: Content | None) -> None:
            nonlocal last
            over.discard(path)
            if content is None:
                return
            if isinstance(content, StoredContent):
                # Its path says what it is.
                if path not in self._blobs and path not in put_already:
                    put_already.add(path)
                    put(path, content)
                return
            if content is not last[0]:
                last = (content, blob_id(content))
            if self._blobs.get(path) != last[1]:
                put(path, content)

        self._render(compare)
        for path in sorted(over):
            put(path, None)

    def show(self, tree: WorkTree, contents: Contents = NO_CONTENTS, lacked: Container[str] = ()) -> None:
        """Write the same differences into the work tree, but for what is lacked; equal contents become one file with
        many names.
        """
        content: bytes | None = None
        paths: list[str] = []

        def put(path: str, new: Content | None) -> None:
            nonlocal content
            if new is None:
                tree.remove(path)
                return
            if isinstance(new, StoredContent):
                if path not in lacked:
                    tree.put_large(path, partial(contents.require, new))
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
    lender = ArchiveRepository(source, only_git=True)
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
    sync_path(folder)
    repository.git("update-ref", _REF, tip, config=_CONFIG)
    return tip


def forget_joining(repository: ArchiveRepository) -> None:
    """Remove the reference that kept the other archive's history until a commit joined it."""
    repository.git("update-ref", "-d", _REF)


def _blobs_of_branch(repository: ArchiveRepository) -> dict[str, str]:
    blobs = {}
    for entry in repository.records("ls-tree", "-r", "-z", BRANCH, timeout_s=LIMIT_S):
        facts, _, path = entry.partition("\t")
        blobs[path] = facts.rpartition(" ")[2]
    return blobs
