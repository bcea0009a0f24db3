"""Which projects are siblings already, and which of them a person has said are none."""

from __future__ import annotations

from collections.abc import Collection

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.domain.products import MAX_PRODUCTS
from mcp_agent_mail.domain.projects import ProjectPair, pair_of
from mcp_agent_mail.store.engine.port import Connection

MOST_DISMISSED = 5_000
"""Beyond, the pair that was dismissed first is forgotten, and may be suggested again."""

_PRODUCTS = "SELECT product_id FROM product_projects WHERE project_id = ? ORDER BY product_id LIMIT ?"
_DISMISSED = "SELECT project_id, sibling_id FROM dismissed_siblings ORDER BY project_id, sibling_id LIMIT ?"
_DISMISS = """
    INSERT INTO dismissed_siblings (project_id, sibling_id, dismissed_ts) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
"""
_FORGET = """
    DELETE FROM dismissed_siblings WHERE (project_id, sibling_id) IN (
        SELECT project_id, sibling_id FROM dismissed_siblings
        ORDER BY dismissed_ts DESC, project_id DESC, sibling_id DESC LIMIT -1 OFFSET ?)
"""


class Siblings:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def products(self, projects: Collection[ProjectId]) -> list[tuple[ProductId, ProjectId]]:
        """Each product that one of the projects is part of, with that project."""
        return [
            (ProductId(row[0]), project_id)
            for project_id in projects
            for row in self._connection.execute(_PRODUCTS, (project_id, MAX_PRODUCTS))
        ]

    def dismissed(self) -> set[ProjectPair]:
        """All pairs that are."""
        rows = self._connection.execute(_DISMISSED, (MOST_DISMISSED,))
        return {pair_of(ProjectId(one), ProjectId(other)) for one, other in rows}

    def dismiss(self, pair: ProjectPair, now: Micros) -> None:
        """The first time stands."""
        self._connection.execute(_DISMISS, (*pair, now))
        self._connection.execute(_FORGET, (MOST_DISMISSED,))
