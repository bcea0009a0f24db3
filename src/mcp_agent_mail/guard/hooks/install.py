"""Install the guard into a code repository and take it out again. Everything is local: no server is asked.

The project stands in the repository's own configuration, which all its work trees share.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.guard.hooks.chain import Change, chain, former_of, require_ordinary, require_room, unchain
from mcp_agent_mail.guard.hooks.code_repository import GUARDED, CodeRepository, find_code_repository, only_one
from mcp_agent_mail.guard.hooks.folder import GitDirectory, HookFolder
from mcp_agent_mail.guard.hooks.hooks_path import hooks_path_of_others, leave_front, place_in_front
from mcp_agent_mail.guard.hooks.shim import HookFileKind, Program, asks_its_name, guard_shim, kind_of
from mcp_agent_mail.guard.repository import PROJECT_KEY
from mcp_agent_mail.guard.repository_config import edit_config

_HOOKS = "hooks"
_RECORDED_KEY = "agent-mail.installedProject"
"""What `install_guard` wrote under `PROJECT_KEY`: only that is `uninstall_guard`'s to remove."""


class OtherProject(Conflict):
    """The repository is recorded as another project's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """`hook` is the path of pre-commit; pre-push lies beside it."""

    hook: Path
    status: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Uninstalled:
    """`left` are sentences about what somebody changed after us and was therefore not touched."""

    removed: bool
    left: Sequence[str]


def install_guard(path: Path, project: str, *, replace: bool = False, program: Program | None = None) -> Installed:
    """Guard the repository that `path` lies in, as one of `project` (its human key). Safe to repeat.

    The hooks start `program`, else what is running now. Raises NoCodeRepository, OtherProject (unless
    `replace`) and HookInTheWay, and has changed nothing then.
    """
    repository = find_code_repository(path)
    program = program or Program.running()
    with only_one(repository) as git_dir:
        recorded = repository.config(PROJECT_KEY)
        if recorded not in (None, project) and not replace:
            raise _other_project(repository, str(recorded), project)
        in_front = _must_stand_in_front(repository, git_dir)
        status = (_stand_in_front if in_front else _stand_in_plain)(repository, git_dir, program)
        if recorded != project:
            edit_config(git_dir.root, [("--replace-all", key, project) for key in (PROJECT_KEY, _RECORDED_KEY)])
            status = Change.INSTALLED if status is Change.UNCHANGED else status
        folder = repository.front_hooks if in_front else repository.plain_hooks
        return Installed(hook=folder / GUARDED[0], status=status)


def uninstall_guard(path: Path) -> Uninstalled:
    """Take the guard away and put back what was there. Safe to repeat. Raises NoCodeRepository."""
    repository = find_code_repository(path)
    with only_one(repository) as git_dir:
        removed, left = leave_front(repository, git_dir)
        plain = _plain_hooks(git_dir)
        for hook in GUARDED:
            was_there, reason = unchain(plain.file(hook))
            removed |= was_there
            left += [reason] if reason else []
        recorded = repository.config(_RECORDED_KEY)
        if recorded is not None:
            keys = [_RECORDED_KEY, *([PROJECT_KEY] if recorded == repository.config(PROJECT_KEY) else [])]
            edit_config(git_dir.root, [("--unset-all", key) for key in keys])
            removed = True
        return Uninstalled(removed=removed, left=left)


def recorded_project(path: Path) -> str | None:
    """The project that the repository says it belongs to. Raises NoCodeRepository."""
    return find_code_repository(path).config(PROJECT_KEY)


def default_project(repository: CodeRepository) -> str:
    """What all work trees of the repository mean: the main one's top, or this one's where there is no main one."""
    common_dir = repository.common_dir
    return str(common_dir.parent if common_dir.name == ".git" else repository.top)


def _must_stand_in_front(repository: CodeRepository, git_dir: GitDirectory) -> bool:
    """Whether the folder where Git looks is somebody else's, may be so, or a hook in it must keep its name."""
    if hooks_path_of_others(repository) is not None or repository.includes_of_others():
        return True
    if git_dir.is_link(_HOOKS):
        return True
    plain = git_dir.folder(_HOOKS)
    there = [each for hook in GUARDED for each in (plain.file(hook), former_of(plain.file(hook)))]
    return any(kind_of(hook) is HookFileKind.FOREIGN and asks_its_name(hook) for hook in there)


def _plain_hooks(git_dir: GitDirectory) -> HookFolder:
    """A linked folder of hooks is not ours: nothing of ours lies in it."""
    if git_dir.is_link(_HOOKS):
        return HookFolder(path=git_dir.root.path / _HOOKS, descriptor=None)
    return git_dir.folder(_HOOKS)


def _stand_in_plain(repository: CodeRepository, git_dir: GitDirectory, program: Program) -> Change:
    plain = git_dir.folder(_HOOKS, make=True)
    for hook in GUARDED:
        require_ordinary(plain.file(hook))
        require_room(plain.file(hook))
    changes = [chain(plain.file(hook), guard_shim(hook, program)) for hook in GUARDED]
    if leave_front(repository, git_dir)[0]:
        changes.append(Change.INSTALLED)
    return next((change for change in (Change.CHAINED, Change.INSTALLED) if change in changes), Change.UNCHANGED)


def _stand_in_front(repository: CodeRepository, git_dir: GitDirectory, program: Program) -> Change:
    """An earlier installation may have left ours where Git no longer looks."""
    status = place_in_front(repository, git_dir, program)
    plain = _plain_hooks(git_dir)
    for hook in GUARDED:
        unchain(plain.file(hook))
    return status


def _other_project(repository: CodeRepository, recorded: str, project: str) -> OtherProject:
    return OtherProject(
        f"{repository.top} belongs to the project {recorded} already, not to {project}.",
        hint=f"Use {recorded}, or let a person change it: am guard install --replace --project {project}",
        data={"parameter": "project_key", "recorded": recorded, "asked": project},
    )
