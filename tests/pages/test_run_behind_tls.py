"""The how-to about TLS: its settings are settings, and its numbers the server's."""

from __future__ import annotations

import re

from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.facades.claude_mailbox.routes import MAX_WATCH_S
from mcp_agent_mail.server.rest.events import COMMENT_EVERY_S
from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES
from mcp_agent_mail.server.transport.web_server import KEEP_ALIVE_S
from tests.pages.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "run-behind-tls.md"


def test_what_it_sets_are_settings() -> None:
    ((_, settings),) = blocks_of(PAGE, "ini")

    assert set(re.findall(r"^(\w+)=", settings, re.MULTILINE)) <= {row.name for row in ROWS}


def test_its_numbers_are_the_servers() -> None:
    text = " ".join(PAGE.read_text().split())

    assert f"at doors of other systems up to {MAX_WATCH_S:.0f}" in text
    assert f"a stream is silent for up to {COMMENT_EVERY_S:.0f} " in text
    assert f"**Take {MAX_BODY_BYTES // 2**20} MiB**" in text
    assert f"for less than {KEEP_ALIVE_S} seconds" in text
    assert "`/metrics`" in text
