"""An archive's Git directory: beside objects and references only what we wrote, for our Git runs and for people's.

It lies in the store. Its configuration, attributes and excludes are ours; of others only a person's name and remotes
stay, as `git config` writes them. What would make Git read another place is refused.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Never

from mcp_agent_mail.archive.folders import opened, remove_unfinished, replace_file
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.git.config import quoted
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain, real_path

STATE = Path(".git/agent-mail")
"""Inside an archive: where its writer keeps its notes."""

_WORK_TREE = "work-tree"
REAL_WORK_TREE = "work-tree.real"
_SET_ASIDE = "config.set-aside"
_MOST_BYTES = 1 << 20
_LONGEST_PATH = 1 << 13
_MAY_HOLD_ENTRIES = ("", STATE.name, "info", "refs", "refs/heads", "objects", "objects/info")
"""Folders whose entries Git, or we, open by name."""

# What a person's own Git in the work tree must know too; our calls pass the rest themselves.
_CORE = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\thooksPath = /dev/null
\tautocrlf = false
"""
_WORK_TREE_LINE = "\tworktree = {}\n"
_REST = """\
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fastimport]
\tunpackLimit = 0
"""
_THINNED = """\
[core]
\tsparseCheckout = true
\tsparseCheckoutCone = true
[index]
\tsparse = true
"""
# As `git config` and `git remote add` write them. No quotation mark and no backslash: a value ends with its line.
_OF_PEOPLE = lazy_pattern(
    r'\[(?:user|(?:remote|branch) "[\w./-]+")\]|'
    r"\t(?:name|email|url|pushurl|fetch|remote|merge) = [^\\\"#;\x00-\x1f]*"
)

# Bytes are bytes: whatever a `.gitattributes` in the work tree says, Git converts nothing and filters nothing.
# `diff` and `merge` as they are built in: without them people would be shown "Binary files differ".
_ATTRIBUTES = b"* -text -eol -crlf -ident -filter -working-tree-encoding diff merge\n"
_EXCLUDES = b"/.agent-mail-new*\n/.git.set-aside*\n"


class ArchiveRefused(Conflict):
    """This repository is not written to until somebody has decided what it is. Others are not affected."""


class NotOurGitFolder(ArchiveRefused):
    """The Git directory is not one that we set up and that stands for itself."""


def read_note(note: Path, most: int = _MOST_BYTES) -> bytes | None:
    """What a note beside an archive, or a small file of its Git directory, says; None where there is none. No link in
    its place is followed, nothing waits, and no more than `most` bytes are read. Raises UnfitFile.
    """
    try:
        with opened(note.parent) as folder:
            return read_plain(note.name, most, follow=False, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None


def said_in(note: Path, most: int = _MOST_BYTES) -> str | None:
    """As `read_note`, as text, whatever bytes it has; of what is no plain file, or too large, nothing is known."""
    try:
        content = read_note(note, most)
    except UnfitFile:
        return None
    return None if content is None else content.decode(errors="replace")


def _noted_path(note: Path) -> Path | None:
    """Raises NotOurGitFolder for a note that is none of ours: where the files lie is then not known."""
    try:
        content = read_note(note, _LONGEST_PATH)
    except UnfitFile as unfit:
        raise NotOurGitFolder(
            f"{note} does not say where the archive's files lie: {unfit.message}",
            hint=f"Put a plain file there that names the directory, or move {note.parents[2]} away and keep it.",
            data={"path": str(note)},
        ) from unfit
    return None if content is None else Path(os.fsdecode(content.removesuffix(b"\n")))


def work_tree_of(path: Path) -> Path:
    """Where the files of the archive at `path` lie: in the folder that was noted when it was begun, else at `path`
    itself.
    """
    if path.is_symlink():
        return path  # Of former times: nothing is read behind it.
    noted = _noted_path(path / STATE / _WORK_TREE)
    return path if noted is None else noted


def real_work_tree_of(path: Path) -> Path:
    """As `work_tree_of`, with the links on the way resolved when the archive was begun: files are written there,
    wherever the path that a person named leads by now.

    Where that was never noted the links are resolved as they are.
    """
    named = work_tree_of(path)
    if named == path:
        return path
    noted = _noted_path(path / STATE / REAL_WORK_TREE)
    return _real(named) if noted is None else noted


def is_real_work_tree_noted(path: Path) -> bool:
    return not path.is_symlink() and (path / STATE / REAL_WORK_TREE).exists()


def note_real_work_tree(path: Path) -> None:
    """Note where the files really lie: for an archive that was begun before this was noted, or whose note a person has
    removed to move the files.
    """
    with opened(path / ".git", STATE.name) as state:
        remove_unfinished(state, REAL_WORK_TREE)
        replace_file(state, REAL_WORK_TREE, _line(real_work_tree_of(path)))


def _real(work_tree: Path) -> Path:
    return Path(real_path(str(work_tree.parent))) / work_tree.name


def _line(path: Path) -> bytes:
    return os.fsencode(path) + b"\n"


def begin_git_folder(folder: Path, path: Path, work_tree: Path) -> None:
    """In a Git directory that is being built for the archive at `path`. The caller puts it on disk."""
    (folder / STATE.name).mkdir()
    if work_tree != path:
        (folder / STATE.name / _WORK_TREE).write_text(f"{work_tree}\n")
        (folder / STATE.name / REAL_WORK_TREE).write_bytes(_line(_real(work_tree)))
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "attributes").write_bytes(_ATTRIBUTES)
    (folder / "info" / "exclude").write_bytes(_EXCLUDES)
    (folder / "config").write_text(_configuration(path, work_tree))


