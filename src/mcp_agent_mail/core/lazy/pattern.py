"""Regular expressions that are compiled when they are first used.

Compiling them took 50 ms of each start, and no first request needs them. What it costs comes with the first use: 8 ms
for the largest, a millisecond or less for most.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class LazyPattern:
    """Has the methods and attributes of what `re.compile` gives for the same arguments. It is no `re.Pattern` itself:
    ask it (`PATTERN.sub(...)`), the functions of `re` refuse it. What is wrong with an expression shows at its first
    use, so a test compiles each one in the package.
    """

    # Any: a text or bytes.
    def __init__(self, pattern: Any, flags: int) -> None:  # noqa: ANN401
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever a compiled one has
        """Called for what is not here yet. Kept, so that a later use costs as much as that of a compiled one."""
        if name.startswith("__"):
            raise AttributeError(name)
        value = re.compile(*self._given) if name == "_compiled" else getattr(self._compiled, name)
        self.__dict__[name] = value
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, for a module's expressions that a start does not need."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))  # stands in for it, as above
