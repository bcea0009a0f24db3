"""`install-autostart` and `uninstall-autostart`: what `am service` does, with this door open."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from mcp_agent_mail.cli.claude_mailbox.arguments import parse_flags
from mcp_agent_mail.cli.claude_mailbox.door import DEFAULT_PORT
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused
from mcp_agent_mail.cli.service.install import ServiceRequest, ServiceState, install, uninstall
from mcp_agent_mail.clients.hook.environment import SettingSources
from mcp_agent_mail.core.errors import AgentMailError

_LATER_PORT = 37_849
_HOST = "127.0.0.1"


def install_autostart(arguments: Sequence[str]) -> int:
    """The server starts with the login. `--service` is taken: there is one way on each platform."""
    given = parse_flags("install-autostart", arguments, plain=("service", "skip-port-check"))
    sources = SettingSources(os.environ)
    named = sources.text("CLAUDE_MAILBOX_PORTS")
    environment = {"CLAUDE_MAILBOX_ENABLED": "true", **({"CLAUDE_MAILBOX_PORTS": named} if named else {})}
    request = ServiceRequest(
        environment=environment,
        host=sources.text("FACADES_HOST") or _HOST,
        ports=_ports(named),
        skips_check="skip-port-check" in given.plain,
    )
    try:
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


def _ports(named: str) -> list[int]:
    found = [int(word) for word in named.replace(" ", "").split(",") if word.isascii() and word.isdigit()]
    return found or [DEFAULT_PORT, _LATER_PORT]


def _tell(state: ServiceState, done: str) -> int:
    sys.stdout.write(f"{done}: {state.path}\n")
    for note in state.notes:
        sys.stdout.write(f"{note}\n")
    return 0


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "install-autostart": install_autostart,
    "uninstall-autostart": uninstall_autostart,
}
