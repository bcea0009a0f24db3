"""What works beside the requests, found in the syntax tree: tasks and threads that are made, and the keepers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.trees import parse

MAKERS = frozenset(
    {
        "create_task",
        "ensure_future",
        "TaskGroup",
        "create_task_group",
        "Thread",
        "Timer",
        "ThreadPoolExecutor",
        "run_in_executor",
        "start_new_thread",
        "to_thread",
    }
)
"""`to_thread` makes no task, but its threads are shared by everybody and joined at the end: none may hang."""
KEEPERS = frozenset({"Keeper", "Periodic"})


def made_in(source: Path) -> set[tuple[str, str]]:
    """(module, maker) of everything below `source` that makes a task or a thread."""
    return {
        (path.relative_to(source).as_posix(), name)
        for path in sorted(source.rglob("*.py"))
        for _, name in _calls(path)
        if name in MAKERS
    }


def names_of_keepers(source: Path) -> set[str]:
    """The name that each keeper is made with: a literal, or a constant of its module or of another."""
    names: set[str] = set()
    paths = sorted(source.rglob("*.py"))
    elsewhere = {name: value for path in paths for name, value in _constants(path).items()}
    for path in paths:
        constants = elsewhere | _constants(path)
        for call, name in _calls(path):
            if name in KEEPERS:
                given = call.args[0]
                names.add(constants[given.id] if isinstance(given, ast.Name) else ast.literal_eval(given))
    return names


def _calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            yield node, name


def _constants(path: Path) -> dict[str, str]:
    return {
        target.id: node.value.value
        for node in parse(path).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
