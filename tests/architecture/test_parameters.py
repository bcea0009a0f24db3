"""A tuple of several things that is passed as one argument is a type without a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.trees import PACKAGE, ROOT, add, parse

_PACKAGES = ("features", "domain", "store", "archive")


def _tuple_parameters(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root / PACKAGE).as_posix()}::{function}({parameter})"
        for package in _PACKAGES
        for path in sorted((root / PACKAGE / package).rglob("*.py"))
        for function, parameter in _of_module(parse(path))
    ]


def _of_module(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if one.annotation is not None and _is_fixed_tuple(one.annotation):
                    yield node.name, one.arg


def _is_fixed_tuple(annotation: ast.expr) -> bool:
    """`tuple[X, Y]`, in a union too; `tuple[X, ...]` is a list that does not change."""
    if isinstance(annotation, ast.BinOp):
        return _is_fixed_tuple(annotation.left) or _is_fixed_tuple(annotation.right)
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.value, ast.Name):
        return False
    items = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    is_endless = isinstance(items[-1], ast.Constant) and items[-1].value is Ellipsis
    return annotation.value.id == "tuple" and not is_endless


def test_no_parameter_of_the_repository_is_a_tuple_of_several_things() -> None:
    assert _tuple_parameters(ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        "def f(of: tuple[Sender, NewMessage]): ...",
        "def _f(*, of: tuple[str, str | None]): ...",
        "class C:\n    async def f(self, of: tuple[int, str] | None = None): ...",
        "def outer():\n    def f(of: tuple[int, int], /): ...",
    ],
)
def test_a_parameter_that_is_one_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / PACKAGE).mkdir(parents=True)
    add(tmp_path, "store/odd.py", line)

    (fault,) = _tuple_parameters(tmp_path)

    assert fault.endswith("f(of)")


def test_a_tuple_of_any_length_is_accepted(tmp_path: Path) -> None:
    (tmp_path / PACKAGE).mkdir(parents=True)
    add(
        tmp_path,
        "store/even.py",
        "def f(of: tuple[str, ...] | None, pairs: list[tuple[int, str]]) -> tuple[int, str]: ...",
    )

    assert _tuple_parameters(tmp_path) == []
