"""Every row of what AgentMail's users rely on has a test that is there: counted."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.facades.neighbours.agentmail_rows import ROWS

TESTS = Path(__file__).parents[2]
WRITTEN = 124
OF_THE_PAGE = "The page about neighbours"


def _tests_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_rows_covered_are_rows_written() -> None:
    table = tomllib.loads((TESTS / "golden" / "agentmail" / "rows.toml").read_text(encoding="utf-8"))
    rows = [(title, row, test) for title, section in table.items() for row, test in section.items()]

    covered = 0
    for title, row, test in rows:
        module, _, name = test.partition("::")
        assert name in _tests_in(TESTS / module), (title, row)
        covered += 1

    assert covered == len(rows) == WRITTEN
    assert table[OF_THE_PAGE].keys() == {row.id for row in ROWS}
