"""A command that a server's rates hold up waits, where that is short: a person would do no other."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.busy_server import asked_to_wait_s
from mcp_agent_mail.core.errors import AgentMailError, RateLimited

if TYPE_CHECKING:
    from mcp_agent_mail.cli.gateway.port import Gateway

T = TypeVar("T")

LONGEST_S = 5.0
"""A longer wait is the person's to choose."""
MOST_S = 30.0
"""All waits of a command together."""


class WaitingGateway:
    """A gateway that waits once where a call is refused as RATE_LIMITED for a short while, and calls again: such a
    refusal has changed nothing. The first wait is said on stderr.
    """

    def __init__(self, gateway: Gateway, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._gateway = gateway
        self._sleep = sleep
        self._waited_s = 0.0

    @property
    def is_in_process(self) -> bool:
        """As `Gateway.is_in_process`."""
        return self._gateway.is_in_process

    # The answers are plain JSON.
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """As `Gateway.call`."""
        return self._asked(lambda: self._gateway.call(tool, arguments))

    def read(self, uri: str) -> Any:
        """As `Gateway.read`."""
        return self._asked(lambda: self._gateway.read(uri))

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        """As `Gateway.download`."""

        def begin() -> tuple[bytes | None, Iterator[bytes]]:
            pieces = self._gateway.download(slug, sha256)
            return next(pieces, None), pieces

        first, pieces = self._asked(begin)
        if first is not None:
            yield first
            yield from pieces

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except AgentMailError as refused:
            wait_s = asked_to_wait_s(refused) if code_of(refused) == RateLimited.code else None
            if wait_s is None or wait_s > LONGEST_S or self._waited_s + wait_s > MOST_S:
                raise
        if not self._waited_s:
            sys.stderr.write(f"Notice: the server takes no more requests just now; waiting {wait_s:g} s.\n")
        self._waited_s += wait_s
        self._sleep(wait_s)
        return ask()
