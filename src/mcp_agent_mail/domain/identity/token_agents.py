"""Tokens that are for certain agents, and what is said to who comes with one as somebody else."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.names import name_key

NOBODY = "(nobody)"
"""What a token names that is for agents and names none: no agent can be called so."""
_SHOWN = 3
_SHOWN_LENGTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbiguousClaim:
    """A name without a project, of which several projects have an agent: it proves none of them. `addresses` are some
    of those, as `Name@project`: that a project has an agent is everybody's to read (`Readership.DIRECTORY`).
    """

    name: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAgents:
    """The agents that the token which let a caller in is for, in the token's words; none where its agent is gone.
    `issued_to` is the one of a token that this server has issued.

    Who comes with one is nobody else at its word, whatever AGENT_AUTH says.
    """

    names: tuple[str, ...]
    ambiguous: tuple[AmbiguousClaim, ...] = ()
    issued_to: AgentId | None = None

    def why(self, name: str | None = None) -> str:
        """Why it does not prove the agent of this name, or any agent at all: a sentence."""
        if unclear := self._unclear(name):
            names = _shown(claim.name for claim in unclear)
            return f"The token that let you in names {names} without a project, and several projects have that name."
        if not self.names:
            return "The token that let you in is an agent's that is not there any more."
        if self.names == (NOBODY,):
            return "The token that let you in names no agent."
        missing = "" if name is not None else ", of whom none is there"
        return f"The token that let you in is for {_shown(self.names)} alone{missing}."

    def remedy(self, name: str | None = None, *, may_register: bool = True) -> str:
        """What whoever calls can do about it. Who `may_register` nobody is not told to."""
        if unclear := self._unclear(name):
            addresses = _shown((one for claim in unclear for one in claim.addresses), "or")
            return f"Have its issuer write Name@project in the token: {addresses}."
        wanted = f"for {name}" if name is not None else "for an agent that is there, or for none"
        is_nobodys = self.names in ((), (NOBODY,))
        if is_nobodys or (name is None and not may_register):
            return f"Come with a token {wanted}."
        do = "Act" if name is not None else "Register"
        return f"{do} as {_shown(self.names, 'or')}, or come with a token {wanted}."

    def shut_out(self, name: str) -> str:
        """What is told of the token of an agent that just became one, and is none of these: it may have the name of
        one.
        """
        whose = f"acts as {_shown(self.names)} alone" if self.names not in ((), (NOBODY,)) else "acts as nobody"
        return (
            f"This connection {whose}: the new {name}'s registration_token counts for "
            f"nothing on it. The new {name} needs a connection whose bearer proves no other agent."
        )

    def may_mean(self, name: str) -> bool:
        """Whether the agent of this name, which something else has proven, may be one of those."""
        return bool(self._unclear(name))

    def _unclear(self, name: str | None) -> list[AmbiguousClaim]:
        """Those that may mean the agent of this name; all of them where none is meant."""
        return [claim for claim in self.ambiguous if name is None or name_key(claim.name) == name_key(name)]


def _shown(names: Iterable[str], conjunction: str = "and") -> str:
    every = list(names)
    some = [f"{one.strip():.{_SHOWN_LENGTH}}" for one in every[:_SHOWN]]
    more = len(every) - _SHOWN
    return listed([*some, f"{more} more"] if more > 0 else some, conjunction)
