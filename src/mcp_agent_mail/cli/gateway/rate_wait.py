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
_AGAIN_S = 0.1
"""A second wait for the same call is no shorter: others were faster after the first, and a server may ask for none."""


class WaitingGateway:
    """A gateway that waits where a call is refused as RATE_LIMITED for a short while, and calls again, as often as the
    time for it lasts: such a refusal has changed nothing, and others ask beside us. The first wait is said on stderr.
    """

    def __init__(self, gateway: Gateway, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._gateway = gateway
        self._sleep = sleep
        self._waited_s = 0.0
        self._has_told = False

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
        least_s = 0.0
        while True:
            try:
                return ask()
            except AgentMailError as refused:
                asked_s = asked_to_wait_s(refused) if code_of(refused) == RateLimited.code else None
                if asked_s is None or asked_s > LONGEST_S:
                    raise
                wait_s = max(asked_s, least_s)
                if self._waited_s + wait_s > MOST_S:
                    raise
            self._wait(wait_s)
            least_s = _AGAIN_S

    def _wait(self, wait_s: float) -> None:
        if not self._has_told:
            sys.stderr.write(f"Notice: the server takes no more requests just now; waiting {wait_s:g} s.\n")
            self._has_told = True
        self._waited_s += wait_s
        self._sleep(wait_s)
