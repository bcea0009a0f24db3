"""The guard in a folder of its own inside the repository's Git directory, with every other hook forwarded.

For repositories where Git looks for hooks in a folder that is not ours to write into: tracked files of the
team, husky's generated ones, a folder that one user has for all repositories, or a hook that must keep its name.
That folder and core.hooksPath stay as they are: an include behind them, which holds for this place only, says
where Git is to look. Whoever sets core.hooksPath anew, as husky does at every install, changes the value before
the include, and is followed. When the repository is moved the include no longer holds: the other hooks work on.
"""

from __future__ import annotations

import re
from pathlib import Path

from mcp_agent_mail.guard.hook_chain import Change, HookInTheWay, former_of
from mcp_agent_mail.guard.hook_place import GUARDED, OUR_FOLDER, CodeRepository
from mcp_agent_mail.guard.hook_shim import Kind, Program, forwarder, guard_shim, is_runnable, kind_of, write_shim

_CONFIG = "hooks.config"
_INCLUDED = f"{OUR_FOLDER}/{_CONFIG}"
_INCLUDES = r"^includeif\.gitdir:.*\.path$"

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
    """core.hooksPath as it would be without us."""
    ours = str(repository.front_hooks)
    return next((path for _, path in reversed(repository.hooks_paths()) if path != ours), None)


def is_in_front(repository: CodeRepository) -> bool:
    """Whether Git looks for its hooks in our folder."""
    paths = repository.hooks_paths()
    return bool(paths) and paths[-1][1] == str(repository.front_hooks)


def place_in_front(repository: CodeRepository, program: Program) -> Change:
    """Safe to repeat. Raises HookInTheWay."""
    folder = repository.front_hooks
    wanted = _files(repository, program)
    for path in wanted:
        if kind_of(path) not in (Kind.NOTHING, Kind.OURS):
            raise HookInTheWay(
                f"Somebody has put a hook of their own at {path}, into the guard's folder, or changed ours there.",
                hint=f"Move {path} to where your other hooks are, then install again.",
                data={"path": str(path)},
            )
    folder.mkdir(parents=True, exist_ok=True)
    changed = [path for path, content in wanted.items() if write_shim(path, content)]
    if is_in_front(repository):
        return Change.CHAINED if changed else Change.UNCHANGED
    _point_git_here(repository)
    return Change.CHAINED


def leave_front(repository: CodeRepository) -> tuple[bool, list[str]]:
    """Git looks where it looked before: whether anything was taken away, and what had to be left."""
    was_there = _forget_includes(repository)
    folder = repository.front_hooks
    (folder.parent / _CONFIG).unlink(missing_ok=True)
    left = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if kind_of(path) is Kind.OURS:
            path.unlink()
            was_there = True
        else:
            left.append(f"{path} is not as `am guard install` wrote it, and is left; Git no longer looks there")
    for empty in (folder, folder.parent):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()
    return was_there, left


def _files(repository: CodeRepository, program: Program) -> dict[Path, bytes]:
    """Every file of our folder. The guard's former hooks are forwarders, so its files are the same everywhere."""
    folder = repository.front_hooks
    others = Path(repository.top, hooks_path_of_others(repository) or repository.plain_hooks)
    there = [name for name in _FORWARDED_IF_THERE if is_runnable(others / name)]
    forward = forwarder(folder)
    files = {folder / name: forward for name in (*_FORWARDED, *there)}
    for hook in GUARDED:
        files[former_of(folder / hook)] = forward
        files[folder / hook] = guard_shim(hook, program)
    return files


def _point_git_here(repository: CodeRepository) -> None:
    _forget_includes(repository)
    config = repository.front_hooks.parent / _CONFIG
    repository.set_config("core.hooksPath", str(repository.front_hooks), file=config)
    # The pattern is Git's own kind: what is special in it must be told apart. Linked work trees lie below.
    place = re.sub(r"([*?\[\]\\])", r"\\\1", str(repository.common_dir))
    for pattern in (place, f"{place}/"):
        repository.set_config(f"includeIf.gitdir:{pattern}.path", _INCLUDED)
    if not is_in_front(repository):
        scope, path = repository.hooks_paths()[-1] if repository.hooks_paths() else ("local", "")
        leave_front(repository)
        raise HookInTheWay(
            f"core.hooksPath is {path} by the {scope} configuration, which nothing of the repository can come before.",
            hint="Set it for the repository (git config --local core.hooksPath ...) and unset it there.",
            data={"scope": scope, "path": path},
        )


def _forget_includes(repository: CodeRepository) -> bool:
    """Also of places where the repository was before it was moved."""
    ours = [name for name, value in repository.config_like(_INCLUDES) if value == _INCLUDED]
    for name in ours:
        repository.unset_config(name)
    return bool(ours)
