"""The size limits of modules, folders and functions, measured on the syntax tree.

Functions inside functions are measured each on their own, so that a builder of tools is as long as
its own lines and not as all its tools together.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.trees import parse

MAX_MODULE_LINES = 400
MAX_FOLDER_MODULES = 25
MAX_FUNCTION_LINES = 60
MAX_ARGUMENTS = 8
MAX_COMPLEXITY = 10
MEASURED = ("src", "tests", "benchmarks")

_EMPTY_WORDS = frozenset(
    {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "base", "stuff"}
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension, ast.match_case)
_LEAVES = (ast.expr_context, ast.Name, ast.Constant, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
"""Nothing stands inside of them that is measured: they are most of a tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`where` is `path` or `path::qualified.name`; `rule` is the word that an exception uses."""

    rule: str
    where: str
    fact: str


@dataclass(slots=True, kw_only=True)
class _Measured:
    """A function; `branches` are its own, and `inner_lines` those of the functions directly inside, however deep in
    blocks.
    """

    node: _Function
    branches: int = 0
    inner_lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """One entry of exceptions.toml."""

    rule: str
    where: str
    adr: int


def measure(root: Path) -> list[Finding]:
    """Every limit that a Python file, or a folder of `src`, below `root` exceeds."""
    findings: list[Finding] = list(_measure_folders(root))
    for path in _modules(root):
        findings += _measure_module(path, path.relative_to(root).as_posix())
    return findings


def _modules(root: Path) -> Iterator[Path]:
    for top in MEASURED:
        yield from sorted((root / top).rglob("*.py"))


def _measure_folders(root: Path) -> Iterator[Finding]:
    """Modules that lie flat in one folder; `__init__.py` is the folder itself."""
    folders = Counter(path.parent for path in (root / "src").rglob("*.py") if path.stem != "__init__")
    for folder, modules in sorted(folders.items()):
        if modules > MAX_FOLDER_MODULES:
            where = folder.relative_to(root).as_posix()
            yield Finding(rule="folder-modules", where=where, fact=f"{modules} modules, at most {MAX_FOLDER_MODULES}")


def _measure_module(path: Path, name: str) -> Iterator[Finding]:
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > MAX_MODULE_LINES:
        yield Finding(rule="module-lines", where=name, fact=f"{lines} lines, at most {MAX_MODULE_LINES}")
    for part in Path(name).with_suffix("").parts:
        if part.startswith("new_"):
            yield Finding(rule="name", where=name, fact=f"`{part}` will not be new for long")
        if fault := _naming_fault(part):
            yield Finding(rule="name", where=name, fact=fault)
    for qualified, found in _definitions(parse(path)):
        where = f"{name}::{qualified}"
        if isinstance(found, _Measured):
            yield from _measure_function(found, where)
        elif fault := _naming_fault(_as_words(found.name)):
            yield Finding(rule="name", where=where, fact=fault)


def _as_words(class_name: str) -> str:
    """`QueueManager` as `queue_manager`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()


def _naming_fault(name: str) -> str | None:
    words = name.lower().strip("_").split("_")
    if empty := _EMPTY_WORDS.intersection({words[0], words[-1]}):
        return f"`{name}` says nothing: {', '.join(sorted(empty))}"
    if re.search(r"_v\d+$", name):
        return f"`{name}` numbers a version"
    return None


def _definitions(tree: ast.Module) -> list[tuple[str, ast.ClassDef | _Measured]]:
    """Classes and functions by their qualified names. Each node is looked at once: there are millions."""
    found: list[tuple[str, ast.ClassDef | _Measured]] = []
    waiting: list[tuple[ast.AST, str, _Measured | None]] = [(tree, "", None)]
    while waiting:
        node, prefix, owner = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _LEAVES):
                continue
            if isinstance(child, _Function):
                inner = _Measured(node=child)
                found.append((f"{prefix}{child.name}", inner))
                waiting.append((child, f"{prefix}{child.name}.", inner))
                if owner is not None:
                    owner.inner_lines += _span(child)
            elif isinstance(child, ast.ClassDef):
                found.append((f"{prefix}{child.name}", child))
                waiting.append((child, f"{prefix}{child.name}.", owner))
            else:
                if owner is not None:
                    owner.branches += isinstance(child, _BRANCHES)
                waiting.append((child, prefix, owner))
    return found


def _measure_function(found: _Measured, where: str) -> Iterator[Finding]:
    node = found.node
    lines = _own_lines(found)
    if lines > MAX_FUNCTION_LINES:
        yield Finding(rule="function-lines", where=where, fact=f"{lines} lines, at most {MAX_FUNCTION_LINES}")
    complexity = 1 + found.branches
    if complexity > MAX_COMPLEXITY:
        yield Finding(rule="complexity", where=where, fact=f"complexity {complexity}, at most {MAX_COMPLEXITY}")
    arguments = _arguments(node)
    if arguments > MAX_ARGUMENTS and not _is_command(node) and not _is_tool(node, where):
        yield Finding(rule="arguments", where=where, fact=f"{arguments} arguments, at most {MAX_ARGUMENTS}")


def _own_lines(found: _Measured) -> int:
    """Lines from `def` to the end, less the docstring and the functions inside."""
    node = found.node
    lines = _span(node) - found.inner_lines
    if ast.get_docstring(node, clean=False) is not None:
        lines -= _span(node.body[0])
    return lines


def _span(node: ast.stmt | _Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _arguments(node: _Function) -> int:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    own = [argument for argument in named if argument.arg not in ("self", "cls")]
    return len(own) + (node.args.vararg is not None) + (node.args.kwarg is not None)


def _is_command(node: _Function) -> bool:
    """A command's arguments are what a person may write (docs/adr/0002)."""
    called = (decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in ("command", "callback") for func in called)


def _is_tool(node: _Function, where: str) -> bool:
    """A tool or resource has the arguments of the wire contract."""
    path, _, qualified = where.partition("::")
    return (
        isinstance(node, ast.AsyncFunctionDef)
        and "." in qualified
        and Path(path).name in ("tools.py", "resources.py")
        and ("/features/" in path or "/facades/" in path)
    )


def read_exceptions(path: Path) -> list[Allowed]:
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("exception", [])
    return [Allowed(rule=entry["rule"], where=entry["where"], adr=entry["adr"]) for entry in entries]


def judge(findings: Iterable[Finding], allowed: Iterable[Allowed], adr_folder: Path) -> list[str]:
    """What is wrong: limits exceeded without an exception, exceptions without need or without their ADR."""
    found = {(finding.rule, finding.where): finding for finding in findings}
    excepted = {(exception.rule, exception.where): exception for exception in allowed}
    faults = [
        f"{finding.where}: {finding.rule}: {finding.fact}" for key, finding in found.items() if key not in excepted
    ]
    faults += [
        f"{where}: the exception for {rule} is no longer needed" for rule, where in excepted.keys() - found.keys()
    ]
    for exception in excepted.values():
        if not list(adr_folder.glob(f"{exception.adr:04d}-*.md")):
            faults.append(f"{exception.where}: there is no ADR {exception.adr:04d}")
    return sorted(faults)
