"""Progress bars: on stderr, where somebody watches there, and gone at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from mcp_agent_mail.features.archiving.artifact_files import Progress


class _Bars:
    """The bars of one command; none at all without `shown`."""

    def __init__(self, shown: Bars | None = None) -> None:
        self._shown = shown

    def bar(self, what: str) -> Progress:
        """A further bar, which moves to and fro until it is told of how many; from any thread."""
        bars = self._shown
        if bars is None:
            return lambda _done, _total: None
        task = bars.add_task(what, total=None)
        return lambda done, total: bars.update(task, completed=done, total=total)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Out of the way of what is printed meanwhile."""
        if self._shown is None:
            yield
            return
        self._shown.stop()
        try:
            yield
        finally:
            self._shown.start()


@contextmanager
def progress_bars() -> Iterator[_Bars]:
    """What makes the bars of a command. Nothing is written, and rich is not imported, where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield _Bars()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from mcp_agent_mail.core.logging import color_system

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, color_system=color_system())
    # Not redirected: rich would send what is meant for a pipe to this terminal.
    with Bars(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as shown:
        yield _Bars(shown)
