"""The shape of the source tree, read from its syntax: names, the paths they are imported by, and docstrings."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.trees import parse, statements

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_TRIVIAL_LINES = 3
"""A body this short is read as fast as a sentence about it."""
_EMPTY_WORDS = frozenset(
    "a an and as at be by for from get gets give gives given in into is it its of on or return returns self set sets "
    "the this to with".split()
)


def repeated_class_names(source: Path) -> dict[str, list[str]]:
    """Public class names that stand for more than one thing below `source`, each with its modules in order."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in _trees(source):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(source).as_posix())
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def public_class_names(source: Path) -> set[str]:
    return {
        node.name
        for _, tree in _trees(source)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def unused_private_names(source: Path) -> list[str]:
    """Private constants, functions and classes that their own module never reads: a check may have lost its place."""
    found = []
    for path, tree in _trees(source):
        read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        place = path.relative_to(source).as_posix()
        found += [f"{place}: {name}" for name in _private_names(tree) if name not in read]
    return found


def _private_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, _Function | ast.ClassDef):
            names = [node.name]
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (name for name in names if name.startswith("_") and not name.startswith("__"))


# --- Import paths -----------------------------------------------------------------------------------------------------


def borrowed_imports(package: Path, *importers: Path) -> list[str]:
    """`importer: from module import name` for names that `module`, of `package`, does not make but imports itself.

    `package` is the folder of the package; its modules and those below `importers` are looked at. What a module has an
    `__all__` for may be imported by it: `only_passing_on` finds each of those.
    """
    made = {_dotted(package, path): _made_by(tree) | _offered_by(tree) for path, tree in _trees(package)}
    return [
        f"{path.name if folder == path else path.relative_to(folder).as_posix()}: from {module} import {name}"
        for folder in (package, *importers)
        for path, tree in _trees(folder)
        for module, name in _imported(tree)
        if module in made and name not in made[module] and f"{module}.{name}" not in made
    ]


def _offered_by(tree: ast.Module) -> set[str]:
    """The names in its `__all__`."""
    lists = (node.value for node in tree.body if isinstance(node, ast.Assign) and _is_named(node.targets[0], "__all__"))
    return {name for offered in lists for name in ast.literal_eval(offered)}


def _is_named(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def only_passing_on(source: Path) -> list[str]:
    """Modules with an `__all__`, or with nothing but imports (and a docstring): there is a second path to each name."""
    return [
        path.relative_to(source).as_posix()
        for path, tree in _trees(source)
        if "__all__" in _made_by(tree) or _is_imports_only(tree)
    ]


def _dotted(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def _made_by(tree: ast.Module) -> set[str]:
    """Names that the module's own statements bind: classes, functions, values; in blocks at its top too."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | _Function):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _is_imports_only(tree: ast.Module) -> bool:
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    own = [node for node in body if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    return bool(own) and all(isinstance(node, ast.Import | ast.ImportFrom) for node in own)


# --- Docstrings -------------------------------------------------------------------------------------------------------


def untold(source: Path) -> list[str]:
    """`module::qualified.name` of public functions and methods whose docstring is missing, or echoes their name.

    Left out are those with a body of three lines at most, and functions inside functions.
    """
    return [
        f"{path.relative_to(source).as_posix()}::{qualified}"
        for path, tree in _trees(source)
        for qualified, node in _public_functions(tree)
        if not _is_trivial(node) and _says_nothing(node)
    ]


def _public_functions(node: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, _Function]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from _public_functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, _Function) and not child.name.startswith("_"):
            yield f"{prefix}{child.name}", child


def _is_trivial(node: _Function) -> bool:
    first = node.body[1] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body[0]
    last = node.end_lineno or node.lineno
    return last - first.lineno + 1 <= _TRIVIAL_LINES


def _says_nothing(node: _Function) -> bool:
    told = ast.get_docstring(node)
    return told is None or _words(told) <= _words(node.name) | _EMPTY_WORDS


def _words(text: str) -> set[str]:
    """In lower case, without the ending that makes several of one."""
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower())} | (
        set(re.findall(r"[a-z0-9]+", text.lower())) & _EMPTY_WORDS
    )


def _trees(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, parse(path)
