"""What slices import of each other, and what pyproject.toml lets them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.trees import PACKAGE, parse

_FEATURES = "mcp_agent_mail.features."


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """`importer` and `imported` are modules of two slices, as `slice.module`."""

    importer: str
    imported: str

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRules:
    """`kinds` are module names that every slice offers; `published` modules have a reason each."""

    kinds: frozenset[str]
    published: dict[str, str]


def read_rules(root: Path) -> SliceRules:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    table = project["tool"]["agent-mail"]["slices"]
    return SliceRules(kinds=frozenset(table["kinds"]), published=table["published"])


def list_crossings(root: Path) -> list[Crossing]:
    """Every import of a slice's module by another slice, each once, in order."""
    features = root / PACKAGE / "features"
    found = set()
    for path in features.rglob("*.py"):
        importer = ".".join(path.relative_to(features).with_suffix("").parts)
        for imported in _imported(parse(path), features):
            if imported.split(".")[0] != importer.split(".")[0]:
                found.add((importer, imported))
    return [Crossing(importer=importer, imported=imported) for importer, imported in sorted(found)]


def _imported(tree: ast.Module, features: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith(_FEATURES):
                yield _module_of(name.removeprefix(_FEATURES), features)


def _module_of(name: str, features: Path) -> str:
    """`identity.actor` for `identity.actor.Actor`."""
    parts = name.split(".")
    while len(parts) > 1 and not (features / Path(*parts)).with_suffix(".py").exists():
        parts.pop()
    return ".".join(parts)


def judge(crossings: list[Crossing], rules: SliceRules) -> list[str]:
    """What is imported and not let, and what is let and not needed."""
    faults = []
    unused = dict(rules.published)
    for one in crossings:
        if one.imported in rules.published:
            unused.pop(one.imported, None)
        elif one.imported.split(".")[-1] not in rules.kinds:
            faults.append(f"{one}: no module for other slices")
    faults += [f"{name}: no reason is given" for name, reason in rules.published.items() if not reason.strip()]
    faults += [
        f"{name}: no other slice's to import" for name in rules.published if name.endswith((".tools", ".schemas"))
    ]
    return [*faults, *(f"{name}: no longer needed" for name in unused)]
