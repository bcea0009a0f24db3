"""The help of `am` itself: every command on one screen of 24 lines and 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest

LINES, COLUMNS = 24, 80
_COLUMN = COLUMNS // 2
_LEAST_WIDTH = COLUMNS - 2


class CommandSection(StrEnum):
    """What a command is for. On the screen the first two stand left, the others right of them."""

    SERVER = "Server"
    MAIL = "Mail and who sends it"
    CONNECT = "Connect"
    SHELL = "For agents and scripts"
    STORE = "Store"


_LEFT = (CommandSection.SERVER, CommandSection.MAIL)
_RIGHT = (CommandSection.CONNECT, CommandSection.SHELL, CommandSection.STORE)
_TAIL = """\
Exit codes: 0 done, 1 refused or findings, 2 usage, 69 no server or store,
78 bad settings. JSON: --json. More: am COMMAND --help. Version: am --version
"""


Listed = Mapping[CommandSection, Mapping[str, str]]
"""Commands by what they are for, each with its line."""


def screen(commands: Listed, *, width: int) -> str:
    """The whole help. In `width`, which is what a terminal leaves for text, two columns stand side by side where they
    find room, else one below the other.
    """
    left, right = (_lines_of(sections, commands) for sections in (_LEFT, _RIGHT))
    if width < _LEAST_WIDTH:
        lines: Sequence[str] = [*left, *right]
    else:
        lines = [f"{one:<{_COLUMN}}{other}".rstrip() for one, other in zip_longest(left, right, fillvalue="")]
    return "\n".join(("Mail for coding agents. Usage: am COMMAND [OPTIONS] [ARGS]...", *lines, "", _TAIL))


def _lines_of(sections: Sequence[CommandSection], commands: Listed) -> list[str]:
    shown = {section: commands.get(section, {}) for section in sections}
    longest = max((len(name) for named in shown.values() for name in named), default=0)
    lines = []
    for section, named in shown.items():
        lines += [section, *(f"  {name:<{longest}}  {summary}" for name, summary in named.items())]
    return lines
