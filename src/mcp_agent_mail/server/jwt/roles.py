"""Which role the words of a JWT mean here."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import ROLES_BY_WORD, Role
from mcp_agent_mail.core.settings.server import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleWords:
    """`by_word` are the issuer's words, letter by letter. `default` is what a token without any of them gives; None is
    nothing.
    """

    by_word: Mapping[str, Role]
    default: Role | None

    def role_of(self, claim: object) -> Role | None:
        """The highest of those that the claim names: in a list, or in a text, where blanks stand between them as in
        `scope` unless the whole text is a word.
        """
        known = [role for word in _words(claim) if (role := self.by_word.get(word)) is not None]
        return max(known, default=self.default)


def role_words(settings: Settings) -> RoleWords:
    """What the settings say of roles."""
    words = {
        Role.READER: settings.http_rbac_reader_roles,
        Role.WRITER: settings.http_rbac_writer_roles,
        Role.OPERATOR: settings.http_rbac_operator_roles,
    }
    return RoleWords(
        by_word={word: role for role, its in words.items() for word in its},
        default=ROLES_BY_WORD.get(settings.http_rbac_default_role),
    )


def _words(claim: object) -> list[str]:
    if isinstance(claim, str):
        return [claim, *claim.split()]
    return [word for word in claim if isinstance(word, str)] if isinstance(claim, list) else []
