"""The guard in a folder of its own inside the repository's Git directory, with every other hook forwarded.

For repositories where Git looks for hooks in a folder that is not ours to write into: tracked files of the
team, husky's generated ones, a folder that one user has for all repositories, or a hook that must keep its name.
That folder and core.hooksPath stay as they are: an include behind them, which holds for this place only, says
where Git is to look. Whoever sets core.hooksPath anew, as husky does at every install, changes the value before
the include, and is followed. When the repository is moved the include no longer holds: the other hooks work on.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from mcp_agent_mail.core.git.config import quoted
from mcp_agent_mail.guard.hooks.chain import Change, HookInTheWay, former_of
from mcp_agent_mail.guard.hooks.code_repository import GUARDED, INCLUDED, OUR_CONFIG, OUR_FOLDER, CodeRepository
from mcp_agent_mail.guard.hooks.folder import GitDirectory, HookFile, HookFolder, open_folder_of_others
from mcp_agent_mail.guard.hooks.shim import HookFileKind, Program, forwarder, guard_shim, kind_of, write_shim
from mcp_agent_mail.guard.repository_config import Edit, edit_config

_READABLE = 0o644

_FORWARDED = (
    *("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "applypatch-msg"),
    *("pre-applypatch", "post-applypatch", "pre-rebase", "post-rewrite", "post-checkout", "post-merge"),
    *("pre-push", "pre-auto-gc", "sendemail-validate"),
)
"""Hooks of ordinary work. That one exists changes nothing when there is nothing to forward to."""

_FORWARDED_IF_THERE = (
    *("pre-receive", "update", "post-receive", "post-update", "proc-receive", "push-to-checkout"),
    *("reference-transaction", "post-index-change"),
)
"""Hooks whose mere existence changes what Git does, or costs time at every step."""


def hooks_path_of_others(repository: CodeRepository) -> str | None:
    """The value that core.hooksPath would have without us; None where nobody sets it."""
    ours = str(repository.front_hooks)
    return next((path for _, path in reversed(repository.hooks_paths()) if path != ours), None)


def is_in_front(repository: CodeRepository) -> bool:
    """Whether Git looks for its hooks in our folder."""
    paths = repository.hooks_paths()
    return bool(paths) and paths[-1][1] == str(repository.front_hooks)


def place_in_front(repository: CodeRepository, git_dir: GitDirectory, program: Program) -> Change:
    """Fill our folder, and let Git look for hooks there. Safe to repeat. Raises HookInTheWay."""
    wanted = _files(repository, git_dir.folder(OUR_FOLDER, "hooks"), program)
    for hook in wanted:
        if kind_of(hook) not in (HookFileKind.NOTHING, HookFileKind.OURS):
            raise HookInTheWay(
                f"Somebody has put a hook of their own at {hook.path}, into the guard's folder, or changed ours there.",
                hint=f"Move {hook.path} to where your other hooks are, then install again.",
                data={"path": str(hook.path)},
            )
    folder = git_dir.folder(OUR_FOLDER, "hooks", make=True)
    changed = [hook for hook, content in wanted.items() if write_shim(folder.file(hook.name), content)]
    if is_in_front(repository):
        return Change.CHAINED if changed else Change.UNCHANGED
    _point_git_here(repository, git_dir)
    return Change.CHAINED


def leave_front(repository: CodeRepository, git_dir: GitDirectory) -> tuple[bool, list[str]]:
    """Let Git look for hooks where it did before: whether anything was taken away, and what had to be left."""
    includes = repository.includes_of_ours()
    edit_config(git_dir.root, _without(includes))
    was_there = bool(includes)
    git_dir.folder(OUR_FOLDER).file(OUR_CONFIG).unlink()
    folder = git_dir.folder(OUR_FOLDER, "hooks")
    left = []
    for hook in map(folder.file, folder.names()):
        if kind_of(hook) is HookFileKind.OURS:
            hook.unlink()
            was_there = True
        else:
            left.append(f"{hook.path} is not as `am guard install` wrote it, and is left; Git no longer looks there")
    if folder.descriptor is not None:
        git_dir.remove_if_empty(OUR_FOLDER, "hooks")
    git_dir.remove_if_empty(OUR_FOLDER)
    return was_there, left


def _files(repository: CodeRepository, folder: HookFolder, program: Program) -> dict[HookFile, bytes]:
    """Every file of our folder. The guard's former hooks are forwarders, so its files are the same everywhere."""
    with open_folder_of_others(
        Path(repository.top, hooks_path_of_others(repository) or repository.plain_hooks)
    ) as others:
        there = [name for name in _FORWARDED_IF_THERE if others.file(name).is_runnable()]
    forward = forwarder(folder.path)
    files = {folder.file(name): forward for name in (*_FORWARDED, *there)}
    for hook in GUARDED:
        files[former_of(folder.file(hook))] = forward
        files[folder.file(hook)] = guard_shim(hook, program)
    return files


def _point_git_here(repository: CodeRepository, git_dir: GitDirectory) -> None:
    text = f"[core]\n\thooksPath = {quoted(str(repository.front_hooks))}\n"
    git_dir.folder(OUR_FOLDER).file(OUR_CONFIG).write(os.fsencode(text), mode=_READABLE)
    # The pattern is Git's own kind: what is special in it must be told apart. Linked work trees lie below.
    place = re.sub(r"([*?\[\]\\])", r"\\\1", str(repository.common_dir))
    here: list[Edit] = [(f"includeIf.gitdir:{pattern}.path", INCLUDED) for pattern in (place, f"{place}/")]
    edit_config(git_dir.root, [*_without(repository.includes_of_ours()), *here])
    if not is_in_front(repository):
        scope, path = repository.hooks_paths()[-1] if repository.hooks_paths() else ("local", "")
        leave_front(repository, git_dir)
        raise HookInTheWay(
            f"core.hooksPath is {path} by the {scope} configuration, which nothing of the repository can come before.",
            hint="Set it for the repository (git config --local core.hooksPath ...) and unset it there.",
            data={"scope": scope, "path": path},
        )


def _without(includes: list[str]) -> list[Edit]:
    return [("--unset-all", name) for name in dict.fromkeys(includes)]
