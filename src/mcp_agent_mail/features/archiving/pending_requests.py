"""Questions to the archiver that are answered later, by number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.domain.archive_format.months import UnknownMonth
from mcp_agent_mail.features.archiving.protocol import CheckedOut, CheckOut

MOST = 16
PATIENCE_S = 50.0
"""A little less than `am` waits for its answer."""
_AGAIN_S = 60


class Requests:
    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[CheckedOut]] = {}

    def new(self, project: str, month: str) -> CheckOut:
        return CheckOut(number=next(self._numbers), project=project, month=month)

    async def ask(self, request: CheckOut, tell: Callable[[], None]) -> CheckedOut:
        """Ask by `tell`, and wait for the answer; a refusal is raised. Raises Busy when too many ask, and Unavailable
        when it takes long or the archiver ends.
        """
        if len(self._waiting) >= MOST:
            raise Busy(f"{MOST} months are being brought back.", retry_after_s=_AGAIN_S)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[request.number] = answer
        tell()
        try:
            return require_done(await asyncio.wait_for(answer, PATIENCE_S))
        except TimeoutError:
            raise Busy(
                f"{request.month} is not there yet; the archiver goes on with it.", retry_after_s=_AGAIN_S
            ) from None
        finally:
            self._waiting.pop(request.number, None)

    def answer(self, answer: CheckedOut) -> None:
        """Hand it to who waits for it, if anybody still does."""
        waiting = self._waiting.get(answer.request)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def give_up(self) -> None:
        """Tell everybody who waits that the archiver has ended."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Busy("The archiver ended meanwhile."))


def require_done(answer: CheckedOut) -> CheckedOut:
    """The answer, if the archiver did what was asked; else its refusal is raised: UnknownMonth or Unavailable."""
    if answer.is_unknown:
        raise UnknownMonth(answer.problem, hint=answer.hint)
    if answer.problem:
        raise Unavailable(answer.problem, hint=answer.hint)
    return answer
