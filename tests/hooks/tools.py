"""The real programs that write Git hooks, put beside the interpreter by `make hooks`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.guard.code_repository import Code

_BIN = Path(sys.prefix) / "bin"
_NPM = Path(sys.prefix) / "npm" / "node_modules"


class NotInstalled(Exception):
    """Run `make hooks`: it installs them."""


def program(name: str) -> str:
    found = shutil.which(name, path=str(_BIN))
    if found is None:
        raise NotInstalled(f"{name} is not in {_BIN}: run `make hooks`.")
    return found


def _npm(path: str) -> str:
    if not (_NPM / path).exists():
        raise NotInstalled(f"{path} is not in {_NPM}: run `make hooks`.")
    return str(_NPM / path)


@dataclass(frozen=True, slots=True)
class HookTool:
    """`configure` writes the tool's configuration, whose check is `check.sh`; `install` lets it write its hooks."""

    name: str
    configure: Callable[[Code], None]
    install: Callable[[Code], None]


_CHECK = '#!/bin/sh\necho "$GIT_HOOK_SAYS" >> "$RECORDS/former"\nexit "${FORMER_ANSWER:-0}"\n'


def _write_check(code: Code) -> None:
    code.write_hook("check.sh", _CHECK, folder=code.top)


def _run(code: Code, *command: str) -> None:
    done = code.run(*command, stdin=b"")
    assert done.returncode == 0, (command, done.stdout, done.stderr)


def _configure_framework(code: Code) -> None:
    _write_check(code)
    hook = {
        "id": "check",
        "name": "check",
        "entry": "./check.sh",
        "language": "system",
        "always_run": True,
        "pass_filenames": False,
        "stages": ["pre-commit", "pre-push"],
    }
    # JSON is YAML.
    (code.top / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))


def _install_framework(code: Code) -> None:
    _run(code, program("pre-commit"), "install", "-t", "pre-commit", "-t", "pre-push")


def _configure_lefthook(code: Code) -> None:
    _write_check(code)
    commands = {"commands": {"check": {"run": "./check.sh"}}}
    (code.top / "lefthook.yml").write_text(json.dumps({"pre-commit": commands, "pre-push": commands}))


def _install_lefthook(code: Code) -> None:
    _run(code, program("lefthook"), "install")


def _configure_husky(code: Code) -> None:
    _write_check(code)
    (code.top / ".husky").mkdir()
    for hook in ("pre-commit", "pre-push"):
        (code.top / ".husky" / hook).write_text("./check.sh\n")


def _install_husky(code: Code) -> None:
    _run(code, program("node"), _npm("husky/bin.js"))


TOOLS = (
    HookTool("pre-commit", _configure_framework, _install_framework),
    HookTool("lefthook", _configure_lefthook, _install_lefthook),
    HookTool("husky", _configure_husky, _install_husky),
)
