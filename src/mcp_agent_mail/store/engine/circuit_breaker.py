"""Spares callers, and a sick disk, writes that would fail: after some COMMITs in a row that did, most are refused at
once.

On the event loop alone, where calls come in and outcomes are told; only `Writer` uses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mcp_agent_mail.core.errors import Busy, in_sentences

FAILURES = 5
FIRST_PAUSE_S = 1.0
LAST_PAUSE_S = 30.0


class BreakerOpen(Busy):
    """The store could not be written several times in a row; this call was not tried."""


class CircuitBreaker:
    """Open after FAILURES failed COMMITs in a row. Then one write at a time is let through to try it, a second after
    the last failure, and twice as long after each further one, up to half a minute; one that is committed closes it.

    What neither wrote nor failed says nothing: it leaves everything as it is. `elapsed` counts seconds, whatever the
    wall clock does.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._failures = 0
        self._why = ""
        self._pause_s = FIRST_PAUSE_S
        self._probe_at = 0.0
        self._is_probing = False

    @property
    def problem(self) -> str | None:
        """What health says while writes are refused; None while they are not."""
        if self._failures < FAILURES:
            return None
        return in_sentences(
            f"The last {self._failures} attempts to write to the store failed: {self._why}.",
            "Writes are refused but for one at a time that tries again; reading goes on.",
        )

    def admit(self) -> bool:
        """Let a write through; True makes it the probe, of which `probe_ended` must be told. Raises BreakerOpen."""
        if self._failures < FAILURES:
            return False
        left_s = self._probe_at - self._elapsed()
        if left_s > 0 or self._is_probing:
            raise BreakerOpen(
                f"The store could not be written {self._failures} times in a row ({self._why}); this call was not "
                "tried.",
                retry_after_s=max(1, math.ceil(left_s)),
                otherwise="; reading goes on. `am doctor check` says what is wrong",
            )
        self._is_probing = True
        return True

    def probe_ended(self) -> None:
        """The probe is answered, however, or its caller has left: the next one may come when it is due."""
        self._is_probing = False

    def note_commit(self) -> None:
        """Something was written, and is on disk."""
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S

    def note_failure(self, why: str) -> None:
        """A COMMIT failed, or what leads up to it."""
        self._failures += 1
        self._why = why
        if self._failures > FAILURES:
            self._pause_s = min(2 * self._pause_s, LAST_PAUSE_S)
        self._probe_at = self._elapsed() + self._pause_s
