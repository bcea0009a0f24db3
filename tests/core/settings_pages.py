"""Writes the settings' rows into `.env.example` and the reference page: `python -m tests.core.settings_pages`."""

from __future__ import annotations

import itertools
from pathlib import Path

from mcp_agent_mail.core.settings import names
from mcp_agent_mail.core.settings.env_text import EXAMPLE_HEAD, env_text
from mcp_agent_mail.core.settings.kinds import Row
from mcp_agent_mail.core.settings.rows import ROWS

ROOT = Path(__file__).parents[2]
ENV_EXAMPLE = ROOT / ".env.example"
REFERENCE = ROOT / "docs" / "reference" / "settings.md"
BEGIN, END = "<!-- rows: begin -->", "<!-- rows: end -->"


def env_example() -> str:
    """Every row as a comment, so that a plain copy changes nothing."""
    return env_text(EXAMPLE_HEAD)


def reference_rows() -> str:
    """The tables of the reference page, and the lists of names without effect."""
    parts = [f"{BEGIN}\n"]
    for group, rows in itertools.groupby(ROWS, key=lambda row: row.group):
        parts.append(f"\n### {group}\n\n| name | type | default | what it does |\n|---|---|---|---|\n")
        parts += [f"| `{row.name}` | {row.kind.label} | {_default(row)} | {row.does} |\n" for row in rows]
    parts.append("\n### Former names\n\nStill accepted, with a notice; the name itself wins.\n\n")
    parts.append("| former name | today |\n|---|---|\n")
    parts += [f"| `{former}` | `{today}` |\n" for former, today in names.FORMER.items()]
    parts.append("\n### Accepted without effect\n\n| name | why |\n|---|---|\n")
    parts += [f"| `{name}` | {why} |\n" for name, why in names.WITHOUT_EFFECT.items()]
    parts.append(f"\n{END}\n")
    return "".join(parts)


def _default(row: Row) -> str:
    if row.computed:
        return row.default
    return f"`{row.default}`" if row.default else "none"


def written_rows(page: str) -> str:
    """What stands between the markers of the reference page, markers included."""
    return page[page.index(BEGIN) : page.index(END) + len(END) + 1]


def main() -> None:
    ENV_EXAMPLE.write_text(env_example(), encoding="utf-8")
    page = REFERENCE.read_text(encoding="utf-8")
    REFERENCE.write_text(page.replace(written_rows(page), reference_rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