def require_ours(path: Path) -> None:
    """Raise NotOurGitFolder unless Git may be run on the archive at `path`, which is there. Changes nothing."""
    _require_own(path)
    config = _config_of(path)
    if _people_lines(path, config) is None:
        raise NotOurGitFolder(
            f"{path / '.git' / 'config'} holds settings that are not the archive's.",
            hint=f"The server puts them aside (as {_SET_ASIDE}) when it next opens the archive; settings of your own "
            "belong into ~/.gitconfig.",
            data={"path": str(path)},
        )


def make_ours(path: Path) -> None:
    """What lies beside objects and references in the archive at `path` is ours from now on. Under the archive's lock.

    Other settings are put aside. Raises NotOurGitFolder for what cannot be put right here.
    """
    _require_own(path)
    config = _config_of(path)
    with opened(path / ".git") as folder:
        for name in ("config", _SET_ASIDE):
            remove_unfinished(folder, name)
        if _people_lines(path, config) is None:
            replace_file(folder, _SET_ASIDE, config.encode("utf-8", "surrogateescape"))
            kept = _configuration(path, work_tree_of(path)) + (_THINNED if _is_thinned(path) else "")
            replace_file(folder, "config", kept.encode())
    with opened(path / ".git", "info", make=True) as info:
        for name, content in (("attributes", _ATTRIBUTES), ("exclude", _EXCLUDES)):
            remove_unfinished(info, name)
            if _read(info, name) != content:
                replace_file(info, name, content)


def is_switched_on(path: Path) -> bool:
    """Does the configuration say that the archive is thinned?"""
    return _THINNED in _config_of(path)


def switch_on(path: Path) -> None:
    """Tell Git, in the repository's own configuration, that it is thinned; on disk when this returns.

    Told by its arguments, `git sparse-checkout` would write it into a file that it does not sync: what a loss of
    power leaves of that can stop every later command.
    """
    if not is_switched_on(path):
        with opened(path / ".git") as folder:
            replace_file(folder, "config", (_config_of(path) + _THINNED).encode("utf-8", "surrogateescape"))


def _require_own(path: Path) -> None:
    git_path = path / ".git"
    if not stat.S_ISDIR(git_path.lstat().st_mode):
        raise NotOurGitFolder(
            f"{git_path} is a link or a file that leads elsewhere; the Git directory of an archive lies in the store.",
            hint=f"Put the directory itself to {git_path}.",
            data={"path": str(path)},
        )
    for name in ("commondir", "objects/info/alternates", "objects/info/http-alternates"):
        if (git_path / name).is_symlink() or (git_path / name).exists():
            raise NotOurGitFolder(
                f"{git_path / name} makes Git read another repository as this archive.",
                hint=f"Move {path} away and keep it. If it is yours, clone it whole (git clone --no-local), put that "
                "in its place, and it is gone on with by itself.",
                data={"path": str(git_path / name)},
            )
    for name in _MAY_HOLD_ENTRIES:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(git_path / name) as entries:
            for entry in entries:
                _require_plain(Path(entry.path))


def require_plain_below(path: Path) -> None:
    """Raise NotOurGitFolder for anything in the Git directory of the archive at `path` that is neither file nor folder:
    before Git runs in one that a stranger has made, and would wait there for ever, or read on without end.
    """
    for folder, folders, files in os.walk(path / ".git", onerror=_fail):
        for name in (*folders, *files):
            _require_plain(Path(folder, name), takes_links=False)


def _fail(failed: OSError) -> Never:
    raise failed


def _require_plain(path: Path, *, takes_links: bool = True) -> None:
    try:
        mode = path.stat(follow_symlinks=takes_links).st_mode
    except FileNotFoundError:
        return  # It is gone meanwhile, or a link that leads nowhere.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise NotOurGitFolder(
            f"{path} is neither a file nor a folder: Git would wait there, or read without end.",
            hint="Look who has put it there. If nobody needs it, remove it.",
            data={"path": str(path)},
        )


def _configuration(path: Path, work_tree: Path) -> str:
    named = "" if work_tree == path else _WORK_TREE_LINE.format(quoted(str(work_tree)))
    return f"{_CORE}{named}{_REST}"


def _people_lines(path: Path, config: str) -> list[str] | None:
    """Lines of people after those that are ours; None where anything else stands."""
    ours = _configuration(path, work_tree_of(path))
    if not config.startswith(ours):
        return None
    rest = config.removeprefix(ours).replace(_THINNED, "", 1).removesuffix("\n")
    lines = rest.split("\n") if rest else []
    return lines if all(map(_OF_PEOPLE.fullmatch, lines)) else None


def _is_thinned(path: Path) -> bool:
    return is_switched_on(path) or (path / STATE / "months").exists()


def _config_of(path: Path) -> str:
    with opened(path / ".git") as folder:
        return (_read(folder, "config") or b"").decode("utf-8", "surrogateescape")


def _read(fd: int, name: str) -> bytes | None:
    """None too for what is no plain file: it is replaced."""
    try:
        return read_plain(name, _MOST_BYTES, follow=False, dir_fd=fd)
    except UnfitFile:
        return None
