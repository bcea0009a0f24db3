"""The gate: which Host, Origin and token it lets in, whatever door is wanted."""

from __future__ import annotations

import pytest

from mcp_agent_mail.server.auth import Admitted, Gate, HttpRefusal, host_name, is_from_elsewhere, is_loopback

TOKEN = "the-servers-own-token"
OPERATOR = "amo_the-operators-token"
HERE = "127.0.0.1"
ELSEWHERE = "203.0.113.9"


def gate(
    *,
    allowed_hosts: tuple[str, ...] = (),
    server_token: str | None = None,
    operator_token: str | None = None,
    trust_loopback: bool = False,
) -> Gate:
    return Gate(
        allowed_hosts=allowed_hosts,
        server_token=server_token,
        operator_token=operator_token,
        trust_loopback=trust_loopback,
    )


def source_status(*given: tuple[bytes, bytes], allowed: tuple[str, ...] = ("mail.example",)) -> int | None:
    refusal = gate(allowed_hosts=allowed).check_source(given, dict(given))
    return None if refusal is None else refusal.status


def token_answer(
    authorization: str | None = None,
    *,
    peer: str | None = HERE,
    operator_may: bool = False,
    trust_loopback: bool = False,
    also: str | None = None,
) -> Admitted | HttpRefusal:
    """Of a gate with a server's and an operator's token; `also` is a header that is there as well."""
    headers = {} if authorization is None else {b"authorization": authorization.encode("latin-1")}
    if also is not None:
        headers[also.encode()] = ELSEWHERE.encode()
    opened = gate(server_token=TOKEN, operator_token=OPERATOR, trust_loopback=trust_loopback)
    return opened.check_token(headers, peer, operator_may=operator_may)


@pytest.mark.parametrize("host", ["localhost", "localhost:9", "127.0.0.1", "[::1]:80", "LOCALHOST.", "mail.example:1"])
def test_loopback_and_allowed_names_are_served_on_any_port(host: str) -> None:
    assert source_status((b"host", host.encode())) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", "127.1", ""]
)
def test_other_hosts_are_refused(host: str) -> None:
    assert source_status((b"host", host.encode())) == 403


def test_a_request_without_a_host_is_refused() -> None:
    assert source_status() == 403


@pytest.mark.parametrize(
    "host", ["a b", "user@localhost", "localhost:", "localhost:65536", "[::1", "[::1]x", "[1.2]", "::1", "é"]
)
def test_what_is_no_host_name_is_told_apart_from_one_that_is_not_served(host: str) -> None:
    assert source_status((b"host", host.encode("latin-1"))) == 400


@pytest.mark.parametrize(
    ("configured", "host"),
    [
        ("2001:DB8:0::1", "[2001:db8::1]:80"),
        ("[2001:db8::2]", "[2001:DB8::2]"),
        ("Mail.Example:8765", "mail.example"),
        ("192.0.2.7", "192.0.2.7:1"),
    ],
)
def test_a_host_may_be_configured_as_people_write_it(configured: str, host: str) -> None:
    assert source_status((b"host", host.encode()), allowed=(configured,)) is None


def test_a_configured_host_that_is_no_name_opens_the_server_to_nobody() -> None:
    assert source_status((b"host", b"anything.example"), allowed=("*", "", "a/b")) == 403
    assert source_status(allowed=("*", "a/b")) == 403


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://mail.example", "http://[::1]"])
def test_pages_of_served_hosts_may_call(origin: str) -> None:
    assert source_status((b"host", b"localhost"), (b"origin", origin.encode())) is None


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "file://",
        "",
        "http://localhost.evil.example",
        "localhost",
        "ftp://localhost",
        "http://localhost/",
    ],
)
def test_pages_of_others_are_refused(origin: str) -> None:
    assert source_status((b"host", b"localhost"), (b"origin", origin.encode())) == 403


@pytest.mark.parametrize(
    ("name", "shown"), [(b"host", "Host"), (b"authorization", "Authorization"), (b"mcp-session-id", "Mcp-Session-Id")]
)
def test_a_header_that_decides_may_stand_there_once(name: bytes, shown: str) -> None:
    given = [(b"host", b"localhost"), (name, b"localhost"), (name, b"localhost")]

    refusal = gate().check_source(given, dict(given))

    assert refusal == HttpRefusal(400, f"{shown} is there more than once.")


