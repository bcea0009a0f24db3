"""New stores for tests, each with an id of its own: copies of one that was made once, since a migration costs more than
most tests do.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import new_store_id
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class StoreTemplate:
    content: bytes
    store_id: str

    def lay(self, path: Path) -> None:
        """A store at `path`, where none is yet."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(self.content.replace(self.store_id.encode(), new_store_id().encode()))
        path.chmod(0o600)


def make_template(fill: Callable[[Tx], object], clock: Clock = system_clock) -> StoreTemplate:
    """A store of the newest schema, and what `fill` writes into it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mail.sqlite3"
        migrate(path, fault_hook=no_fault)
        with closing(open_writing(path)) as connection:
            tx = Tx(connection, clock)
            fill(tx)
            store_id = tx.meta.store_id()
            connection.commit()
        return StoreTemplate(path.read_bytes(), store_id)


@cache
def blank_store() -> StoreTemplate:
    return make_template(lambda tx: tx.now)
