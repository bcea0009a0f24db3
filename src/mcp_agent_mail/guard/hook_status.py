"""How the guard stands in a code repository: what is in effect, what is not, and what to do about it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.core.git_environment import scrubbed_environment
from mcp_agent_mail.guard.hook_chain import former_of
from mcp_agent_mail.guard.hook_front import hooks_path_of_others, is_in_front
from mcp_agent_mail.guard.hook_place import GUARDED, PROJECT_KEY, CodeRepository, find_code_repository
from mcp_agent_mail.guard.hook_shim import Kind, Tool, is_runnable, kind_of, lies_at, tool_of

_START_TIMEOUT_S = 10.0
_TRY = "import sys; sys.path.append(sys.argv[1]); import mcp_agent_mail.__main__"


class Standing(StrEnum):
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


_GUARDING = {Standing.INSTALLED, Standing.CHAINED, Standing.CALLED}

_NEXT = {
    Standing.MISSING: "am guard install",
    Standing.CHANGED: "somebody edited it: move it away, then am guard install",
    Standing.REPLACED: "another program put its hook in our place: am guard install takes it along",
    Standing.FOREIGN: "am guard install runs the guard, then this hook",
    Standing.NOT_LOOKED_AT: "core.hooksPath was set since: am guard install",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStanding:
    """One hook. `former` is the one that runs after ours."""

    hook: str
    path: Path
    standing: Standing
    former: Path | None

    @property
    def guards(self) -> bool:
        return self.standing in _GUARDING

    @property
    def next_step(self) -> str | None:
        return _NEXT.get(self.standing)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardStanding:
    """`hooks_path` is core.hooksPath as others set it; `python` what the installed hook starts, and whether it can."""

    top: Path
    common_dir: Path
    folder: Path
    in_front: bool
    hooks_path: str | None
    hooks: Sequence[HookStanding]
    project: str | None
    name: str | None
    python: str | None
    is_runnable: bool


def look_at_guard(path: Path) -> GuardStanding:
    """Changes nothing. Raises NoCodeRepository."""
    repository = find_code_repository(path)
    in_front = is_in_front(repository)
    hooks_path = hooks_path_of_others(repository)
    folder = _folder(repository, hooks_path, in_front=in_front)
    hooks = [_standing(repository, folder, hook) for hook in GUARDED]
    python, packages = _recorded_program([folder / hook for hook in GUARDED])
    return GuardStanding(
        top=repository.top,
        common_dir=repository.common_dir,
        folder=folder,
        in_front=in_front,
        hooks_path=hooks_path,
        hooks=hooks,
        project=repository.config(PROJECT_KEY),
        name=repository.user_config("agent-mail.name"),
        python=python,
        is_runnable=python is not None and _starts(python, packages or ""),
    )


def _folder(repository: CodeRepository, hooks_path: str | None, *, in_front: bool) -> Path:
    """Where Git looks for hooks now; a relative core.hooksPath counts from the work tree's top."""
    if in_front:
        return repository.front_hooks
    return repository.top / hooks_path if hooks_path is not None else repository.plain_hooks


def _standing(repository: CodeRepository, folder: Path, hook: str) -> HookStanding:
    path = folder / hook
    former = _former(repository, path)
    has_former = lies_at(former)
    kind = kind_of(path)
    if kind is Kind.OURS and is_runnable(path):
        standing = Standing.CHAINED if has_former else Standing.INSTALLED
    elif kind is Kind.CHANGED:
        standing = Standing.CHANGED
    elif kind is Kind.FOREIGN and _is_called_by(path):
        standing = Standing.CALLED
    elif _is_elsewhere(repository, folder, hook):
        standing = Standing.NOT_LOOKED_AT
    elif kind is Kind.FOREIGN:
        standing = Standing.REPLACED if has_former or _was_moved(path) else Standing.FOREIGN
    else:
        standing = Standing.MISSING
    return HookStanding(hook=hook, path=path, standing=standing, former=former if has_former else None)


def _former(repository: CodeRepository, path: Path) -> Path:
    """In our own folder that is a forwarder: the hook itself is what people want to know."""
    if path.parent != repository.front_hooks:
        return former_of(path)
    return repository.top / (hooks_path_of_others(repository) or repository.plain_hooks) / path.name


def _is_called_by(path: Path) -> bool:
    return tool_of(path) is Tool.PRE_COMMIT and kind_of(path.with_name(f"{path.name}.legacy")) is Kind.OURS


def _was_moved(path: Path) -> bool:
    return kind_of(path.with_name(f"{path.name}.old")) is Kind.OURS


def _is_elsewhere(repository: CodeRepository, folder: Path, hook: str) -> bool:
    """Ours lies where Git looked before."""
    others = {repository.plain_hooks, repository.front_hooks} - {folder}
    return any(kind_of(other / hook) is Kind.OURS for other in others)


def _recorded_program(paths: Sequence[Path]) -> tuple[str | None, str | None]:
    """The interpreter and the package folder that an installed hook names."""
    for path in paths:
        if kind_of(path) is Kind.OURS:
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            words = dict(re.findall(r"(?m)^(python|packages)=(.*)$", text))
            return "".join(shlex.split(words.get("python", ""))), "".join(shlex.split(words.get("packages", "")))
    return None, None


def _starts(python: str, packages: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-I", "-c", _TRY, packages],
            env=scrubbed_environment(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_START_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
