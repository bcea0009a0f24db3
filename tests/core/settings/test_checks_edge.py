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
