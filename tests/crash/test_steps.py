"""The table of what clients do in the kill rounds knows every tool that writes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.crash.clients import STEPS
from tests.served import Served

WITHOUT_A_STEP = {
    "checkout_archive_month": "shows a month in a work tree again; changes no state (tests of months kill it)",
    "force_release_file_reservation": "wants an idle holder; the same unit of work as a release",
    "import_content": "keeps a content that mail carries later (tests of imports kill it)",
    "import_records": "tests of imports kill it",
    "install_precommit_guard": "changes a code repository, not the store",
    "uninstall_precommit_guard": "likewise",
    "summarize_recent": "stores what can be made again out of the mail",
}
"""Why they need none, or do not have one yet."""


def test_every_tool_that_writes_has_a_step_or_a_reason(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server, server.connect() as connection:
        connection.open_session()
        tools = connection.mcp("tools/list")["result"]["tools"]

    writing = {tool["name"] for tool in tools if not tool["annotations"].get("readOnlyHint")}
    done = {name for step in STEPS for name in step.tools}
    assert writing - done - set(WITHOUT_A_STEP) == set(), json.dumps(sorted(writing))
    assert done & set(WITHOUT_A_STEP) == set()
