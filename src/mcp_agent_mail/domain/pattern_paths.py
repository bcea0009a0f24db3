"""Which of a few checked paths many leases cover: the other way round than the index, for a hook that starts anew.

The paths are prepared once; a lease without special characters is then one look into a table, and is never
parsed. So 10,000 leases of a snapshot cost milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.domain.pattern_chars import fold
from mcp_agent_mail.domain.pattern_names import has_special
from mcp_agent_mail.domain.pattern_work import Work
from mcp_agent_mail.domain.patterns import covers, stored_pattern


class CheckedPaths:
    """Paths from the repository's root, as Git names them, taken letter by letter."""

    def __init__(self, paths: Iterable[str], *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        self._paths = list(dict.fromkeys(paths))
        # Each path stands under its own name and under every folder that it lies in.
        self._under: dict[str, list[str]] = {}
        for path in self._paths:
            checked = fold(path) if ignore_case else path
            at = checked.find("/")
            while at >= 0:
                self._under.setdefault(checked[:at], []).append(path)
                at = checked.find("/", at + 1)
            self._under.setdefault(checked, []).append(path)
        self._endings: dict[str, list[str]] = {}
        for path in self._paths:
            names = (fold(path) if ignore_case else path).split("/")
            for ending in {name[at:] for name in names for at in range(len(name) + 1)}:
                self._endings.setdefault(ending, []).append(path)

    def covered_by(self, text: str, budget: Work) -> list[str]:
        """The paths that a lease with this stored text covers, in the order given; UnreadablePattern if it is none."""
        budget.spend(1)
        plain = _less_tree(text)
        if plain and not has_special(plain) and "://" not in plain:
            return self._under.get(fold(plain) if self._ignore_case else plain, [])
        ending = text.removeprefix("**/").removeprefix("*")
        if text.startswith("*") and not has_special(ending) and "/" not in ending and text[-len(ending) - 1] == "*":
            return self._endings.get(fold(ending) if self._ignore_case else ending, [])
        pattern = stored_pattern(text, ignore_case=self._ignore_case)
        return [path for path in self._paths if covers(pattern, path, budget)]


def _less_tree(text: str) -> str:
    """`dir` of `dir/**`, `dir/*`, `dir/`; else all of `text`."""
    for ending in ("/**", "/*", "/"):
        if text.endswith(ending):
            return text[: -len(ending)]
    return text
