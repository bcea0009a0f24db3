"""What settings of the edge mean together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.machine import Machine

KEY = "k" * 32
JWKS = {"HTTP_JWT_JWKS_URL": "https://id.example/keys", "HTTP_JWT_AUDIENCE": "mail"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("given", "mistaken"),
    [
        ({}, "HTTP_JWT_ENABLED"),
        ({"HTTP_JWT_JWKS_URL": JWKS["HTTP_JWT_JWKS_URL"]}, "HTTP_JWT_JWKS_URL"),
        ({**JWKS, "HTTP_JWT_ALGORITHMS": "HS256"}, "HTTP_JWT_ALGORITHMS"),
        ({"HTTP_JWT_SECRET": KEY, "HTTP_JWT_ALGORITHMS": "RS256"}, "HTTP_JWT_ALGORITHMS"),
    ],
)
def test_jwts_need_one_key_of_their_kind(given: dict[str, str], mistaken: str, machine: Machine) -> None:
    assert [mistake.name for mistake in machine.mistakes(HTTP_JWT_ENABLED="true", **given)] == [mistaken]
    assert machine.settings(HTTP_JWT_ENABLED="false", **given).http_jwt_enabled is False


@pytest.mark.parametrize("given", [{"HTTP_JWT_SECRET": KEY}, JWKS, {**JWKS, "HTTP_JWT_SECRET": KEY}])
def test_with_their_key_they_keep_others_out_as_a_token_does(given: dict[str, str], machine: Machine) -> None:
    beyond = machine.settings(HTTP_JWT_ENABLED="true", HTTP_HOST="10.0.0.1", FACADES_HOST="10.0.0.1", **given)
    assert beyond.http_jwt_enabled
    assert {mistake.name for mistake in machine.mistakes(HTTP_HOST="10.0.0.1", FACADES_HOST="10.0.0.1", **given)} == {
        "HTTP_HOST",
        "FACADES_HOST",
    }


def test_any_origin_may_call_only_where_every_act_needs_a_token(machine: Machine) -> None:
    every = {"HTTP_CORS_ENABLED": "true", "HTTP_CORS_ORIGINS": "*"}

    assert [mistake.name for mistake in machine.mistakes(**every)] == ["HTTP_CORS_ORIGINS"]
    assert machine.settings(AGENT_AUTH="strict", **every).http_cors_origins == ("*",)
    assert machine.notices(HTTP_CORS_ENABLED="true") == [("warning", "HTTP_CORS_ENABLED")]


def test_a_word_means_one_role(machine: Machine) -> None:
    (mistake,) = machine.mistakes(HTTP_RBAC_READER_ROLES="staff", HTTP_RBAC_OPERATOR_ROLES="boss,staff")

    assert (mistake.name, "staff" in mistake.expected) == ("HTTP_RBAC_OPERATOR_ROLES", True)


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({"HTTP_BEARER_ROLE": "reader"}, ["HTTP_BEARER_ROLE"]),
        ({"HTTP_BEARER_ROLE": "reader", "HTTP_RBAC_ENABLED": "false"}, []),
        ({"HTTP_BEARER_ROLE": "reader", "HTTP_BEARER_TOKEN": KEY}, []),
        ({"HTTP_BEARER_ROLE": "reader", "HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": KEY}, []),
        ({"HTTP_BEARER_TOKEN": KEY}, []),
        ({}, []),
    ],
)
def test_a_readers_token_that_nobody_has_to_show_is_warned_of(
    given: dict[str, str], warned: list[str], machine: Machine
) -> None:
    assert machine.notices(**given) == [("warning", name) for name in warned]


@pytest.mark.parametrize(
    ("given", "is_warned"),
    [
        ({"HTTP_BEARER_TOKEN": KEY, "HTTP_BEARER_ROLE": "reader"}, True),
        ({"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": KEY}, True),
        ({"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": KEY, "HTTP_RBAC_ENABLED": "false"}, False),
        ({"HTTP_BEARER_TOKEN": KEY}, False),
        ({}, False),
    ],
)
def test_so_is_a_machine_that_needs_none_beside_readers(
    given: dict[str, str], *, is_warned: bool, machine: Machine
) -> None:
    name = "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED"

    assert machine.notices(HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED="true", **given) == [("warning", name)] * is_warned


@pytest.mark.parametrize(
    ("given", "is_warned"),
    [
        ({"HTTP_HOST": "0.0.0.0"}, True),  # asked about, not bound to
        ({"HTTP_HOST": "::"}, True),
        ({"HTTP_HOST": "0.0.0.0", "HTTP_PUBLIC_URL": "https://mail.example"}, False),
        ({"HTTP_HOST": "10.0.0.1"}, False),
        ({}, False),
        ({"HTTP_HOST": "0.0.0.0", "HTTP_JWT_ISSUER": "deploy"}, False),
        ({"HTTP_HOST": "0.0.0.0", "HTTP_JWT_ENABLED": "false", "HTTP_BEARER_TOKEN": KEY}, False),
    ],
)
def test_where_others_are_told_to_sign_in_they_have_to_reach_it(
    given: dict[str, str], *, is_warned: bool, machine: Machine
) -> None:
    jwts = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": KEY, "HTTP_JWT_ISSUER": "https://id.example"}

    warned = machine.notices(**{"HTTP_ALLOWED_HOSTS": "mail.example", "AGENT_AUTH": "strict", **jwts, **given})

    assert warned == [("warning", "HTTP_PUBLIC_URL")] * is_warned


@pytest.mark.parametrize(
    ("given", "is_warned"),
    [({"HTTP_PATH": "/mail"}, True), ({"HTTP_PATH": "/mail", "WEB_ENABLED": "false"}, False), ({}, False)],
)
def test_where_mcp_has_the_first_address_of_the_pages_that_is_told(
    given: dict[str, str], *, is_warned: bool, machine: Machine
) -> None:
    assert machine.notices(**given) == [("warning", "HTTP_PATH")] * is_warned
