"""Copies of the source tree that break one rule, to prove that the rule bites."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src") / "mcp_agent_mail"


def parse(path: Path) -> ast.Module:
    """The syntax tree of a module, which nobody changes. Those of the package are kept, since a dozen rules read them:
    copies of the sources share those of the same text. No others are: beside two million nodes that stay, the garbage
    collector takes longer than to parse them again.
    """
    text = path.read_text(encoding="utf-8")
    return _kept(text) if PACKAGE.as_posix() in path.as_posix() else ast.parse(text)


@cache
def _kept(text: str) -> ast.Module:
    return ast.parse(text)


def forget_trees() -> None:
    _kept.cache_clear()


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All inside `node`, however deep; no expression holds one, so that none is looked into."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for child in getattr(node, name, ()):
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def copy_of_the_sources(target: Path) -> Path:
    """The package and the project file; caches stay behind."""
    shutil.copytree(ROOT / PACKAGE, target / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def add(root: Path, module: str, text: str) -> None:
    """Append `text` to the file `module` (`store/transaction.py`), which is made where it is missing."""
    path = root / PACKAGE / module
    for folder in reversed(path.relative_to(root / PACKAGE).parents[:-1]):
        (root / PACKAGE / folder).mkdir(exist_ok=True)
        (root / PACKAGE / folder / "__init__.py").touch()
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")


def lint_imports(root: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter over the tree at `root`, for the named contracts or for all."""
    limits = [word for contract in contracts for word in ("--contract", contract)]
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--no-logo", "--config", "pyproject.toml", *limits],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )
