"""Arguments of a call: what a signature declares, what a caller gave, and what is wrong with it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, in_sentences, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.likeness import COMPARED
from mcp_agent_mail.core.mistakes.agent_roles import may_be_meant
from mcp_agent_mail.core.mistakes.synonyms import alike, meanings, ways_for
from mcp_agent_mail.core.params import IdentityPart, NamedThing, ParamType

TOKEN_ARGUMENTS = ("registration_token", "sender_token")
"""Accepted by every tool, listed only where a tool says so (`token_argument`)."""

TOKEN_ARGUMENT = TOKEN_ARGUMENTS[0]
"""The one that texts name."""

FORMAT_ARGUMENT = "format"
"""Accepted by every tool over MCP and `/rpc` and as a query key by every resource, listed by none: how the result is
written, which is no matter of the tool."""

_TOKEN_WORDS = lazy_pattern(
    r"token(?!s)|auth(?!ors?$|or_)|bearer|secret|password|credential|api.?key|(join|invit\w*).?code", re.IGNORECASE
)
"""In the names by which callers send what proves them, join codes among it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWay:
    """How a tool is called, where not all of its arguments can come along. `hidden` ones no refusal names: they stand
    in a path, or are never taken there. `filled` ones its connection gave in its place: whoever misspells one of them
    meant it. `what` is what its callers know the tool by, where that is not its name.
    """

    what: str | None = None
    hidden: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()


ANY_WAY = CallWay()


