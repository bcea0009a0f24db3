"""What the settings of the edge can be: networks, origins, algorithms, keys and where they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.kinds import BadValue, PathContext, SettingKind
from mcp_agent_mail.core.settings.rows_edge import ALGORITHMS, JWKS_URL, JWT_KEY, NETS, ORIGINS
from tests.core.machine import Machine

HERE = PathContext(folder=Path("/"), home=Path("/"))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (NETS, "127.0.0.1, 10.1.2.3/8,::1", ("127.0.0.1/32", "10.0.0.0/8", "::1/128")),
        (ORIGINS, "HTTPS://A.example, http://[::1]:8080,*", ("https://a.example", "http://[::1]:8080", "*")),
        (ALGORITHMS, "rs256, EDDSA", ("RS256", "EdDSA")),
        (ALGORITHMS, "HS256,HS512", ("HS256", "HS512")),
        (JWKS_URL, "http://127.0.0.1:9/keys", "http://127.0.0.1:9/keys"),
        (JWKS_URL, "https://id.example/keys?x=1", "https://id.example/keys?x=1"),
    ],
)
def test_what_is_read(kind: SettingKind, text: str, value: object) -> None:
    assert kind.parse(text, HERE) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((NETS, text) for text in ("a.example", "10.0.0.0/33", ",")),
        *((ORIGINS, text) for text in ("a.example", "https://a.example/", "https://a@b", "null", ",")),
        *((ALGORITHMS, text) for text in ("none", "HS256,RS256", "RS256,none", ",", "HS1")),
        *((JWKS_URL, text) for text in ("http://id.example/k", "file:///etc/passwd", "https://u:p@id.example/")),
        (JWT_KEY, "k" * 31),
    ],
)
def test_what_is_refused(kind: SettingKind, text: str) -> None:
    with pytest.raises(BadValue):
        kind.parse(text, HERE)


def test_algorithms_are_of_the_key_that_there_is(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    assert machine.settings().http_jwt_algorithms == ("HS256",)
    with_keys = machine.settings(HTTP_JWT_JWKS_URL="https://id.example/keys")
    assert with_keys.http_jwt_algorithms == ("RS256", "ES256", "EdDSA")


def test_rates_are_on_where_others_reach_the_server(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    assert not machine.settings().http_rate_limit_enabled
    assert machine.settings(HTTP_HOST="10.0.0.1", HTTP_BEARER_TOKEN="t" * 16).http_rate_limit_enabled
