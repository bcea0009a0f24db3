"""The issuer's words for roles, and what they mean here."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.server.jwt.roles import role_words
from tests.core.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("claim", "role"),
    [
        ("reader", Role.READER),
        ("rw", Role.WRITER),
        ("admin", Role.OPERATOR),
        ("read write", Role.WRITER),
        ("openid\tadmin\nread", Role.OPERATOR),
        ("Mail Admin", Role.OPERATOR),
        (["read", "operator", "x"], Role.OPERATOR),
        (["x", "write"], Role.WRITER),
        (["openid write"], Role.READER),
        (["Mail Admin"], Role.OPERATOR),
        ("Admin", Role.READER),
        ("administrator", Role.READER),
        ("x", Role.READER),
        ("", Role.READER),
        ([], Role.READER),
        ([1, None, ["admin"], {"admin": 1}], Role.READER),
        ({"admin": True}, Role.READER),
        (1, Role.READER),
        (True, Role.READER),
        (None, Role.READER),
    ],
)
def test_the_highest_known_word_counts(claim: object, role: Role, machine: Machine) -> None:
    words = role_words(machine.settings(HTTP_RBAC_OPERATOR_ROLES="operator,admin,Mail Admin"))

    assert words.role_of(claim) is role


@pytest.mark.parametrize(("default", "role"), [("none", None), ("reader", Role.READER), ("writer", Role.WRITER)])
def test_what_a_token_without_any_gives_is_the_settings_word(default: str, role: Role | None, machine: Machine) -> None:
    words = role_words(machine.settings(HTTP_RBAC_DEFAULT_ROLE=default))

    assert (words.role_of("stranger"), words.role_of(None)) == (role, role)
    assert words.role_of("ro") is Role.READER
