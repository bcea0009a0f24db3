"""The gate: which Host and Origin it lets in, and who is from elsewhere."""

from __future__ import annotations

import pytest

from mcp_agent_mail.server.edge.admitted import HttpRefusal
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.gate import Gate, host_name, is_from_elsewhere

HERE = "127.0.0.1"
ELSEWHERE = "203.0.113.9"


def gate(*, allowed_hosts: tuple[str, ...] = ()) -> Gate:
    return Gate(allowed_hosts=allowed_hosts, bearers=Bearers(BearerRules()))


def source_status(*given: tuple[bytes, bytes], allowed: tuple[str, ...] = ("mail.example",)) -> int | None:
    refusal = gate(allowed_hosts=allowed).check_source(given, dict(given))
    return None if refusal is None else refusal.status


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

    assert refusal == HttpRefusal(status=400, detail=f"{shown} is there more than once.")


def test_other_headers_may_be_repeated() -> None:
    assert source_status((b"host", b"localhost"), (b"accept", b"a/b"), (b"accept", b"c/d")) is None


def test_a_host_has_one_form() -> None:
    assert host_name("[0:0::1]:8765") == "::1"
    assert host_name("Mail.Example.:80") == "mail.example"
    assert host_name("[127.0.0.1]") is None


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
