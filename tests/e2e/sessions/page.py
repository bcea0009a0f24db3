"""The page of what the played sessions cost, from the figures that are kept: `python -m tests.e2e.sessions.page`."""

from __future__ import annotations

from mcp_agent_mail.core.profiles import NAMED
from tests.e2e.sessions.measure import AFTER, BEFORE, ROOT, Figures, kept

PAGE = ROOT / "docs" / "reference" / "sessions.md"
MAKE = "python -m tests.e2e.sessions.page"
_PLAYED = {
    "conflict": "two agents want the same files",
    "forgotten": "one has forgotten its name and its token",
    "product": "two repositories of one product",
    "swarm": f"eight agents with the minimal profile ({len(NAMED['minimal'])} tools)",
}
_HEAD = f"""\
# What sessions cost

<!-- Made by `{MAKE}` from the figures in tests/e2e/sessions; a test compares. -->

Four sessions of agents with their usual mistakes, played by scripts against a real server
([how, and what counts as a turn](../adr/0129-sessions-are-played-by-agents-that-read-the-text-alone.md)).
Tokens (cl100k) are those of what the agents sent and were answered. Before: the version with schema 15, as JSON;
after: this one, as Markdown (`?format=md`). `make sessions` plays them again.

| session | mistakes | turns before | after | | tokens before | after | | dearest mistake, extra turns before | after |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""


def page() -> str:
    """The whole page."""
    was, now = kept(BEFORE), kept(AFTER)
    return _HEAD + "".join(_row(name, was[name], now[name]) for name in was)


def _row(name: str, was: Figures, now: Figures) -> str:
    assert was.tokens is not None
    assert now.tokens is not None
    cells = (
        *(f"{name}: {_PLAYED[name]}", f"{now.mistakes}"),
        *(f"{was.turns}", f"{now.turns}", f"{now.turns / was.turns:.2f}"),
        *(f"{was.tokens:,}", f"{now.tokens:,}", f"{now.tokens / was.tokens:.2f}"),
        *(f"{was.most_extra_turns}", f"{now.most_extra_turns}"),
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
