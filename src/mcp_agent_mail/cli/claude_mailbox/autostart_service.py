"""`install-autostart` and `uninstall-autostart`: what `am service` does, with this door open."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from mcp_agent_mail.cli.claude_mailbox.arguments import parse_flags
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused
from mcp_agent_mail.cli.service.install import ServiceRequest, ServiceState, install, uninstall
from mcp_agent_mail.cli.service.surroundings import ports_of, read_surroundings
from mcp_agent_mail.core.errors import AgentMailError


def install_autostart(arguments: Sequence[str]) -> int:
    """The server starts with the login. `--service` is taken: there is one way on each platform."""
    given = parse_flags("install-autostart", arguments, plain=("service", "skip-port-check"))
    try:
        told = read_surroundings("claude-mailbox install-autostart", {"CLAUDE_MAILBOX_ENABLED": "true"}, os.environ)
        request = ServiceRequest(
            surroundings=told, ports=ports_of(told.settings), skips_check="skip-port-check" in given.plain
        )
        return _tell(install(request), "Autostart is installed")
    except AgentMailError as refused:
        raise CommandRefused(f"claude-mailbox: {refused.text}") from None


def uninstall_autostart(arguments: Sequence[str]) -> int:
    """It starts no more. `--purge` takes no mail away either: that is the store's."""
    parse_flags("uninstall-autostart", arguments, plain=("purge",))
    try:
        return _tell(uninstall(), "Autostart is uninstalled")
    except AgentMailError as refused:
        raise CommandRefused(f"claude-mailbox: {refused.text}") from None


def _tell(state: ServiceState, done: str) -> int:
    sys.stdout.write(f"{done}: {state.path}\n")
    if state.doors:
        sys.stdout.write(f"It opens: {', '.join(state.doors)}\n")
    for note in state.notes:
        sys.stdout.write(f"{note}\n")
    return 0


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "install-autostart": install_autostart,
    "uninstall-autostart": uninstall_autostart,
}
