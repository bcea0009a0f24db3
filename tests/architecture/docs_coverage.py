"""What the code offers to people and agents, read from its syntax, and which of it docs/reference leaves out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.trees import PACKAGE, parse


@dataclass(frozen=True, slots=True, order=True)
class Offer:
    """`kind` is tool, resource, command, setting or error."""

    kind: str
    name: str


def undocumented(root: Path) -> list[Offer]:
    """Everything on offer below `root` without an entry of its own on a page of docs/reference."""
    entries = "\n".join(_entries_of(root / "docs" / "reference"))
    return sorted(offer for offer in set(offers(root)) if not _has_entry(offer, entries))


def _entries_of(reference: Path) -> Iterator[str]:
    """Headings, and the first cells of tables: to be mentioned in passing is not to be documented."""
    for page in sorted(reference.rglob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                yield line
            elif line.startswith("| "):
                yield line.split("|")[1]


def _has_entry(offer: Offer, entries: str) -> bool:
    if offer.kind == "resource":
        # With or without its scheme and its query.
        address = re.escape(offer.name.removeprefix("resource://").partition("{?")[0])
        return re.search(rf"`(resource://)?{address}(`|{{\?)", entries) is not None
    return re.search(rf"`{re.escape(offer.name)}[`( ]", entries) is not None


def offers(root: Path) -> Iterator[Offer]:
    package = root / PACKAGE
    for path in sorted(package.rglob("*.py")):
        tree = parse(path)
        inside = path.relative_to(package).parts[0]
        if inside == "features":
            yield from _declared(tree)
        if inside == "core":
            yield from _settings(tree)
        if inside != "cli":
            yield from _error_codes(tree)
    yield from _commands(package / "cli")


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _keyword(call: ast.Call, name: str) -> str | None:
    for keyword in call.keywords:
        if keyword.arg == name and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return None


def _declared(tree: ast.AST) -> Iterator[Offer]:
    for call in _calls(tree, "tool"):
        assert isinstance(call.args[0], ast.Name), "tool() takes the tool's function by name"
        yield Offer("tool", call.args[0].id)
    for call in _calls(tree, "resource"):
        uri = _keyword(call, "uri")
        assert uri, "resource() is given its uri as a literal"
        yield Offer("resource", uri)


def _settings(tree: ast.AST) -> Iterator[Offer]:
    for call in _calls(tree, "Row"):
        if name := _keyword(call, "name"):
            yield Offer("setting", name)


def _error_codes(tree: ast.AST) -> Iterator[Offer]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for line in node.body:
            match line:
                case (
                    ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code)))
                    | ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code)))
                ):
                    yield Offer("error", code)


def _commands(cli: Path) -> Iterator[Offer]:
    """`am GROUP COMMAND`, from the root's table of entries and the `@app.command`s of the module each one names."""
    for name, module in _entries(parse(cli / "app.py")):
        path = cli.joinpath(*module.strip(".").split(".")).with_suffix(".py")
        inner = list(_command_names(parse(path)))
        if inner == [name]:
            yield Offer("command", f"am {name}")
        else:
            yield from (Offer("command", f"am {name} {command}") for command in inner)


def _entries(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            match key, value:
                case ast.Constant(value=str(name)), ast.Call(
                    func=ast.Name(id="Entry"), args=[ast.JoinedStr(values=[*_, ast.Constant(value=str(module))]), *_]
                ):
                    yield name, module


def _command_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="command"), args=[ast.Constant(value=str(name)), *_]):
                yield name
