"""Install the guard into a code repository and take it out again. Everything is local: no server is asked.

The project stands in the repository's own configuration, which all its work trees share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.guard.hook_chain import Change, chain, former_of, require_room, unchain
from mcp_agent_mail.guard.hook_front import hooks_path_of_others, leave_front, place_in_front
from mcp_agent_mail.guard.hook_place import GUARDED, PROJECT_KEY, CodeRepository, find_code_repository, only_one
from mcp_agent_mail.guard.hook_shim import Kind, Program, asks_its_name, guard_shim, kind_of

_RECORDED_KEY = "agent-mail.installedProject"
"""What `install` wrote under `PROJECT_KEY`: only that is `uninstall`'s to remove."""


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
    with only_one(repository):
        recorded = repository.config(PROJECT_KEY)
        if recorded not in (None, project) and not replace:
            raise _other_project(repository, str(recorded), project)
        in_front = _must_stand_in_front(repository)
        status = (_stand_in_front if in_front else _stand_in_plain)(repository, program)
        if recorded != project:
            repository.set_config(PROJECT_KEY, project)
            repository.set_config(_RECORDED_KEY, project)
            status = Change.INSTALLED if status is Change.UNCHANGED else status
        folder = repository.front_hooks if in_front else repository.plain_hooks
        return Installed(hook=folder / GUARDED[0], status=status)


def uninstall_guard(path: Path) -> Uninstalled:
    """Take the guard away and put back what was there. Safe to repeat. Raises NoCodeRepository."""
    repository = find_code_repository(path)
    with only_one(repository):
        removed, left = leave_front(repository)
        for hook in GUARDED:
            was_there, reason = unchain(repository.plain_hooks / hook)
            removed |= was_there
            left += [reason] if reason else []
        recorded = repository.config(_RECORDED_KEY)
        if recorded is not None:
            if recorded == repository.config(PROJECT_KEY):
                repository.unset_config(PROJECT_KEY)
            repository.unset_config(_RECORDED_KEY)
            removed = True
        return Uninstalled(removed=removed, left=left)


def recorded_project(path: Path) -> str | None:
    """The project that the repository says it belongs to. Raises NoCodeRepository."""
    return find_code_repository(path).config(PROJECT_KEY)


def default_project(repository: CodeRepository) -> str:
    """What all work trees of the repository mean: the main one's top, or this one's where there is no main one."""
    common_dir = repository.common_dir
    return str(common_dir.parent if common_dir.name == ".git" else repository.top)


def _must_stand_in_front(repository: CodeRepository) -> bool:
    """Whether the folder where Git looks is somebody else's, or a hook in it must keep its name."""
    if hooks_path_of_others(repository) is not None:
        return True
    plain = repository.plain_hooks
    if not plain.resolve().is_relative_to(repository.common_dir.resolve()):
        return True
    there = [path for hook in GUARDED for path in (plain / hook, former_of(plain / hook))]
    return any(kind_of(path) is Kind.FOREIGN and asks_its_name(path) for path in there)


def _stand_in_plain(repository: CodeRepository, program: Program) -> Change:
    plain = repository.plain_hooks
    plain.mkdir(exist_ok=True)
    for hook in GUARDED:
        require_room(plain / hook)
    changes = [chain(plain / hook, guard_shim(hook, program)) for hook in GUARDED]
    if leave_front(repository)[0]:
        changes.append(Change.INSTALLED)
    return next((change for change in (Change.CHAINED, Change.INSTALLED) if change in changes), Change.UNCHANGED)


def _stand_in_front(repository: CodeRepository, program: Program) -> Change:
    """An earlier installation may have left ours where Git no longer looks."""
    status = place_in_front(repository, program)
    for hook in GUARDED:
        unchain(repository.plain_hooks / hook)
    return status


def _other_project(repository: CodeRepository, recorded: str, project: str) -> OtherProject:
    return OtherProject(
        f"{repository.top} belongs to the project {recorded} already, not to {project}.",
        hint=f"Use {recorded}, or let a person change it: am guard install --replace --project {project}",
        data={"parameter": "project_key", "recorded": recorded, "asked": project},
    )