def means_token(name: str) -> bool:
    """Whether callers mean what proves them by an argument of this name."""
    return name in TOKEN_ARGUMENTS or _TOKEN_WORDS.search(name[:COMPARED]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    name: str
    rule: ParamType
    required: bool
    default: Any = None

    @property
    def stands_for(self) -> IdentityPart | None:
        """Which part of who is calling it is, if it is one."""
        part: IdentityPart | None = getattr(self.rule, "stands_for", None)
        return part

    @property
    def names(self) -> NamedThing | None:
        """What is looked up by it, if anything is."""
        named: NamedThing | None = getattr(self.rule, "names", None)
        return named

    @property
    def writes(self) -> bool:
        """Whether a call of a read-only tool changes something where this is true."""
        return bool(getattr(self.rule, "writes", False))

    def is_left_out(self, value: object) -> bool:
        """Does it stand for nothing? Null does, and blank text where nothing has to be given."""
        return value is None or (not self.required and isinstance(value, str) and not value.strip())

    def value_of(self, value: object) -> object:
        """What the handler gets for it. Raises InvalidInput."""
        if self.is_left_out(value):
            return self.default
        try:
            return self.rule.convert(self.name, value)
        except InvalidInput as refused:
            if (told := _called(self.name, refused)) is refused:
                raise
            raise told from refused

    @property
    def unless(self) -> str | None:
        """The parameter beside which this one may be left out, though it is required."""
        other: str | None = getattr(self.rule, "unless", None)
        return other


def _called(name: str, refused: InvalidInput) -> InvalidInput:
    """The refusal of a rule that has a word of its own for what it is about, with the parameter's name for it."""
    said = str(refused.data.get("parameter", name))
    if said == name or said.startswith(f"{name}["):
        return refused
    message, data = refused.message, {**refused.data, "parameter": name}
    if message.startswith(f"{said} "):
        message = name + message.removeprefix(said)
    return refused.reworded(hint=refused.hint, data=data, message=message)


def params_of(handler: Callable[..., Any]) -> dict[str, Param]:
    """The parameters that the signature of a tool or a resource declares, in its order."""
    params = {}
    # `typing.get_type_hints` would take apart each annotation, which took half of what tables of tools take at a start.
    for name, declared in inspect.signature(handler, eval_str=True).parameters.items():
        rules = getattr(declared.annotation, "__metadata__", ())
        assert rules, f"{handler.__name__}: parameter {name} declares no rule"
        required = declared.default is inspect.Parameter.empty
        params[name] = Param(
            name=name, rule=rules[0], required=required, default=None if required else declared.default
        )
    return params


def bind(
    params: Mapping[str, Param],
    given: Mapping[str, Any],
    *,
    what: str,
    taken_out: Iterable[str] = (),
    hidden: Collection[str] = (),
    filled: Collection[str] = (),
) -> dict[str, Any]:
    """The validated keyword arguments of a call. Raises one InvalidInput that tells every mistake: what `what` does not
    know, what it lacks, and what has a wrong value.

    `taken_out` are accepted arguments that were taken out of `given` before; `hidden` ones no refusal offers; `filled`
    ones stand in `given` and are not the call's own.
    """
    offered = _offered([*params, *taken_out], hidden)
    missing, wrong, bound = [], [], _defaults(params)
    for name, param in _asked(params, given):
        value = given.get(name)
        if param.required and param.is_left_out(value):
            if given.get(param.unless or "") is None:
                missing.append(name)
            continue
        try:
            bound[name] = param.value_of(value)
        except InvalidInput as refused:
            if isinstance(value, list) and f"{name}s" in offered:
                refused.hint = f"{name}s takes a list."
            wrong.append((name, refused))
    strangers = [name for name in given if name not in params]
    if strangers or missing or wrong:
        unknown = _understand(strangers, offered, _own(given, filled), params)
        wrong += _wrong_too(unknown, given, params)
        required = _offered([param.name for param in params.values() if param.required], hidden)
        ways = ways_for([one.name for one in unknown if not one.nearest], offered, tool=what)
        raise _Mistakes(what, unknown, missing, wrong, offered, required, ways).as_error()
    return bound


def _defaults(params: Mapping[str, Param]) -> dict[str, Any]:
    return {name: param.default for name, param in params.items()}


def _asked(params: Mapping[str, Param], given: Mapping[str, Any]) -> list[tuple[str, Param]]:
    """But for those that may be left out and are: most of a tool's."""
    return [(name, param) for name, param in params.items() if param.required or given.get(name) is not None]


def _own(given: Mapping[str, Any], filled: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in filled}


def _offered(names: Iterable[str], hidden: Collection[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name not in hidden]


_OF_PROJECTS = ("project_key", "human_key")
_OF_RULES = (*_OF_PROJECTS, "agent_name", "name")


def in_own_words(error: AgentMailError, params: Mapping[str, Param], given: Mapping[str, Any]) -> None:
    """Let `data.parameter` of what a handler refused be one of `params`. Rules below it do not know the tool: they call
    the caller `agent_name`, a new name `name` and any project `project_key`.
    """
    said = error.data.get("parameter")
    if said is None:
        return
    thing: NamedThing = "project" if said in _OF_PROJECTS else "agent"
    holding = [name for name, param in params.items() if _holds(param, given.get(name), error.refused, thing)]
    if said in (holding or params):
        return
    is_of_caller = said in _OF_RULES  # Any other word of a rule is of another agent than the one that calls.
    holding.sort(key=lambda name: (params[name].stands_for is None) == is_of_caller)
    if is_of_caller:
        part: IdentityPart = "project" if thing == "project" else "caller"
        standing = [name for name, param in params.items() if param.stands_for == part]
        holding += [*(name for name in standing if given.get(name) is not None), *standing]
    if holding:
        error.data["parameter"] = holding[0]


def _holds(param: Param, value: object, refused: str | None, thing: NamedThing) -> bool:
    """Whether `refused` was given by this argument: by itself, or in the address of an agent."""
    if refused is None or not isinstance(value, str) or param.names is None:
        return False
    name, project = _address(value)
    told = {"agent": (value, name), "project": (value,)} if param.names == thing else {"project": (project,)}
    return _key(refused) in map(_key, told.get(thing, ()))


_FULL_ADDRESS = lazy_pattern(r"\s*project:(?P<project>.*)#(?P<name>.*)", re.IGNORECASE | re.DOTALL)


def _address(text: str) -> tuple[str, str]:
    """Name and project of an agent, in either form that an address has; of a plain name no project."""
    full = _FULL_ADDRESS.fullmatch(text)
    name, _, project = text.partition("@")
    return (name, project) if full is None else (full["name"], full["project"])


def _key(text: str) -> str:
    return text.strip().casefold()


class WrongArguments(InvalidInput):
    """A call has arguments that its tool has not, lacks some, or has several with a wrong value. Its hint names
    parameters, though some have the name of a tool; tools it names in `way` alone, with which it begins.
    """

    way = ""


@dataclass(frozen=True, slots=True)
class _Unknown:
    """An argument that there is not, and what was probably meant. `is_sure`: by the word, not by likeness."""

    name: str
    nearest: list[str]
    is_sure: bool = False


_TOLD = 20
"""So many unknown arguments are looked at and named."""


def _understand(
    names: Sequence[str], accepted: Sequence[str], given: Mapping[str, Any], params: Mapping[str, Param]
) -> list[_Unknown]:
    """No two of them mean the same parameter by their words, and none means one that is given beside it. Whoever has
    the fewest meanings chooses first; what is missing is rather meant than what may be left out.
    """
    free = [name for name in accepted if given.get(name) is None]
    found: dict[str, _Unknown] = {}
    possible = {name: _meanings(name, accepted, params) for name in names[:_TOLD]}
    for name in sorted(possible, key=lambda one: len(possible[one])):
        meant = next((one for one in possible[name] if one in free), None)
        if meant is not None and meant not in TOKEN_ARGUMENTS:
            free.remove(meant)
        likely = [meant] if meant is not None else [] if possible[name] else _alike(name, accepted, params)
        found[name] = _Unknown(name=name, nearest=likely, is_sure=meant is not None)
    return [found.get(name, _Unknown(name=name, nearest=[])) for name in names]


def _meanings(name: str, accepted: Sequence[str], params: Mapping[str, Param]) -> list[str]:
    if TOKEN_ARGUMENT in accepted and _TOKEN_WORDS.search(name[:COMPARED]):
        return [TOKEN_ARGUMENT]
    found = _of_its_agent(name, meanings(name, accepted), params)
    return sorted(found, key=lambda meant: meant not in params or not params[meant].required)


def _alike(name: str, accepted: Sequence[str], params: Mapping[str, Param]) -> list[str]:
    return alike(name, _of_its_agent(name, accepted, params))


def _of_its_agent(name: str, possible: Sequence[str], params: Mapping[str, Param]) -> list[str]:
    """The `possible` ones less those of the caller where `name` is a word for another agent, and the reverse."""
    callers = {one.name for one in params.values() if one.stands_for == "caller"}
    others = {one.name for one in params.values() if callers and one.names == "agent"} - callers
    return [one for one in possible if may_be_meant(name, one, is_caller=one in callers, is_other=one in others)]


def _wrong_too(
    unknown: Iterable[_Unknown], given: Mapping[str, Any], params: Mapping[str, Param]
) -> list[tuple[str, InvalidInput]]:
    """What would be wrong with the values under the names that were meant: told now, it costs no second call."""
    wrong = []
    for one in unknown:
        value = given.get(one.name)
        if one.is_sure and value is not None and one.nearest[0] in params:
            try:
                params[one.nearest[0]].value_of(value)
            except InvalidInput as refused:
                wrong.append((one.nearest[0], refused))
    return wrong


@dataclass(frozen=True, slots=True)
class _Mistakes:
    """All that is wrong with the arguments of one call of `what`."""

    what: str
    unknown: list[_Unknown]
    missing: list[str]
    wrong: list[tuple[str, InvalidInput]]
    accepted: list[str]
    required: list[str]
    ways: list[str]

    def as_error(self) -> InvalidInput:
        """The refusal of a single wrong value is its rule's own."""
        if len(self.wrong) == 1 and not self.unknown and not self.missing:
            return self.wrong[0][1]
        facts = [self._fact(), *(refused.message for _, refused in self.wrong)]
        hints = [self._hint(), *(_hint_about(name, refused) for name, refused in self.wrong)]
        way = in_sentences(*self.ways)
        error = WrongArguments(in_sentences(*facts), hint=in_sentences(way, *hints), data=self._data())
        error.way = way
        return error

    def _unexplained(self) -> list[str]:
        """What is missing, and not there by another name."""
        there = {one.nearest[0] for one in self.unknown if one.nearest}
        return [name for name in self.missing if name not in there]

    def _fact(self) -> str:
        names = [repr(one.name[:COMPARED]) for one in self.unknown[:_TOLD]]
        if more := len(self.unknown) - len(names):
            names.append(f"{more} more")
        has = f"has no argument{'s' if len(names) > 1 else ''} {listed(names)}" if names else ""
        lacks = self._unexplained()
        needs = f"needs {listed(lacks, 'and')}" if lacks else ""
        told = " and ".join(part for part in (has, needs) if part)
        return f"{self.what} {told}." if told else ""

    def _hint(self) -> str:
        if not self.unknown:
            return ""
        accepted = f"Accepted: {', '.join(self.accepted) or 'none'}."
        meant = [f"{one.nearest[0]} for {one.name[:COMPARED]}" for one in self.unknown if one.nearest]
        if len(self.unknown) == 1 and meant:
            meant = [listed(self.unknown[0].nearest)]
        return in_sentences(
            f"Did you mean {', '.join(meant)}?" if meant else "",
            "" if all(one.is_sure for one in self.unknown) else accepted,
        )

    def _data(self) -> dict[str, Any]:
        names = [one.name[:COMPARED] for one in self.unknown]
        wrong = [{**refused.data, "parameter": name, "message": refused.message} for name, refused in self.wrong]
        return {
            "parameter": next(iter([*names, *self.missing, *(name for name, _ in self.wrong)])),
            "unknown": [
                {"name": one.name[:COMPARED], **({"did_you_mean": one.nearest[0]} if one.nearest else {})}
                for one in self.unknown[:_TOLD]
            ],
            "missing": self.missing,
            "accepted": self.accepted,
            **({"nearest": self.unknown[0].nearest} if self.unknown else {}),
            **({"required": self.required} if self.missing else {}),
            **({"wrong": wrong} if wrong else {}),
        }


def _hint_about(name: str, refused: InvalidInput) -> str:
    """The hint of one of several refusals: it says what it is about."""
    return refused.hint if not refused.hint or name in refused.hint else f"{name}: {refused.hint}"
