"""What whoever shows a credential may do at most: each role may also do what the ones before it may."""

from __future__ import annotations

import shlex
from enum import IntEnum

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.lazy.dataclass import dataclass


class Role(IntEnum):
    """`READER` looks; `WRITER` calls every tool that agents have; `OPERATOR` has the operator's right too."""

    READER = 1
    WRITER = 2
    OPERATOR = 3

    @property
    def word(self) -> str:
        """As settings, commands and answers name it."""
        return self.name.lower()


ROLES_BY_WORD = {role.word: role for role in Role}


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedAgent:
    """Whom the credentials of a refused call prove, by name, and the human key of the project."""

    name: str
    project: str


class BeyondRole(PermissionDenied):
    """What is asked needs a higher role than whoever asks holds. `agent` is who asks, where a token proves one: another
    token has to prove it too, but for what is the operator's alone. `instead` is a sentence on what the role allows.
    """

    def __init__(
        self, what: str, *, held: Role, needed: Role, agent: RefusedAgent | None = None, instead: str = ""
    ) -> None:
        is_agents = agent is not None and needed < Role.OPERATOR
        whose = ["--agent", agent.name, "--project", agent.project] if agent is not None and is_agents else []
        command = shlex.join(["am", "token", "create", *whose, "--role", needed.word])
        super().__init__(
            f"{what} needs the role {needed.word}; the token that was shown gives {held.word}.",
            hint=f"{instead}The operator gives a token of that role: {command}",
            data={"held": held.word, "needed": needed.word},
        )


def require_role(held: Role, needed: Role, what: str) -> None:
    """Raise BeyondRole where `held` is less than what `what` needs."""
    if held < needed:
        raise BeyondRole(what, held=held, needed=needed)
