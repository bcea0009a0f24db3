"""The text of a `.env` in which every setting stands as a comment: of `.env.example`, and of what `am init` writes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from mcp_agent_mail.core.settings.kinds import Row
from mcp_agent_mail.core.settings.rows import ROWS

EXAMPLE_HEAD = """\
# Settings of MCP Agent Mail. Copy this file to `.env` and take the `#` off the lines you change: `make serve` reads it
# here, everything else from `~/.config/mcp-agent-mail/.env`, or where `--env-file` or AGENT_MAIL_ENV_FILE says.
# The environment beats this file, the command line beats both. What each line means in full:
# docs/reference/settings.md. No `export`, and no comment behind a value.
"""

OWN_HEAD = """\
# Settings of MCP Agent Mail, written by `am init`. Take the `#` off the lines you change, then run `am config check`.
# The environment beats this file, the command line beats both. No `export`, and no comment behind a value.
"""

NO_ROWS: Mapping[str, str] = {}


def env_text(head: str, *, suggested: Mapping[str, str] = NO_ROWS, active: Mapping[str, str] = NO_ROWS) -> str:
    """Every row as a comment with its default, so that the file as it is changes nothing; `suggested` values take the
    default's place in the comment, those in `active` count.
    """
    parts = [head]
    for group, rows in itertools.groupby(ROWS, key=lambda row: row.group):
        parts.append(f"\n# --- {group} ---\n")
        parts += [f"\n# {row.does}\n# {_expects(row)}\n{_line(row, suggested, active)}\n" for row in rows]
    return "".join(parts)


def _line(row: Row, suggested: Mapping[str, str], active: Mapping[str, str]) -> str:
    if row.name in active:
        return f"{row.name}={active[row.name]}"
    default = "" if row.computed else row.default
    return f"#{row.name}={suggested.get(row.name, default)}"


def _expects(row: Row) -> str:
    default = f" Default: {row.default}." if row.computed else ""
    return f"({row.kind.label}){default}"
