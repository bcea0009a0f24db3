"""Which test belongs to which module: folders as in the package, and `test_<module>.py` for `<module>.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.trees import parse

MIRRORED = (
    *("core", "domain", "store", "archive", "workspace", "notify", "llm", "features", "bootstrap", "guard", "cli"),
    *("server", "clients", "facades", "web"),
)
"""Folders of `tests/` whose tests belong to the folder of the package that has the same name."""
MAX_STATEMENTS_WITHOUT_LOGIC = 5


def stories(tests: Path, package: Path) -> set[str]:
    """Tests in mirrored folders, relative to `tests`, that no module of the package has the name of."""
    found = set()
    for folder in MIRRORED:
        for path in (tests / folder).rglob("test_*.py"):
            test = path.relative_to(tests)
            if not (package / test.parent / test.name.removeprefix("test_")).exists():
                found.add(test.as_posix())
    return found


def modules_without_tests(tests: Path, package: Path) -> set[str]:
    """Modules with logic, relative to `package`, that have no test of their name where it belongs."""
    found = set()
    for path in package.rglob("*.py"):
        module = path.relative_to(package)
        if _has_logic(path) and not (tests / module.parent / f"test_{module.name}").exists():
            found.add(module.as_posix())
    return found


def _has_logic(path: Path) -> bool:
    return any(count > MAX_STATEMENTS_WITHOUT_LOGIC for count in _statements_per_function(path))


def _statements_per_function(path: Path) -> Iterator[int]:
    """Those inside of other statements too; a docstring is none."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = sum(isinstance(part, ast.stmt) for part in ast.walk(node)) - 1
            yield inside - (ast.get_docstring(node) is not None)
