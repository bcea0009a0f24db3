"""Who runs `agentmail`, and where: the project around the working directory, its window of tmux, or AGENTMAIL_NAME."""

from __future__ import annotations

import os

from mcp_agent_mail.cli.agentmail.refusals import NO_GIT, OUTSIDE, OUTSIDE_TMUX, Failure
from mcp_agent_mail.cli.agentmail.tmux_windows import NoTmux, PaneGone, TmuxPane, TmuxSilent
from mcp_agent_mail.core.git.worktree import find_work_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_agent_mail.cli.agentmail.environment import DoorSettings
    from mcp_agent_mail.cli.agentmail.tmux_windows import SessionWindows

IGNORE_FILE = ".agentmailignore"
_MAX_IGNORED_BYTES = 1 << 20


class WindowPlace:
    """`root` is the project, None outside any Git repository. `windows` is None outside tmux, where `name` is
    AGENTMAIL_NAME.
    """

    __slots__ = ("ignored", "name", "pane", "root", "windows")

    def __init__(
        self, root: str | None, name: str, *, windows: SessionWindows | None = None, pane: TmuxPane | None = None
    ) -> None:
        self.root = root
        self.name = name
        self.windows = windows
        self.pane = pane
        self.ignored = frozenset() if root is None else read_ignored(root)

    @property
    def project(self) -> str:
        """Raises Failure outside any Git repository."""
        if self.root is None:
            raise Failure(NO_GIT)
        return self.root

    def was_called(self, name: str) -> str | None:
        """What the window of this name was called when its mailbox was used last, if it was renamed since."""
        return None if self.windows is None else self.windows.was_called(name)

    def remember(self, name: str) -> None:
        """The panes of the window of this name go by it from now on."""
        if self.pane is not None and self.windows is not None and (panes := self.windows.unnoted(name)):
            self.pane.remember(self.project, panes, name)
            self.windows.rows = [(one, name if one in panes else had, of) for one, had, of in self.windows.rows]

    def recipients(self) -> list[str]:
        """The windows of the session in tmux's order, without those that are ignored; the own one is always among
        them.
        """
        return [] if self.windows is None else listed(self.windows.names, self.name, self.ignored)

    def is_self(self, name: str) -> bool:
        return is_same(name, self.name)

    def is_ignored(self, name: str) -> bool:
        return _is_among(name, self.ignored)

    def window(self, name: str) -> str | None:
        """The window that is meant, as it is written in tmux; None where there is none."""
        names = [] if self.windows is None else self.windows.names
        return next((one for one in names if one == name), None) or next(
            (one for one in names if is_same(one, name)), None
        )


def find_place(
    settings: DoorSettings, environ: Mapping[str, str], *, outside: str = OUTSIDE_TMUX, code: int = OUTSIDE
) -> WindowPlace:
    """Raises Failure outside tmux, in these words, unless AGENTMAIL_NAME says who acts; and once the pane is gone."""
    root = find_work_tree(os.getcwd())
    try:
        pane = TmuxPane(environ)
        windows = pane.windows(root or "")
    except PaneGone as gone:
        raise Failure(f"current window '{gone}' not found in tmux session") from None
    except (NoTmux, TmuxSilent):
        if settings.door_name is None:
            raise Failure(outside, code) from None
        return WindowPlace(root, settings.door_name)
    return WindowPlace(root, windows.mine, windows=windows, pane=pane)


def read_ignored(root: str) -> frozenset[str]:
    """The windows that the project's ignore file names, one a line; none where it cannot be read."""
    try:
        descriptor = os.open(f"{root}/{IGNORE_FILE}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            content = os.read(descriptor, _MAX_IGNORED_BYTES)
        finally:
            os.close(descriptor)
    except OSError:
        return frozenset()
    lines = content.decode("utf-8", "replace").splitlines()
    return frozenset(line.strip() for line in lines if line.strip())


def listed(names: Sequence[str], mine: str, ignored: frozenset[str]) -> list[str]:
    """Those that are shown of these names."""
    return [name for name in names if name == mine or not _is_among(name, ignored)]


def _is_among(name: str, ignored: frozenset[str]) -> bool:
    return any(is_same(name, one) for one in ignored)


def is_same(left: str, right: str) -> bool:
    """Names are compared ignoring letter case, as everywhere here."""
    return left.strip().casefold() == right.strip().casefold()
