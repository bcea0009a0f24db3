"""Roles are nested, and whoever is refused is told what is held and what is needed."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.roles import ROLES_BY_WORD, BeyondRole, RefusedAgent, Role, require_role


def test_roles_are_named_as_settings_and_commands_name_them() -> None:
    assert {"reader": Role.READER, "writer": Role.WRITER, "operator": Role.OPERATOR} == ROLES_BY_WORD
    assert [role.word for role in Role] == ["reader", "writer", "operator"]


def test_each_role_may_do_what_those_before_it_may_and_nothing_beyond() -> None:
    refused = []
    for held in Role:
        for needed in Role:
            try:
                require_role(held, needed, "send_message")
            except BeyondRole:
                refused.append((held.word, needed.word))

    assert refused == [("reader", "writer"), ("reader", "operator"), ("writer", "operator")]


def test_a_refusal_names_what_was_asked_what_is_held_and_what_is_needed() -> None:
    with pytest.raises(BeyondRole) as refused:
        require_role(Role.READER, Role.WRITER, "send_message")

    assert refused.value.code == "PERMISSION_DENIED"
    assert refused.value.message == "send_message needs the role writer; the token that was shown gives reader."
    assert refused.value.data == {"held": "reader", "needed": "writer"}
    assert refused.value.hint.endswith(": am token create --role writer")


@pytest.mark.parametrize(
    ("needed", "command"),
    [
        (Role.WRITER, "am token create --agent BlueLake --project '/code/my app' --role writer"),
        (Role.OPERATOR, "am token create --role operator"),
    ],
)
def test_whom_a_token_proves_another_token_has_to_prove_too(needed: Role, command: str) -> None:
    agent = RefusedAgent(name="BlueLake", project="/code/my app")

    refused = BeyondRole("send_message", held=Role.READER, needed=needed, agent=agent)

    assert refused.hint.endswith(f": {command}")
