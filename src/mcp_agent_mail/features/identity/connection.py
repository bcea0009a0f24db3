"""Who calls, said once: what a connection says of itself, or a token proves, stands for what its calls leave out.

Nothing is judged here. What is filled in is an argument like any other: a name proves nothing, and one that a token
contradicts is refused where every other such name is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from mcp_agent_mail.core.arguments import ANY_WAY, CallWay, Param
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, PermissionDenied
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.params import IDENTITY_PARTS, IdentityPart
from mcp_agent_mail.core.tools import Credentials, Json, ToolSpec, ToolTable, take_token
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import is_path
from mcp_agent_mail.features.identity.results import IdentityProof
from mcp_agent_mail.features.identity.service import IdentityService

ACTIVE_SHOWN = 10
_SAID_BY: Mapping[IdentityPart, str] = {"project": "X-Agent-Project", "caller": "X-Agent-Name"}
"""The headers by which a connection says it once."""
_NOBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)

# The call's plain JSON result.
Resolve = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]
"""Runs a look-up for a project by any directory of it, symbolic links too."""


class ForeignToken(PermissionDenied):
    """A call names a project and leaves the caller to its token, which is an agent's of another project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallArguments:
    """`arguments` with what was left out; `filled` is that alone, as far as the connection said it."""

    arguments: Mapping[str, Json]
    filled: Mapping[str, str] = field(default_factory=dict)


class ConnectionIdentity:
    """Fills in the project and the caller's name. Looks into the store only where a call leaves one of them out."""

    def __init__(self, identity: IdentityService, resolve: Resolve) -> None:
        self._identity = identity
        self._resolve = resolve

    async def known_of(self, credentials: Credentials) -> frozenset[IdentityPart]:
        """What calls of this connection may leave out. A wrong token proves nothing here: the first call refuses it."""
        said: dict[IdentityPart, str | None] = {"project": credentials.said_project, "caller": credentials.said_agent}
        known = frozenset(part for part, value in said.items() if value is not None)
        if len(known) == len(said):
            return known
        try:
            proven = await self._identity.find_proven(credentials)
        except AgentMailError:
            return known
        return known if proven is None else frozenset(said)

    async def complete(self, spec: ToolSpec, arguments: Mapping[str, Json], credentials: Credentials) -> CallArguments:
        """What the call gives wins, a token among its arguments too; then what the connection says; then what a token
        of the connection proves. Raises ForeignToken, and what a wrong token raises.
        """
        if not any(_left_out(spec, arguments, part) for part in IDENTITY_PARTS):
            return CallArguments(arguments=arguments)
        brought, _ = take_token(credentials, arguments)
        own = None if brought.token_argument is None else await self._identity.find_proven(brought)
        filled = {} if own is not None else await self._as_said(spec, arguments, credentials)
        completed = {**arguments, **filled}
        if any(_is_needed(spec, completed, part) for part in IDENTITY_PARTS):
            proven = own or await self._identity.find_proven(brought)
            if proven is not None:
                completed |= await self._as_proven(spec, completed, proven)
        return CallArguments(arguments=completed, filled=filled)

    async def _as_said(self, spec: ToolSpec, arguments: Mapping[str, Json], credentials: Credentials) -> dict[str, str]:
        filled = {}
        project, caller = (_left_out(spec, arguments, part) for part in IDENTITY_PARTS)
        if project is not None and (said := credentials.said_project) is not None:
            # By its directory, since a tool that makes projects takes no slug.
            filled[project] = said if is_path(said) else await self._find_directory(said) or said
        if caller is not None and credentials.said_agent is not None:
            filled[caller] = credentials.said_agent
        return filled

    async def _as_proven(self, spec: ToolSpec, said: Mapping[str, Json], proven: IdentityProof) -> dict[str, str]:
        """What the proof says of what the call needs and lacks. An agent's name is none in another project."""
        project, caller = (_is_needed(spec, said, part) for part in IDENTITY_PARTS)
        parts = {} if project is None else {project: proven.project}
        if caller is None:
            return parts
        named = _named_project(spec, said)
        directory = None if named is None else await self._find_directory(named)
        if directory is not None and directory != proven.project:
            raise ForeignToken(
                f"The token given belongs to {proven.agent} of {proven.project}, not to an agent of {directory}.",
                hint=f"Leave the project out to act there, or send the token of your agent in {directory}.",
                data={"agent": proven.agent, "project": proven.project},
            )
        return {**parts, caller: proven.agent}

    async def explain(self, spec: ToolSpec, completed: CallArguments, error: AgentMailError) -> None:
        """Add to `error` how the project and the caller's name are given and who can be meant, where they are missing,
        and where a value came from that the call did not give.
        """
        name = _is_needed(spec, completed.arguments, "caller")
        # Not every refusal is about one argument: a part that is not lacking has no name either.
        missing = error.data.get("missing") or [one for one in (error.data.get("parameter"),) if one is not None]
        if isinstance(error, InvalidInput) and (ways := _ways_to_say(spec, completed.arguments, missing)):
            error.hint = f"{error.hint} {ways}".strip()
        if isinstance(error, InvalidInput) and name is not None and name in missing:
            active = await self._active_names(_named_project(spec, completed.arguments))
            if active:
                error.hint = f"{error.hint} Last active here: {', '.join(active)}.".strip()
                error.data["agents"] = active
        said = error.data.get("parameter")
        for parameter, value in completed.filled.items():
            if said == parameter and value in error.message:
                error.hint = f"{error.hint} {parameter} was left out: this connection says it.".strip()

    async def _active_names(self, project_key: str | None) -> list[str]:
        if project_key is None:
            return []

        async def look() -> list[str]:
            listing = await self._identity.list_(_NOBODY, project_key, limit=ACTIVE_SHOWN)
            return [agent.name for agent in listing.agents]

        try:
            names: list[str] = await self._resolve(look)
        except AgentMailError:
            # An unknown project: its own refusal comes once the name is there.
            return []
        return names

    async def _find_directory(self, key: str) -> str | None:
        try:
            directory: str = await self._resolve(lambda: self._identity.directory(key))
        except AgentMailError:
            return None
        return directory


