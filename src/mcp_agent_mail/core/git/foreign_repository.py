"""A code repository as a stranger's data: where its parts lie, and the few settings of it that are looked at.

Git itself is not asked: it would read the whole of the repository's configuration, which can name programs.
Here a fixed list of names is read, no include is followed, and every file is ordinary and bounded.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.git.config import Entry, UnfitConfig, is_true, parse_config
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain, real_path

MAX_CONFIG_BYTES = 1024 * 1024
MAX_POINTER_BYTES = 16 * 1024
MAX_LEVELS = 128
_SHOWN = 100
_KINDS_SHOWN = 3

_FORMATS = ("0", "1")
_EXTENSIONS = frozenset(
    ("noop", "noop-v1", "preciousobjects", "partialclone", "objectformat", "worktreeconfig", "relativeworktrees")
)
_HASHES = ("sha1", "sha256")
_NAMED = lazy_pattern(
    r"core\.(repositoryformatversion|bare|worktree|ignorecase|hookspath)|extensions\.[a-z0-9-]+|remote\.\*\.url"
    r"|agent-mail\.[a-z0-9-]+|(user|author)\.(name|email)|include\.path|includeif\.\*\.path"
)
"""Of the last two only that they are there is of interest, and our own."""
_ID = lazy_pattern(rb"[0-9a-f]{40}([0-9a-f]{24})?")


class UnfitRepository(InvalidInput):
    """Something lies there that is no repository which Git, or we, can work with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRepository:
    """Paths are absolute. `top` is the work tree that was found (None in a bare repository, and inside of a Git
    directory); `git_dir` belongs to that work tree, `common_dir` to all of the repository's.

    `own` and `of_work_tree` are the named settings as they stand in `config` and, if it counts, `config.worktree`.
    """

    top: str | None
    git_dir: str
    common_dir: str
    own: Sequence[Entry]
    of_work_tree: Sequence[Entry] = ()

    @property
    def settings(self) -> list[Entry]:
        """All the named settings, in the order in which Git reads them: of several values the last counts."""
        return [*self.own, *self.of_work_tree]

    @property
    def is_linked(self) -> bool:
        return self.git_dir != self.common_dir

    def values(self, name: str) -> list[str]:
        return [value if value is not None else "true" for key, value in self.settings if key == name]

    def value(self, name: str) -> str | None:
        return next(reversed(self.values(name)), None)

    def is_set(self, name: str) -> bool:
        return any(is_true(value) for value in self.values(name)[-1:])

    @property
    def hash_name(self) -> str:
        return (self.value("extensions.objectformat") or "sha1").lower()

    def holds(self, folder: str) -> bool:
        """Does `folder` lie in the work tree? The repository's own settings may have put that anywhere."""
        if self.top is None:
            return False
        return f"{os.path.realpath(folder)}/".startswith(f"{self.top.rstrip('/')}/")

    def names_work_tree(self) -> bool:
        """Does the Git directory name the work tree back, if it lies elsewhere? A planted `.git` may lead to any."""
        if self.top is None:
            return False
        if self.is_linked:
            return os.path.dirname(self.git_dir) == f"{self.common_dir}/worktrees" and _names(self.git_dir, self.top)
        # Where `core.worktree` is set, the work tree is the one that it names.
        return self.git_dir == os.path.join(self.top, ".git") or self.value("core.worktree") is not None

    def head(self) -> str:
        """What HEAD says: the full name of a ref, or the id of a commit. Raises UnfitRepository."""
        with _told_by_name():
            return _require_head(self.git_dir)

    def branch(self) -> str | None:
        """The branch checked out, one without commits too; None when detached."""
        head = self.head()
        if not head.startswith("refs/"):
            return None
        return head.removeprefix("refs/heads/") if head.startswith("refs/heads/") else head.removeprefix("refs/")


def find_repository(folder: str) -> ForeignRepository | None:
    """The repository that `folder` lies in, found as Git finds it, or none. Raises UnfitRepository, by name.

    What is neither a file nor a folder is no `.git`: newer Git stops at it too.
    """
    # What the system refuses to show is no repository.
    with suppress(OSError, ValueError), _told_by_name():
        here = real_path(folder)
        device = os.stat(here).st_dev
        for _ in range(MAX_LEVELS):
            if (found := _at(here)) is not None:
                return found
            above = os.path.dirname(here)
            if above == here or os.stat(above).st_dev != device:
                return None
            here = above
    return None


def repository_of(git_dir: str, work_tree: str | None, cwd: str) -> ForeignRepository:
    """The repository that Git's own GIT_DIR and GIT_WORK_TREE name to a hook; without the latter `cwd` is its top.
    Raises UnfitRepository.
    """
    with _told_by_name():
        place = real_path(os.path.join(cwd, git_dir))
        if not _is_git_dir(place):
            raise UnfitRepository(f"not a git repository: {place}")
        found = _opened(place, real_path(cwd))
        top = found.top if work_tree is None else real_path(os.path.join(cwd, work_tree))
    return replace(found, top=top)


def read_again(known: ForeignRepository) -> ForeignRepository:
    """The same repository with its settings as they stand now. Raises UnfitRepository."""
    with _told_by_name():
        found = _opened(known.git_dir, known.top)
    return replace(found, top=known.top)


