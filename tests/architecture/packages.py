"""The packages of `src` in numbers: `python -m tests.architecture.packages [CHECKOUT]`.

For each folder: its modules flat, their lines, the modules outside it that they import ("out"), and the modules outside
that import them ("in"), a folder's own subfolders counting as outside. Then folders that import each other in a
circle, and imports that go upward against the layers of the checkout's `pyproject.toml`. CHECKOUT is this one unless
named. Exits with 1 when an import goes upward; circles between folders are told only.
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import grimp

from tests.architecture.trees import ROOT

HOUSE = "mcp_agent_mail"
Imports = set[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    name: str
    modules: int
    lines: int
    imported_by: int
    imports: int


def imports_of(root: Path, house: str = HOUSE) -> tuple[set[str], Imports]:
    """Every module of the package below `root/src`, and who imports whom directly."""
    sys.path.insert(0, str(root / "src"))
    try:
        graph = grimp.build_graph(house, cache_dir=None)
    finally:
        sys.path.remove(str(root / "src"))
    pairs = {(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)}
    return set(graph.modules), pairs


def folders(root: Path, modules: set[str], imports: Imports) -> list[Folder]:
    """In the order of their names; `__init__` is one of its folder's modules here, if it has a line of code or text."""
    inside: dict[str, list[int]] = defaultdict(list)
    for module in modules:
        if lines := _path(root, module).read_text(encoding="utf-8").count("\n"):
            inside[folder_of(root, module)].append(lines)
    across = {(a, b) for a, b in imports if folder_of(root, a) != folder_of(root, b)}
    return [
        Folder(
            name=name,
            modules=len(lines),
            lines=sum(lines),
            imported_by=len({a for a, b in across if folder_of(root, b) == name}),
            imports=len({b for a, b in across if folder_of(root, a) == name}),
        )
        for name, lines in sorted(inside.items())
    ]


def circles(root: Path, imports: Imports) -> list[list[str]]:
    """Groups of folders each of which reaches every other of its group by imports, whatever else they reach."""
    beside: dict[str, set[str]] = defaultdict(set)
    for a, b in imports:
        beside[folder_of(root, a)].add(folder_of(root, b))
    reached = {name: _reach(name, beside) for name in list(beside)}
    groups = {tuple(sorted(other for other in reached[name] if name in reached.get(other, ()))) for name in reached}
    return sorted(list(group) for group in groups if len(group) > 1)


def upward(imports: Imports, container: str, layers: list[str]) -> list[str]:
    """Imports between the packages of `container` that are not downward; `a | b` in a layer do not know each other."""
    place = {name.strip(" ()"): number for number, layer in enumerate(layers) for name in layer.split("|")}
    found = []
    for a, b in sorted(imports):
        above, below = _member(a, container), _member(b, container)
        if above != below and above in place and below in place and place[above] >= place[below]:
            found.append(f"{a} -> {b}")
    return found


def folder_of(root: Path, module: str) -> str:
    return _path(root, module).parent.relative_to(root / "src").as_posix()


def _path(root: Path, module: str) -> Path:
    path = root.joinpath("src", *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _reach(name: str, beside: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    coming = [name]
    while coming:
        for other in beside.get(coming.pop(), set()) - seen:
            seen.add(other)
            coming.append(other)
    return seen


def _member(module: str, container: str) -> str | None:
    if not module.startswith(f"{container}."):
        return None
    return module.removeprefix(f"{container}.").partition(".")[0]


def main(root: Path) -> int:
    modules, imports = imports_of(root)
    print(f"{'folder':<46}{'modules':>8}{'lines':>8}{'in':>6}{'out':>6}")
    for one in folders(root, modules, imports):
        print(f"{one.name:<46}{one.modules:>8}{one.lines:>8}{one.imported_by:>6}{one.imports:>6}")
    for circle in circles(root, imports):
        print(f"circle: {', '.join(circle)}")
    linter = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    against = [
        line
        for contract in linter["contracts"]
        if contract["type"] == "layers"
        for container in contract["containers"]
        if "*" not in container
        for line in upward(imports, container, contract["layers"])
    ]
    for line in against:
        print(f"upward: {line}")
    return 1 if against else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
