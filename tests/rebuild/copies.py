"""Copies of a played store's database, to be asked or changed, beside contents of its own."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER
from tests.rebuild.histories import Played


def copy_of(played: Played, folder: Path) -> Path:
    """The database in `folder`, which is made, and the contents that lie beside it."""
    folder.mkdir(parents=True)
    copy = folder / played.database.name
    with closing(sqlite3.connect(played.database)) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    if (contents := played.root / ATTACHMENTS_FOLDER).exists():
        shutil.copytree(contents, folder / ATTACHMENTS_FOLDER)
    return copy
