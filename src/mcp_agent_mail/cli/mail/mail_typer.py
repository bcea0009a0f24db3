"""The group of `am mail`, which is a command too."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.cli.lazy_typer import LeanGroup


class MailGroup(LeanGroup):
    """Without a command it is that of the inbox, with its options."""

    # Typer keeps the command classes private.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words for the command that they name."""
        names_command = bool(args) and (args[0] == "--help" or not args[0].startswith("-"))
        rest: list[str] = super().parse_args(ctx, args if names_command else ["inbox", *args])
        return rest
