"""What whoever shows a credential may do at most: each role may also do what the ones before it may."""

from __future__ import annotations

from enum import IntEnum

from mcp_agent_mail.core.errors import PermissionDenied


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


class BeyondRole(PermissionDenied):
    """What is asked needs a higher role than whoever asks holds."""

    def __init__(self, what: str, *, held: Role, needed: Role) -> None:
        super().__init__(
            f"{what} needs the role {needed.word}; the token that was shown gives {held.word}.",
            hint="The operator gives a token of a higher role: am token create --role ROLE.",
            data={"held": held.word, "needed": needed.word},
        )


def require_role(held: Role, needed: Role, what: str) -> None:
    """Raise BeyondRole where `held` is less than what `what` needs."""
    if held < needed:
        raise BeyondRole(what, held=held, needed=needed)
