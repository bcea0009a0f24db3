"""After an unclean stop: leftover locks go, and the work-tree files of the last commits equal the branch again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mcp_agent_mail.archive.folders import blob_of
from mcp_agent_mail.archive.repository import BRANCH, EMPTY_TREE, Repository
from mcp_agent_mail.archive.worktree import WorkTree
from mcp_agent_mail.core.git import GitFailed
from mcp_agent_mail.domain.archive_layout import ARCHIVE_FILE, OWN_FOLDERS

WINDOW_S = 120
"""Kernels write a file back within half a minute or so; what is older was on disk."""

_AT_ONCE = 200
_IMPORT_MARK = b"fast-import"
_LOCKED = ("index", "HEAD", "config", "config.worktree", "info/sparse-checkout", "packed-refs")


def remove_leftovers(repository: Repository) -> None:
    """Locks and half-written packs of Git processes that were killed.

    Called while the archive lock is held, which those processes would still hold if one lived.
    """
    for name in (*_LOCKED, BRANCH):
        (repository.git_path / f"{name}.lock").unlink(missing_ok=True)
    for pattern in ("objects/pack/tmp_*", "objects/pack/.tmp-*", "fast_import_crash_*"):
        for leftover in repository.git_path.glob(pattern):
            leftover.unlink(missing_ok=True)
    for mark in repository.git_path.glob("objects/pack/pack-*.keep"):
        # An import marks its pack while it runs. Left behind, the mark would keep the pack from ever being joined.
        if mark.read_bytes().strip() == _IMPORT_MARK:
            mark.unlink()


def remove_torn_marks(repository: Repository, since: float) -> None:
    """Marks of an import that a loss of power emptied. The same import, made again, would stumble over its own.

    A person may mark a pack with an empty file too: only those stay that are older than the unclean run.
    """
    for mark in repository.git_path.glob("objects/pack/pack-*.keep"):
        written = mark.read_bytes().strip(b"\0\n")
        if _IMPORT_MARK.startswith(written) and mark.stat().st_mtime >= since - WINDOW_S:
            mark.unlink()


def remove_torn_index(repository: Repository) -> None:
    """An index Git cannot read would fail every later command; the next refresh builds a new one."""
    try:
        repository.git("ls-files", "-z", "--", ARCHIVE_FILE)
    except GitFailed:
        (repository.git_path / "index").unlink(missing_ok=True)


def restore_recent_files(repository: Repository, tree: WorkTree, tip: str) -> int:
    """Compare what the last commits wrote with the branch and write again what differs; how many files did."""
    if not repository.is_checked_out():
        return 0
    restored = 0
    wanted: dict[str, list[str]] = {}
    for path, blob in _recent_files(repository, tip):
        tree.note(path)
        if blob is None:
            tree.remove(path)
        elif not _holds(repository, path, blob):
            wanted.setdefault(blob, []).append(path)
            restored += 1
        if len(wanted) >= _AT_ONCE:
            _restore(repository, tree, wanted)
            wanted.clear()
    _restore(repository, tree, wanted)
    return restored


def restore_files(repository: Repository, tree: WorkTree, is_wanted: Callable[[str], bool]) -> None:
    """Those of the branch that are wanted, as Git has them.

    What bringing months back left half done when it was cut off, say: Git would take it for somebody's edit.
    """
    wanted: dict[str, list[str]] = {}
    for entry in repository.records("ls-tree", "-r", "-z", BRANCH, timeout_s=repository.timeout_s):
        facts, _, path = entry.partition("\t")
        blob = facts.rpartition(" ")[2]
        if is_wanted(path) and not _holds(repository, path, blob):
            wanted.setdefault(blob, []).append(path)
        if len(wanted) >= _AT_ONCE:
            _restore(repository, tree, wanted)
            wanted.clear()
    _restore(repository, tree, wanted)


def _recent_files(repository: Repository, tip: str) -> Iterator[tuple[str, str | None]]:
    """Path and blob of every file of ours that the commits of the window wrote; no blob where they removed one."""
    newest = int(repository.git("show", "--no-patch", "--format=%ct", tip))
    before = newest - WINDOW_S
    base = repository.git("rev-list", "-1", "--first-parent", f"--before={before}", tip).decode().strip()
    places = (ARCHIVE_FILE, *OWN_FOLDERS)
    changes = repository.git("diff-tree", "-r", "-z", "--no-renames", base or EMPTY_TREE, tip, "--", *places)
    fields = iter(changes.decode("utf-8", "surrogateescape").split("\0")[:-1])
    for entry, path in zip(fields, fields, strict=True):
        _, mode, _, blob, _ = entry.split(" ")
        yield path, None if mode == "000000" else blob
    for path in _passing_files(repository, base, tip):
        yield path, None


def _passing_files(repository: Repository, base: str, tip: str) -> Iterator[str]:
    """What came and went within the window: at neither end, so that comparing the ends does not show it."""
    window = f"{base}..{tip}" if base else tip
    options = ("--first-parent", "--no-renames", "--diff-filter=D", "--format=", "--name-only", "-z")
    removed = repository.git("log", *options, window, "--", *OWN_FOLDERS).decode("utf-8", "surrogateescape")
    paths = sorted({path for path in removed.split("\0") if path})
    if not paths:
        return
    asked = "".join(f"{tip}:{path}\n" for path in paths).encode("utf-8", "surrogateescape")
    answers = repository.git("cat-file", "--batch-check=%(objectname)", stdin=asked).decode().splitlines()
    for path, answer in zip(paths, answers, strict=True):
        if answer.endswith(" missing"):
            yield path


def _holds(repository: Repository, path: str, blob: str) -> bool:
    try:
        return blob_of(repository.work_tree, path) == blob
    except OSError:
        return False


def _restore(repository: Repository, tree: WorkTree, wanted: dict[str, list[str]]) -> None:
    for blob, paths in wanted.items():
        tree.put(repository.git("cat-file", "blob", blob), paths)
