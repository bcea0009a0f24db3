from __future__ import annotations

import importlib
import pkgutil

from sqlmodel import SQLModel

from mcp_agent_mail.store import tables
from mcp_agent_mail.store.rebuild.rules import RULES, Origin


def columns_by_table() -> dict[str, set[str]]:
    for module in pkgutil.iter_modules(tables.__path__, f"{tables.__name__}."):
        importlib.import_module(module.name)
    return {name: {column.name for column in table.columns} for name, table in SQLModel.metadata.tables.items()}


def test_every_table_has_a_rule_and_every_column_of_it_is_compared_or_left_out_for_a_reason() -> None:
    wanted = columns_by_table()

    assert set(RULES) == set(wanted)
    for table, rule in RULES.items():
        told = (*rule.columns, *rule.left_out)
        assert len(told) == len(set(told)), table
        if rule.origin is Origin.LOST:
            assert not told, table
        else:
            assert set(told) == wanted[table], table
        assert rule.of, table
        assert all(rule.left_out.values()), table
