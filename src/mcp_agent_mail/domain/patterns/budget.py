"""How much work matching patterns may be: counted in steps, so that the answer never depends on the machine."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput

WORK_STEPS = 40_000
"""The bound of one call. A step costs at most 0.8 microseconds of CPU (docs/adr/0060)."""


class PatternsTooHard(InvalidInput):
    """Comparing these patterns would hold up everyone else; nothing was decided."""


class WorkBudget:
    """The steps of one call: spent by every comparison, in all of a call's patterns together."""

    __slots__ = ("bound", "spent")

    def __init__(self, bound: int = WORK_STEPS) -> None:
        self.bound = bound
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count so many steps. Raises PatternsTooHard once more than the bound is spent."""
        self.spent += steps
        if self.spent > self.bound:
            raise PatternsTooHard(
                "These patterns take too long to compare with the live reservations.",
                hint="Narrow the patterns: name files or folders, use fewer `*`, `?` and `[...]`, or ask for fewer.",
                data={"max_steps": self.bound},
            )
