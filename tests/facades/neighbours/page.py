"""The page about neighbours, made of the rows that tests show.

    python -m tests.facades.neighbours.page

writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.facades.claims.facts import FACTS as CLAIMS
from tests.facades.facts import Fact
from tests.facades.neighbours import agentmail_page, agentmail_rows, mailbox_rows, postal_rows
from tests.pages.blocks import ROOT

PAGE = ROOT / "docs" / "reference" / "neighbours.md"

_HEAD = """\
# What is served of neighbours

<!-- Made by `python -m tests.facades.neighbours.page` from the rows that tests hold; a test compares. -->

What users of three small mail systems for agents, and of a system with claims, are taught goes on here as it is: names,
parameters, texts, codes and exit statuses, row by row. All of it is over one store: mail that is sent by one of these
ways is read by any other, once. Each way is a **door**, off until its setting is on.

| door | setting | where | how to |
|---|---|---|---|
"""
_PLACES = (
    ("postal", "POSTAL_ENABLED", "`/agents/{agent}/mcp` on the server's port, and on `POSTAL_PORT`", "postal"),
    ("AgentMail", "AGENTMAIL_ENABLED", "the command `agentmail`", "agentmail"),
    ("ClaudeMailbox", "CLAUDE_MAILBOX_ENABLED", "`CLAUDE_MAILBOX_PORTS`", "claude-mailbox"),
    ("claims", "CLAIMS_ENABLED", "`/mcp?profile=claims`", "claims"),
)
_REST = """
What these systems have left on disk, and a store of the older mcp_agent_mail, comes along by `am import`: their how-tos
and [that one's](../how-to/switch-from-mcp-agent-mail.md) show it.

Why some rows are otherwise than there is said in [what is otherwise here](differences.md); what a forged name can do,
in the [threat model](../concepts/threat-model.md#doors).
"""

_DOORS: tuple[tuple[str, Iterable[Fact]], ...] = (
    ("postal", postal_rows.ROWS),
    ("AgentMail", agentmail_rows.ROWS),
    ("ClaudeMailbox", mailbox_rows.ROWS),
    ("claims", CLAIMS),
)


def page() -> str:
    places = (
        f"| [{name}](#{name.lower()}) | `{setting}` | {where} | [switch](../how-to/switch-from-{page}.md) |\n"
        for name, setting, where, page in _PLACES
    )
    return _HEAD + "".join(places) + _REST + "".join(_section(name, tuple(rows)) for name, rows in _DOORS)


def _section(name: str, rows: tuple[Fact, ...]) -> str:
    told = f"{agentmail_page.counted()}\n" if rows == agentmail_rows.ROWS else ""
    kept = _table("as there", [row for row in rows if not row.otherwise])
    other = _table("otherwise", [row for row in rows if row.otherwise])
    return f"\n## {name}\n\n{told}{kept}\n{other}"


def _table(heading: str, rows: list[Fact]) -> str:
    return "".join(f"{line}\n" for line in (f"| {heading} |", "|---|", *(f"| {row.says} |" for row in rows)))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