class ConnectionTools(ToolTable):
    """The tools of `table`, of whose calls a connection may have said who makes them."""

    def __init__(self, table: ToolTable, connection: ConnectionIdentity) -> None:
        super().__init__(table.specs())
        self._table = table
        self._connection = connection

    async def known_of(self, credentials: Credentials) -> frozenset[IdentityPart]:
        return await self._connection.known_of(credentials)

    async def run(
        self, name: str, arguments: Mapping[str, Json], credentials: Credentials, way: CallWay = ANY_WAY
    ) -> Json:
        """As the table runs it, with what was left out filled in; a refusal says what was, and who can be meant."""
        spec = self.require(name, credentials)
        completed = await self._connection.complete(spec, arguments, credentials)
        if credentials.claimed_agents:
            said = completed.arguments
            credentials = replace(
                credentials, named_agent=_named_agent(spec, said), named_project=_named_project(spec, said)
            )
        if len(completed.arguments) > len(arguments):
            way = replace(way, filled=frozenset(completed.arguments).difference(arguments))
        try:
            return await self._table.run(name, completed.arguments, credentials, way)
        except AgentMailError as error:
            await self._connection.explain(spec, completed, error)
            raise


def _left_out(spec: ToolSpec, given: Mapping[str, Json], part: IdentityPart) -> str | None:
    """The parameter that stands for this part of who calls, where none that does is given."""
    params = spec.identity_params[part]
    return None if not params or any(_is_said(given.get(param.name)) for param in params) else params[0].name


def _is_needed(spec: ToolSpec, given: Mapping[str, Json], part: IdentityPart) -> str | None:
    """As `_left_out`, less optional ones: they are the tool's own matter, which knows whose token comes along."""
    name = _left_out(spec, given, part)
    return name if name is not None and spec.params[name].required else None


def _ways_to_say(spec: ToolSpec, given: Mapping[str, Json], missing: Sequence[str]) -> str:
    """How what is missing of who calls can be said; nothing where nothing of that is missing."""
    needed = [(part, _is_needed(spec, given, part)) for part in IDENTITY_PARTS]
    lacking = [(part, name) for part, name in needed if name is not None and name in missing]
    if not lacking:
        return ""
    arguments = " and ".join(f'{name}="…"' for _, name in lacking)
    headers = " and ".join(_SAID_BY[part] for part, _ in lacking)
    return (
        f"Give {arguments} in the call, or say it once by the connection's header{'s' * (len(lacking) > 1)} {headers}."
    )


def _is_said(value: Json) -> bool:
    return value is not None and not (isinstance(value, str) and not value.strip())


def _named_agent(spec: ToolSpec, given: Mapping[str, Json]) -> str | None:
    return _first_said(given, spec.identity_params["caller"])


def _named_project(spec: ToolSpec, given: Mapping[str, Json]) -> str | None:
    return _first_said(given, spec.identity_params["project"])


def _first_said(given: Mapping[str, Json], params: Sequence[Param]) -> str | None:
    values = [given.get(param.name) for param in params]
    return next((value for value in values if isinstance(value, str) and value.strip()), None)
