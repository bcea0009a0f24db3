"""The edge as the settings have it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.browsers import Origins
from mcp_agent_mail.server.edge.by_settings import bearers_of, gate_of, rates_of, sign_in_of
from mcp_agent_mail.server.edge.discovery import SignIn
from mcp_agent_mail.server.edge.rates import NO_RATES, RateClass
from tests.server.whole_app import OPERATOR, open_services
from tests.server.whole_app import settings_of as whole_settings


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.3:8765", None), ("mail.example", None), ("localhost", None), ("other.example", 403)]
)
def test_the_address_that_the_server_listens_on_is_served_beside_a_list(
    host: str, status: int | None, tmp_path: Path
) -> None:
    environ = {
        "AGENT_MAIL_ENV_FILE": os.devnull,
        "STORAGE_ROOT": str(tmp_path),
        "HTTP_HOST": "127.0.0.3",
        "HTTP_ALLOWED_HOSTS": "mail.example",
    }
    gate = gate_of(load_settings(environ, cwd=tmp_path).settings, Bearers(BearerRules()))
    headers = {b"host": host.encode()}

    refusal = gate.check_source(list(headers.items()), headers)

    assert (None if refusal is None else refusal.status) == status


def settings_of(directory: Path, **given: str) -> Settings:
    environ = {"AGENT_MAIL_ENV_FILE": os.devnull, "STORAGE_ROOT": str(directory), **given}
    return load_settings(environ, cwd=directory).settings


def origins_of(settings: Settings) -> Origins:
    return gate_of(settings, Bearers(BearerRules())).origins


def test_the_name_by_which_others_reach_the_server_is_its_own(tmp_path: Path) -> None:
    gate = gate_of(settings_of(tmp_path, HTTP_PUBLIC_URL="https://mail.example:8443"), Bearers(BearerRules()))
    headers = {b"host": b"mail.example", b"origin": b"https://mail.example"}

    assert gate.check_source(list(headers.items()), headers) is None


def test_pages_may_ask_where_cors_is_on_alone(tmp_path: Path) -> None:
    page = {"HTTP_CORS_ORIGINS": "https://app.example"}

    assert not origins_of(settings_of(tmp_path)).are_granted
    assert not origins_of(settings_of(tmp_path, HTTP_CORS_ENABLED="false", **page)).are_granted
    assert origins_of(settings_of(tmp_path, HTTP_CORS_ENABLED="true", **page)).grants(b"https://app.example")


def test_rates_are_those_of_the_settings_and_off_by_default(tmp_path: Path) -> None:
    given = {
        "HTTP_RATE_LIMIT_ENABLED": "true",
        "HTTP_RATE_LIMIT_TOOLS_PER_MINUTE": "7",
        "HTTP_RATE_LIMIT_TOOLS_BURST": "2",
        "HTTP_RATE_LIMIT_RESOURCES_PER_MINUTE": "0",
        "HTTP_RATE_LIMIT_PER_MINUTE": "3",
    }
    rates = rates_of(settings_of(tmp_path, **given))

    passed = {one: sum(rates.take("server", one) == 0 for _ in range(100)) for one in RateClass}

    assert passed == {RateClass.TOOLS: 2, RateClass.RESOURCES: 100, RateClass.OTHERS: 3, RateClass.REFUSED: 30}
    assert rates_of(settings_of(tmp_path)) is NO_RATES


JWT = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": "s" * 40, "HTTP_JWT_ISSUER": "https://id.example/realms/mail"}


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ({}, "http://127.0.0.1:8765"),
        ({"HTTP_PORT": "9000"}, "http://127.0.0.1:9000"),
        ({"HTTP_HOST": "::1"}, "http://[::1]:8765"),
        ({"HTTP_PUBLIC_URL": "https://mail.example/"}, "https://mail.example"),
    ],
)
def test_who_signs_in_is_led_to_the_issuer_and_back_to_our_own_address(
    given: dict[str, str], own: str, tmp_path: Path
) -> None:
    assert sign_in_of(settings_of(tmp_path, **JWT, **given)) == SignIn(
        base_url=own, issuer="https://id.example/realms/mail"
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {**JWT, "HTTP_JWT_ENABLED": "false"},
        {**JWT, "HTTP_JWT_ISSUER": "agent-mail"},
        {**JWT, "HTTP_JWT_ISSUER": ""},
    ],
)
def test_without_jwts_of_an_issuer_that_is_a_url_there_is_nowhere_to_sign_in(
    given: dict[str, str], tmp_path: Path
) -> None:
    assert sign_in_of(settings_of(tmp_path, **given)) is None


KEY = "b" * 40


@pytest.mark.parametrize(
    ("given", "role", "where"),
    [
        ({}, "reader", ["anywhere"]),
        ({}, "writer", []),
        ({"HTTP_RBAC_ENABLED": "false"}, "reader", []),
        ({"HTTP_BEARER_TOKEN": KEY}, "reader", []),
        (JWT, "reader", []),
        ({"HTTP_BEARER_TOKEN": KEY, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "true"}, "reader", ["this machine"]),
    ],
)
async def test_a_start_tells_of_readers_tokens_that_keep_nobody_from_writing(
    given: dict[str, str], role: str, where: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = whole_settings(tmp_path, **given)
    async with open_services(settings) as (services, _):
        operator = Credentials(via="local", bearer_token=OPERATOR)
        await services.tools.run("create_issued_token", {"role": role}, operator)
        caplog.clear()

        bearers_of(settings, services, operator_token=OPERATOR)

    told = [record.args for record in caplog.records if str(record.msg).startswith("readers' tokens keep nobody")]
    assert told == [(one,) for one in where]
