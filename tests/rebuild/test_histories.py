"""What random histories are worth: they use every tool that writes, and leave every kind of record."""

from __future__ import annotations

from tests.rebuild.histories import STEPS
from tests.server.reference_pages import declared

ELSEWHERE = {
    "checkout_archive_month": "brings files into a work tree, which Git has",
    "create_sign_in_link": "its link lies in the memory of a server",
    "heartbeat": "notes presence, which lies in the memory of a server",
    "hook_event": "notes what a session of a client was given, which is not rebuilt",
    "hook_told": "notes that it was handed over, which is not rebuilt",
    "import_content": "keeps what a message of an import carries",
    "import_records": "is the operator's, and has histories of its own",
    "link_door_name": "is the operator's; steps of doors link by the service",
    "unlink_door_name": "is the operator's; steps of doors unlink by the service",
    "remind_acknowledgements": "sends System mail for what is late, and nothing is late in a history",
    "install_precommit_guard": "writes hooks into a code repository",
    "uninstall_precommit_guard": "takes hooks out of a code repository",
}
"""Tools that write nothing into the store, or nothing that archives tell of."""


def test_every_tool_that_writes_is_used() -> None:
    tools, _ = declared()
    writing = {spec.name for spec in tools if not spec.read_only}

    assert sorted(writing - {act for step in STEPS for act in step.acts}) == sorted(ELSEWHERE)