@contextmanager
def _told_by_name() -> Iterator[None]:
    """What is wrong with one of its files is wrong with the repository."""
    try:
        yield
    except (UnfitFile, UnfitConfig) as unfit:
        raise UnfitRepository(unfit.message, hint=unfit.hint) from unfit


def _at(folder: str) -> ForeignRepository | None:
    git = f"{folder.rstrip('/')}/.git"
    if os.path.exists(git) and not os.path.isdir(git) and not os.path.isfile(git):
        raise UnfitRepository(f"not a git repository: {git} is no folder and no ordinary file.")
    if os.path.isfile(git):
        place = _pointed_at(git, folder)
        if not _is_git_dir(place):
            raise UnfitRepository(f"not a git repository: {git} names {place}, which is none.")
        return _opened(place, folder)
    if _is_git_dir(git):
        return _opened(real_path(git), folder)
    return _opened(folder, None) if _is_git_dir(folder) else None


def _pointed_at(file: str, folder: str) -> str:
    text = _text(file, MAX_POINTER_BYTES) or ""
    if not text.startswith("gitdir: "):
        raise UnfitRepository(f"not a git repository: {file} names no Git directory.")
    return real_path(os.path.join(folder, text.removeprefix("gitdir: ").rstrip("\r\n")))


def _names(git_dir: str, top: str) -> bool:
    """Is `top` the work tree that the Git directory of a linked one names? Links on either way make no difference."""
    try:
        file = (_text(f"{git_dir}/gitdir", MAX_POINTER_BYTES) or "").rstrip("\r\n")
        return bool(file) and real_path(os.path.join(git_dir, os.path.dirname(file))) == top
    except UnfitFile:
        return False


def _is_git_dir(place: str) -> bool:
    """Git's own three marks: a HEAD that says something, objects and refs."""
    if not os.path.isdir(place) or _head(place) is None:
        return False
    common = _common_dir(place)
    return os.path.isdir(f"{common}/objects") and os.path.isdir(f"{common}/refs")


def _common_dir(git_dir: str) -> str:
    text = _text(f"{git_dir}/commondir", MAX_POINTER_BYTES)
    return git_dir if text is None else real_path(os.path.join(git_dir, text.rstrip("\r\n")))


def _opened(git_dir: str, top: str | None) -> ForeignRepository:
    common_dir = _common_dir(git_dir)
    own = _named_settings(f"{common_dir}/config")
    found = ForeignRepository(top=top, git_dir=git_dir, common_dir=common_dir, own=own)
    _require_known_format(found)
    if found.is_set("extensions.worktreeconfig"):
        found = replace(found, of_work_tree=_named_settings(f"{git_dir}/config.worktree"))
    return replace(found, top=_top(found))


def _top(found: ForeignRepository) -> str | None:
    """Where the settings put the work tree; those of the main one say nothing about a linked one."""
    settings = found.of_work_tree if found.is_linked else found.settings
    elsewhere = next((value for name, value in reversed(settings) if name == "core.worktree" and value), None)
    if elsewhere is not None:
        return real_path(os.path.join(found.git_dir, elsewhere))
    is_bare = next((is_true(value) for name, value in reversed(settings) if name == "core.bare"), False)
    return None if is_bare else found.top


def _require_known_format(found: ForeignRepository) -> None:
    version = found.value("core.repositoryformatversion") or "0"
    unknown = [
        f"{name} = {value}"
        for name, value in found.settings
        if name.startswith("extensions.")
        and name.removeprefix("extensions.") not in _EXTENSIONS
        and (name, value) != ("extensions.refstorage", "files")
    ]
    if version not in _FORMATS:
        unknown.append(f"core.repositoryformatversion = {version}")
    if found.hash_name not in _HASHES:
        unknown.append(f"extensions.objectformat = {found.hash_name}")
    if unknown:
        told = ", ".join(entry[:_SHOWN] for entry in unknown[:_KINDS_SHOWN])
        raise UnfitRepository(f"{found.common_dir} is of a kind that is not read yet: {told}.")


def _named_settings(file: str) -> list[Entry]:
    text = _text(file, MAX_CONFIG_BYTES)
    try:
        return parse_config(text or "", _NAMED)
    except UnfitConfig as unfit:
        raise UnfitRepository(f"{file}: {unfit.message}", hint=unfit.hint, data={"path": file}) from unfit


def _require_head(git_dir: str) -> str:
    head = _head(git_dir)
    if head is None:
        raise UnfitRepository(f"{git_dir}/HEAD names neither a ref nor a commit.")
    return head


def _head(git_dir: str) -> str | None:
    file = f"{git_dir}/HEAD"
    try:
        if stat.S_ISLNK(os.lstat(file).st_mode):
            target = os.readlink(file)
            return target if target.startswith("refs/") else None
    except OSError:
        return None
    content = read_plain(file, MAX_POINTER_BYTES) or b""
    if content.startswith(b"ref:"):
        name = os.fsdecode(content.removeprefix(b"ref:").strip())
        return name if name.startswith("refs/") and "\n" not in name else None
    found = _ID.match(content)
    return found[0].decode() if found else None


def _text(file: str, at_most: int) -> str | None:
    content = read_plain(file, at_most)
    return None if content is None else os.fsdecode(content)
