"""The group of `am mail`, which is a command too."""

from __future__ import annotations

import shlex
from typing import Any

from mcp_agent_mail.cli.lazy_typer import LeanGroup


class MailGroup(LeanGroup):
    """Without a command it is that of the inbox, with its options."""

    # Typer keeps the command classes private.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words for the command that they name."""
        self._refuse_late_command(ctx, args)
        names_command = bool(args) and (args[0] in ctx.help_option_names or not args[0].startswith("-"))
        rest: list[str] = super().parse_args(ctx, args if names_command else ["inbox", *args])
        return rest

    # Typer keeps the command classes private.
    def _refuse_late_command(self, ctx: Any, args: list[str]) -> None:
        """A command behind its own options would be taken for the agent whose inbox is read. Raises UsageMistake."""
        if not args or not args[0].startswith("-") or self.commands.keys().isdisjoint(args):
            return
        inbox = self.commands["inbox"]
        read = inbox.make_context("inbox", list(args), parent=ctx, resilient_parsing=True)
        agent = str(read.params.get("agent"))
        if agent in self.commands and agent in args:
            from mcp_agent_mail.cli.arguments import UsageMistake  # a mistake alone needs it

            rest = list(args)
            rest.remove(agent)
            raise UsageMistake(f"The command comes first: {ctx.command_path} {shlex.join([agent, *rest])}", ctx=ctx)
