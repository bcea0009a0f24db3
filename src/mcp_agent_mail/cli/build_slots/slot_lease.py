"""A build slot held from outside: taken, renewed while a command runs, given back.

Each call finds its own way to the data, so a server that is restarted meanwhile changes nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from mcp_agent_mail.cli.build_slots.context import SlotContext
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.core.errors import AgentMailError, Conflict
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.lazy.dataclass import dataclass

ASK_AGAIN_S = 2.0
_RETRY_S = 5.0
_PARTS_OF_TTL = 3


class SlotTaken(Conflict):
    """Others hold the slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTerms:
    """Which slot, for how long at a time, and whether alone."""

    slot: str
    ttl_s: int
    exclusive: bool


class SlotLease:
    """`take`, then `keep` whenever `next_at` has come, then `give_back`."""

    def __init__(self, context: CliContext, place: SlotContext, terms: SlotTerms) -> None:
        self._context = context
        self._place = place
        self._terms = terms
        self._is_held = False
        self._was_held_before = False
        self._trouble: str | None = None
        self.next_at = 0.0

    def take(self, *, wait_s: float, pause: Callable[[float], bool]) -> bool:
        """Try until it is granted or `wait_s` are over: then SlotTaken. False when `pause` says to give up."""
        until = time.monotonic() + wait_s
        while not self._try_to_take():
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise self._taken()
            self._complain(f"waiting: {self._taken().message}")
            if not pause(min(ASK_AGAIN_S, left_s)):
                return False
        return True

    def keep(self) -> None:
        """Renew it; take it again if it was lost. What goes wrong is said, once, and tried again soon."""
        try:
            if not self._call("renew_build_slot", extend_seconds=self._terms.ttl_s)["renewed"]:
                self._is_held = False
                self._was_held_before = False
                if not self._try_to_take():
                    self._complain(f"{self._taken().message} The command goes on without it.")
        except AgentMailError as failed:
            self._complain(f"the slot could not be renewed: {failed.message}")
        else:
            if self._is_held:
                self._trouble = None
                self.next_at = time.monotonic() + self._terms.ttl_s / _PARTS_OF_TTL
                return
        self.next_at = time.monotonic() + _RETRY_S

    def give_back(self) -> None:
        """Release the slot, unless its agent held it before this command: then it stays held. What fails is said, not
        raised.
        """
        if not self._is_held:
            return
        if self._was_held_before:
            _say(f"{self._place.agent} held slot {self._terms.slot} before: it is left held.")
            return
        try:
            self._call("release_build_slot")
        except AgentMailError as failed:
            _say(f"slot {self._terms.slot} could not be released, and ends by itself: {failed.message}")

    def _try_to_take(self) -> bool:
        answer = self._call("acquire_build_slot", ttl_seconds=self._terms.ttl_s, exclusive=self._terms.exclusive)
        self._conflicts = answer["conflicts"]
        if answer["granted"] is None:
            return False
        self._is_held = True
        self._was_held_before = bool(answer.get("already_held"))
        self.next_at = time.monotonic() + self._terms.ttl_s / _PARTS_OF_TTL
        return True

    # The answer is plain JSON.
    def _call(self, tool: str, **arguments: Any) -> Any:
        given = {"project_key": self._place.project_key, "agent_name": self._place.agent, "slot": self._terms.slot}
        with open_gateway(self._context) as gateway:
            return gateway.call(tool, {**given, **arguments})

    def _taken(self) -> SlotTaken:
        holders = [f"{one['agent']}{_on(one['branch'])} until {one['expires_ts']}" for one in self._conflicts]
        return SlotTaken(
            f"Slot {self._terms.slot} is held by {'; '.join(holders)}.",
            hint=f"Wait for it with --wait SECONDS, or write to {self._conflicts[0]['agent']}.",
        )

    def _complain(self, words: str) -> None:
        if words != self._trouble:
            _say(words)
        self._trouble = words


def _on(branch: str | None) -> str:
    return f" (branch {branch})" if branch else ""


def _say(words: str) -> None:
    """On stderr: stdout is the command's."""
    sys.stderr.write(f"am run: {visible(words)}\n")
    sys.stderr.flush()
