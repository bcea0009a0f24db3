"""What whoever shows a credential may do at most: each role may also do what the ones before it may."""

from __future__ import annotations

from enum import IntEnum


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
