"""What a future can carry of what work on a thread has raised."""

from __future__ import annotations


def future_error(raised: BaseException, what: str) -> Exception:
    """What was raised, or a RuntimeError with it as its cause: a future refuses StopIteration, so that whoever awaits
    would wait on; SystemExit and CancelledError would end or cancel whoever does. `what` begins the sentence.
    """
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    bug = RuntimeError(f"{what} raised {type(raised).__name__}")
    bug.__cause__ = raised
    return bug
