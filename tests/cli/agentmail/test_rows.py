"""Every row of what AgentMail's users rely on has tests that are there: counted. What the page about neighbours says of
them sums these rows up, and is not counted once more.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.facades.neighbours.agentmail_page import read_table

TESTS = Path(__file__).parents[2]
WRITTEN = 87


def _tests_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_rows_covered_are_rows_written() -> None:
    table = read_table()

    covered = 0
    for row, tests in table.items():
        assert tests, row
        for module, _, name in (test.partition("::") for test in tests):
            assert name in _tests_in(TESTS / module), (row, name)
        assert len(set(tests)) == len(tests), row
        covered += 1

    assert covered == len(table) == WRITTEN
