"""Tools that other packages hand in by entry points: loaded where CUSTOM_TOOLS names them, and looked at before any is
served. One mistake keeps the server from starting, and all are told together.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib.metadata import EntryPoint, entry_points
from itertools import islice

from mcp_agent_mail.bootstrap.left_calls import LeftCalls
from mcp_agent_mail.core.arguments import FORMAT_ARGUMENT, TOKEN_ARGUMENTS
from mcp_agent_mail.core.errors import Unavailable, in_sentences, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.profiles import CUSTOM, TOOLS, UNLISTED
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.extending import GROUP, Host

MAX_TOOLS = 64
MAX_SCHEMA_BYTES = 16 * 1024
MAX_TEXT = 4_000
"""Characters of what a tool says of itself: each agent that lists it pays for them."""
MAX_TITLE = 100
_MAX_WORDS = 300
"""Characters that are told of what a package raised."""
_NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")
_TAKEN = frozenset({*TOOLS, *UNLISTED, "read_resource"})
_RESERVED = frozenset({*TOKEN_ARGUMENTS, FORMAT_ARGUMENT})


class CustomToolsRefused(Unavailable):
    """What CUSTOM_TOOLS names cannot be served."""


class _Unfit(Exception):
    """An entry point that gives nothing of use; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomTools:
    """The tools of other packages, in the order in which they were named, and what the server lends them."""

    specs: Sequence[ToolSpec] = ()
    host: Host = field(default_factory=Host)
    left: LeftCalls = field(default_factory=LeftCalls)

    def names(self) -> list[str]:
        return [spec.name for spec in self.specs]


def load_custom_tools(names: Sequence[str]) -> CustomTools:
    """Run the entry points of these names, and no others. Raises CustomToolsRefused with all that is wrong."""
    host, mistakes = Host(), []
    specs: dict[str, ToolSpec] = {}
    for name in names:
        try:
            given = _given_by(name, host)
        except _Unfit as unfit:
            mistakes.append(f"{name}: {unfit}")
            continue
        for spec in given:
            mistakes += [f"{name}: {fault}" for fault in _faults(spec, specs)]
            if isinstance(spec, ToolSpec):
                specs[spec.name] = spec
    if len(specs) > MAX_TOOLS:
        mistakes.append(f"There are more than {MAX_TOOLS} tools")
    if mistakes:
        raise _refused(mistakes)
    return CustomTools(specs=tuple(specs.values()), host=host)


def require_entry_points(names: Sequence[str]) -> None:
    """For who serves nothing: each name has its entry point, of which none is loaded. Raises CustomToolsRefused, in the
    words of `load_custom_tools`.
    """
    mistakes = []
    for name in names:
        try:
            _entry_point(name)
        except _Unfit as unfit:
            mistakes.append(f"{name}: {unfit}")
    if mistakes:
        raise _refused(mistakes)


def _refused(mistakes: Sequence[str]) -> CustomToolsRefused:
    return CustomToolsRefused(
        in_sentences("CUSTOM_TOOLS cannot be served", *(f"{mistake}." for mistake in mistakes)),
        hint="Correct the package that has the entry point, or take its name out of CUSTOM_TOOLS.",
        data={"mistakes": list(mistakes)},
    )


def _given_by(name: str, host: Host) -> list[object]:
    """All that the entry point gives, of which nothing is known. Raises _Unfit."""
    make = _loaded(_entry_point(name))
    try:
        given = list(islice(iter(make(host)), MAX_TOOLS + 1))
    except (Exception, SystemExit) as failed:
        raise _Unfit(f"its function failed: {_words(failed)}") from failed
    if not given:
        raise _Unfit("its function gives no tools")
    return given


def _entry_point(name: str) -> EntryPoint:
    known = entry_points(group=GROUP)
    found = list(known.select(name=name))
    if not found:
        there = listed(sorted({one.name for one in known})[:MAX_TOOLS], "and")
        raise _Unfit(f"no installed package has this entry point in the group {GROUP}; there are: {there or 'none'}")
    if len(found) > 1:
        packages = listed(sorted(one.dist.name if one.dist else one.value for one in found), "and")
        raise _Unfit(f"{packages} have it, and nothing says which is meant")
    return found[0]


def _loaded(point: EntryPoint) -> Callable[[Host], Iterable[object]]:
    try:
        loaded: object = point.load()
    except (Exception, SystemExit) as failed:
        raise _Unfit(f"{point.value} cannot be imported: {_words(failed)}") from failed
    if not callable(loaded):
        raise _Unfit(f"{point.value} is no function that takes a Host and gives ToolSpecs")
    make: Callable[[Host], Iterable[object]] = loaded
    return make


def _words(failed: BaseException) -> str:
    return f"{type(failed).__name__}: {failed}"[:_MAX_WORDS].rstrip(".")


def _faults(spec: object, others: Mapping[str, ToolSpec]) -> Iterator[str]:
    """What is wrong with one of the things that an entry point gave."""
    if not isinstance(spec, ToolSpec):
        yield f"it gives a {type(spec).__name__}, which is no ToolSpec"
        return
    what = f"the tool {spec.name:.64}"
    if _NAME.fullmatch(spec.name) is None:
        yield f"{what} must be named by small letters, digits and _, a letter first, at most 64"
    if spec.name in _TAKEN:
        yield f"{what} has the name of one of the server's"
    if spec.name in others:
        yield f"{what} is there twice"
    if spec.cluster != CUSTOM or not spec.is_over_mcp or spec.is_long:
        yield f"{what} was not made by mcp_agent_mail.extending.tool"
    if not inspect.iscoroutinefunction(spec.handler):
        yield f"{what} is no async function"
    yield from (f"{what} {fault}" for fault in _faults_of_words(spec))


def _faults_of_words(spec: ToolSpec) -> Iterator[str]:
    """Of what agents read."""
    if not 0 < len(spec.title.strip()) <= MAX_TITLE:
        yield f"needs a title of at most {MAX_TITLE} characters"
    if not 0 < len(spec.description) <= MAX_TEXT:
        yield f"needs a docstring of at most {MAX_TEXT} characters"
    if reserved := sorted(_RESERVED & spec.params.keys()):
        yield f"has the parameter {listed(reserved, 'and')}, which every tool has"
    try:
        size_bytes = len(json.dumps(spec.schema, allow_nan=False))
    except (TypeError, ValueError):
        yield "has a schema that is no JSON: a default or a rule is at fault"
        return
    if size_bytes > MAX_SCHEMA_BYTES:
        yield f"has a schema of more than {MAX_SCHEMA_BYTES >> 10} KiB"