def test_other_headers_may_be_repeated() -> None:
    assert source_status((b"host", b"localhost"), (b"accept", b"a/b"), (b"accept", b"c/d")) is None


def test_without_a_servers_token_everybody_comes_in_and_a_bearer_token_is_not_the_servers() -> None:
    admitted = gate(operator_token=OPERATOR).check_token(
        {b"authorization": b"Bearer amt_blue"}, ELSEWHERE, operator_may=False
    )

    assert admitted == Admitted(bearer_is_servers=False)


def test_the_servers_token_opens_and_is_known_as_such() -> None:
    assert token_answer(f"Bearer {TOKEN}") == Admitted(bearer_is_servers=True)
    assert token_answer(f"bearer  {TOKEN}") == Admitted(bearer_is_servers=True)


def test_the_operators_token_opens_the_paths_that_are_the_operators_and_no_others() -> None:
    refused = token_answer(f"Bearer {OPERATOR}")

    assert token_answer(f"Bearer {OPERATOR}", operator_may=True) == Admitted(bearer_is_servers=False)
    assert isinstance(refused, HttpRefusal)


def test_where_there_is_no_operators_token_an_empty_one_opens_nothing() -> None:
    without = gate(server_token=TOKEN, operator_token="")

    refused = without.check_token({b"authorization": b"Bearer x"}, HERE, operator_may=True)

    assert isinstance(refused, HttpRefusal)


def test_a_missing_token_and_a_wrong_one_are_told_apart() -> None:
    missing, wrong, basic = token_answer(), token_answer("Bearer wr\xf6ng"), token_answer("Basic eDp5")

    assert isinstance(missing, HttpRefusal)
    assert isinstance(wrong, HttpRefusal)
    assert (missing.status, "send Authorization: Bearer" in missing.detail) == (401, True)
    assert (wrong.status, "belongs in X-Agent-Token" in wrong.detail) == (401, True)
    assert basic == missing


@pytest.mark.parametrize("peer", [HERE, "::1", "127.0.0.9"])
def test_this_machine_needs_no_token_where_that_is_allowed(peer: str) -> None:
    assert token_answer(peer=peer, trust_loopback=True) == Admitted(bearer_is_servers=False)


@pytest.mark.parametrize(
    "header",
    [
        "x-forwarded-for",
        "x-forwarded-host",
        "forwarded",
        "forwarded-for",
        "via",
        "x-real-ip",
        "x-client-ip",
        "true-client-ip",
        "cf-connecting-ip",
    ],
)
def test_a_proxy_on_this_machine_speaks_for_somebody_else(header: str) -> None:
    assert isinstance(token_answer(trust_loopback=True, also=header), HttpRefusal)


@pytest.mark.parametrize("peer", [ELSEWHERE, None, "unix:"])
def test_a_peer_that_is_not_this_machine_needs_the_token(peer: str | None) -> None:
    assert isinstance(token_answer(peer=peer, trust_loopback=True), HttpRefusal)


def test_a_host_has_one_form() -> None:
    assert host_name("[0:0::1]:8765") == "::1"
    assert host_name("Mail.Example.:80") == "mail.example"
    assert host_name("[127.0.0.1]") is None
    assert (is_loopback("localhost"), is_loopback("localhost.example")) == (True, False)


@pytest.mark.parametrize(
    ("peer", "headers", "is_it"),
    [
        ("127.0.0.1", {}, False),
        ("::1", {}, False),
        ("127.0.0.1", {b"x-forwarded-for": b"127.0.0.1"}, True),
        ("127.0.0.1", {b"forwarded": b"for=127.0.0.1"}, True),
        ("127.0.0.1", {b"x-real-ip": b""}, True),
        ("192.0.2.7", {}, True),
        (None, {}, True),
    ],
)
def test_only_a_peer_of_this_machine_that_speaks_for_itself_is_from_here(
    peer: str | None, headers: dict[bytes, bytes], *, is_it: bool
) -> None:
    assert is_from_elsewhere(headers, peer) is is_it
