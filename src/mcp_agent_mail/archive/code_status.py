"""Keeps an archive out of the status of the code repository around it.

That repository is anybody's: its files are read and one is written, as data. No Git runs on it, none of its settings
counts, and a link in the way is refused by name.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_agent_mail.archive.folders import NotAFile, opened, read_file, replace_file
from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.core.git import GitFailed, run_git
from mcp_agent_mail.core.git_environment import GitPlace, make_shadow

_GITFILE = b"gitdir: "
_SMALL_BYTES = 64 * 1024
_EXCLUDES_BYTES = 1 << 20
_INDEX_BYTES = 1 << 30
_MODE = 0o644


class CodeRepositoryRefused(ArchiveRefused):
    """The repository around a project is not one to read or write in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """The repository around a project: its work tree, the Git directory of that, and the one all its work trees use."""

    top: Path
    git_path: Path
    common: Path


def keep_out_of_status(project: Path, folder: str) -> None:
    """Name `folder` of `project` in `info/exclude` of the code repository around it, if there is one.

    Work trees of one repository share that file. Raises CodeRepositoryRefused for what leads elsewhere.
    """
    around = _find(project)
    if around is None:
        return
    line = f"{folder}/".encode()
    try:
        with opened(around.common, "info", make=True) as info:
            before = _excluded(info)
            if line not in before.splitlines():
                gap = b"\n" if before and not before.endswith(b"\n") else b""
                replace_file(info, "exclude", before + gap + line + b"\n", mode=_mode_of(info))
    except (NotADirectoryError, NotAFile) as refused:
        raise _refused(around.common / "info" / "exclude") from refused
    except OSError as refused:
        if refused.errno == errno.EFBIG:
            raise _refused(around.common / "info" / "exclude") from refused
        raise


def is_tracked(project: Path, folder: str) -> bool:
    """Does the code repository's index have files of `folder` of `project`?"""
    around = _find(project)
    if around is None:
        return False
    try:
        with opened(around.git_path) as fd:
            index = read_file(fd, "index", limit=_INDEX_BYTES)
    except FileNotFoundError:
        return False
    except OSError as refused:
        raise _refused(around.git_path / "index") from refused
    path = os.path.relpath(project.resolve() / folder, around.top.resolve())
    with TemporaryDirectory(prefix="agent-mail-") as temporary:
        shadow = make_shadow(Path(temporary))
        (shadow / "index").write_bytes(index)
        place = GitPlace(git_dir=shadow, work_tree=around.top, index=shadow / "index")
        try:
            return bool(
                run_git("--literal-pathspecs", "-C", str(around.top), "ls-files", "-z", "--", path, place=place)
            )
        except GitFailed:
            # An index that is no index, or one in parts, is nothing that a commit of theirs could take our files from.
            return False


def _excluded(info: int) -> bytes:
    try:
        return read_file(info, "exclude", limit=_EXCLUDES_BYTES)
    except FileNotFoundError:
        return b""


def _mode_of(info: int) -> int:
    try:
        return stat.S_IMODE(os.stat("exclude", dir_fd=info, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return _MODE


def _find(project: Path) -> _Around | None:
    """As Git looks for it, from the project upwards; a bare repository or a broken one is none."""
    for top in (project, *project.parents):
        place = top / ".git"
        try:
            kind = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISDIR(kind):
            return _Around(top=top, git_path=place, common=place)
        if stat.S_ISREG(kind):
            return _linked(top)
        raise _refused(place)
    return None


def _linked(top: Path) -> _Around | None:
    """A work tree beside the main one, or a submodule: None unless the repository it names knows of it.

    A file that somebody planted may name any repository of this machine, and nothing is to be written there.
    """
    with opened(top) as fd, _as_refused(top / ".git"):
        content = read_file(fd, ".git", limit=_SMALL_BYTES)
    if not content.startswith(_GITFILE):
        return None
    named = Path(os.path.normpath(top / os.fsdecode(content.removeprefix(_GITFILE).rstrip(b"\n"))))
    with _as_refused(named):
        try:
            with opened(named) as fd:
                if _line(fd, "gitdir") == str(top / ".git"):
                    common = Path(os.path.normpath(named / (_line(fd, "commondir") or ".")))
                    return _Around(top=top, git_path=named, common=common) if named.parent.parent == common else None
        except FileNotFoundError:
            return None
    return _Around(top=top, git_path=named, common=named) if _is_submodule(top, named) else None


def _is_submodule(top: Path, named: Path) -> bool:
    for above in top.parents:
        modules = above / ".git" / "modules"
        if named.is_relative_to(modules) and named != modules:
            with _as_refused(named), opened(above, str(named.relative_to(above))):
                return True
    return False


def _line(fd: int, name: str) -> str:
    try:
        return os.fsdecode(read_file(fd, name, limit=_SMALL_BYTES)).rstrip("\n")
    except FileNotFoundError:
        return ""


@contextmanager
def _as_refused(path: Path) -> Iterator[None]:
    try:
        yield
    except (NotADirectoryError, NotAFile) as refused:
        raise _refused(path) from refused


def _refused(path: Path) -> CodeRepositoryRefused:
    return CodeRepositoryRefused(
        f"{path}, of the code repository around the archive, is a link or nothing that Git itself makes there.",
        hint=f"Put a plain file or folder to {path}, or set ARCHIVE_LOCATION=store.",
        data={"path": str(path)},
    )
