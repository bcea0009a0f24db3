"""How the guard stands in a code repository: what is in effect, what is not, and what to do about it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.guard.hooks.chain import former_of
from mcp_agent_mail.guard.hooks.code_repository import GUARDED, CodeRepository, find_code_repository
from mcp_agent_mail.guard.hooks.folder import HookFile, HookFolder, open_folder_of_others
from mcp_agent_mail.guard.hooks.hooks_path import hooks_path_of_others, is_in_front
from mcp_agent_mail.guard.hooks.shim import HookFileKind, Tool, kind_of, tool_of
from mcp_agent_mail.guard.repository import PROJECT_KEY

_ENTRY = "mcp_agent_mail/__main__.py"


class HookState(StrEnum):
    """What Git will run for a hook."""

    INSTALLED = "installed"
    CHAINED = "chained"
    CALLED = "called"
    """By the pre-commit framework's hook, which took our place and runs ours first."""
    MISSING = "missing"
    CHANGED = "changed"
    REPLACED = "replaced"
    FOREIGN = "foreign"
    NOT_LOOKED_AT = "not looked at"


_GUARDING = {HookState.INSTALLED, HookState.CHAINED, HookState.CALLED}

_NEXT = {
    HookState.MISSING: "am guard install",
    HookState.CHANGED: "somebody edited it: move it away, then am guard install",
    HookState.REPLACED: "another program put its hook in our place: am guard install takes it along",
    HookState.FOREIGN: "am guard install runs the guard, then this hook",
    HookState.NOT_LOOKED_AT: "core.hooksPath was set since: am guard install",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStatus:
    """One hook. `former` is the one that runs after ours."""

    hook: str
    path: Path
    standing: HookState
    former: Path | None

    @property
    def guards(self) -> bool:
        return self.standing in _GUARDING

    @property
    def next_step(self) -> str | None:
        return _NEXT.get(self.standing)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardStatus:
    """`hooks_path` is core.hooksPath as others set it; `python` what the installed hook starts, and whether it can."""

    top: Path
    common_dir: Path
    folder: Path
    in_front: bool
    hooks_path: str | None
    hooks: Sequence[HookStatus]
    project: str | None
    name: str | None
    python: str | None
    is_runnable: bool


def look_at_guard(path: Path) -> GuardStatus:
    """How the guard stands in the repository around `path`. Changes nothing. Raises NoCodeRepository."""
    repository = find_code_repository(path)
    in_front = is_in_front(repository)
    hooks_path = hooks_path_of_others(repository)
    folder = _folder(repository, hooks_path, in_front=in_front)
    with open_folder_of_others(folder) as opened:
        hooks = [_standing(repository, opened, hook) for hook in GUARDED]
        python, packages = _recorded_program([opened.file(hook) for hook in GUARDED])
    return GuardStatus(
        top=repository.top,
        common_dir=repository.common_dir,
        folder=folder,
        in_front=in_front,
        hooks_path=hooks_path,
        hooks=hooks,
        project=repository.config(PROJECT_KEY),
        name=repository.user_config("agent-mail.name"),
        python=python,
        is_runnable=python is not None and _can_start(python, packages or ""),
    )


def _folder(repository: CodeRepository, hooks_path: str | None, *, in_front: bool) -> Path:
    """Where Git looks for hooks now; a relative core.hooksPath counts from the work tree's top."""
    if in_front:
        return repository.front_hooks
    return repository.top / hooks_path if hooks_path is not None else repository.plain_hooks


def _standing(repository: CodeRepository, folder: HookFolder, name: str) -> HookStatus:
    hook = folder.file(name)
    former = _former(repository, hook)
    kind = kind_of(hook)
    if kind is HookFileKind.OURS and hook.is_runnable():
        standing = HookState.CHAINED if former else HookState.INSTALLED
    elif kind is HookFileKind.CHANGED:
        standing = HookState.CHANGED
    elif kind is HookFileKind.FOREIGN and _is_called_by(hook):
        standing = HookState.CALLED
    elif _is_elsewhere(repository, folder.path, name):
        standing = HookState.NOT_LOOKED_AT
    elif kind is HookFileKind.FOREIGN:
        standing = HookState.REPLACED if former or _was_moved(hook) else HookState.FOREIGN
    else:
        standing = HookState.MISSING
    return HookStatus(hook=name, path=hook.path, standing=standing, former=former)


def _former(repository: CodeRepository, hook: HookFile) -> Path | None:
    """In our own folder that is a forwarder: the hook itself is what people want to know."""
    if hook.folder.path != repository.front_hooks:
        return former_of(hook).path if former_of(hook).lies_here() else None
    others = repository.top / (hooks_path_of_others(repository) or repository.plain_hooks)
    with open_folder_of_others(others) as folder:
        return others / hook.name if folder.file(hook.name).lies_here() else None


def _is_called_by(hook: HookFile) -> bool:
    return tool_of(hook) is Tool.PRE_COMMIT and kind_of(hook.beside(".legacy")) is HookFileKind.OURS


def _was_moved(hook: HookFile) -> bool:
    return kind_of(hook.beside(".old")) is HookFileKind.OURS


def _is_elsewhere(repository: CodeRepository, folder: Path, name: str) -> bool:
    """Ours lies where Git looked before."""
    for other in {repository.plain_hooks, repository.front_hooks} - {folder}:
        with open_folder_of_others(other) as opened:
            if kind_of(opened.file(name)) is HookFileKind.OURS:
                return True
    return False


def _recorded_program(hooks: Sequence[HookFile]) -> tuple[str | None, str | None]:
    """The interpreter and the package folder that an installed hook names."""
    for hook in hooks:
        if kind_of(hook) is HookFileKind.OURS:
            text = os.fsdecode(hook.content(follow=False) or b"")
            words = dict(re.findall(r"(?m)^(python|packages)=(.*)$", text))
            try:
                return "".join(shlex.split(words.get("python", ""))), "".join(shlex.split(words.get("packages", "")))
            except ValueError:
                return None, None
    return None, None


def _can_start(python: str, packages: str) -> bool:
    """By what lies there: the hook is a file of the repository's, and what it names is nothing that we would start."""
    return os.access(python, os.X_OK) and Path(python).is_file() and Path(packages, _ENTRY).is_file()
