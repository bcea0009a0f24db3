"""What browsers are told: how answers may be used, and whose pages may ask."""

from __future__ import annotations

import pytest
from starlette.types import Message

from mcp_agent_mail.server.edge.browsers import NO_ORIGINS, Origins, answer_preflight, guarded, is_preflight
from mcp_agent_mail.server.edge.paths import RULES, PathClass, PathRule

PAGE = b"https://app.example"
CHALLENGE = b'Bearer resource_metadata="x"'


async def told(
    given: list[tuple[bytes, bytes]],
    *,
    status: int = 200,
    rule: PathRule | None = RULES[PathClass.RPC],
    also: tuple[tuple[bytes, bytes], ...] = (),
) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that begins with `given`."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    answer = guarded(send, rule, also, CHALLENGE)
    await answer({"type": "http.response.start", "status": status, "headers": given})
    await answer({"type": "http.response.body", "body": b"all"})

    assert sent[1] == {"type": "http.response.body", "body": b"all"}
    return list(sent[0]["headers"])


ALWAYS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
OF_MAIL = [(b"cache-control", b"no-store"), (b"cross-origin-resource-policy", b"same-origin")]


@pytest.mark.parametrize("path_class", PathClass)
async def test_what_may_hold_mail_is_kept_by_nobody(path_class: PathClass) -> None:
    is_open = path_class in (PathClass.PROBE, PathClass.DISCOVERY, PathClass.ASSET)

    assert await told([], rule=RULES[path_class]) == (ALWAYS if is_open else [*ALWAYS, *OF_MAIL])


async def test_a_path_that_nothing_is_served_at_tells_no_less() -> None:
    assert await told([], rule=None) == [*ALWAYS, *OF_MAIL]


async def test_whoever_answers_has_the_last_word_on_what_it_says() -> None:
    own = [(b"cross-origin-resource-policy", b"same-site"), (b"referrer-policy", b"same-origin")]

    assert await told(own) == [*own, ALWAYS[0], OF_MAIL[0]]


@pytest.mark.parametrize("said", [b"private, no-cache", b"max-age=60", b"public, immutable"])
async def test_but_not_that_somebody_may_keep_it(said: bytes) -> None:
    told_of_mail = dict(await told([(b"cache-control", said)]))

    assert told_of_mail[b"cache-control"] == said + b", no-store"


async def test_a_stream_of_the_sdk_is_kept_by_nobody_either() -> None:
    stream = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]

    assert await told(stream) == [
        stream[0],
        (b"cache-control", b"no-cache, no-transform, no-store"),
        *ALWAYS,
        OF_MAIL[1],
    ]


@pytest.mark.parametrize(
    ("status", "given", "challenges"),
    [
        (401, [], [CHALLENGE]),
        (401, [(b"www-authenticate", b"Other")], [b"Other"]),
        (403, [], []),
        (200, [], []),
    ],
)
async def test_a_401_says_how_to_come_in(
    status: int, given: list[tuple[bytes, bytes]], challenges: list[bytes]
) -> None:
    headers = await told(given, status=status)

    assert [value for name, value in headers if name == b"www-authenticate"] == challenges


@pytest.mark.parametrize(
    ("granted", "origin", "grants"),
    [
        (["https://app.example"], PAGE, True),
        (["https://app.example"], b"https://APP.example", True),
        (["https://app.example"], b"http://app.example", False),
        (["https://app.example"], b"https://app.example:8443", False),
        (["https://app.example"], b"https://app.example.evil.example", False),
        (["https://app.example"], b"null", False),
        (["https://app.example"], b"", False),
        (["https://app.example"], None, False),
        (["*"], b"https://any.example", True),
        (["*"], None, False),
        ([], PAGE, False),
    ],
)
def test_origins_are_granted_letter_by_letter(granted: list[str], origin: bytes | None, grants: bool) -> None:
    assert Origins(granted).grants(origin) is grants


def test_a_granted_page_is_named_and_cookies_never_are_allowed() -> None:
    origins = Origins(["https://app.example"])
    named = dict(origins.told(PAGE))

    assert (named[b"access-control-allow-origin"], named[b"vary"]) == (PAGE, b"Origin")
    assert b"access-control-allow-credentials" not in named
    assert origins.told(b"https://evil.example") == origins.told(None) == ((b"vary", b"Origin"),)
    assert (NO_ORIGINS.told(PAGE), NO_ORIGINS.are_granted, origins.are_granted) == ((), False, True)


def test_with_every_origin_the_one_that_asks_is_named() -> None:
    assert dict(Origins(["*"]).told(PAGE))[b"access-control-allow-origin"] == PAGE


@pytest.mark.parametrize(
    ("method", "names", "is_one"),
    [
        ("OPTIONS", ["origin", "access-control-request-method"], True),
        ("OPTIONS", ["origin"], False),
        ("OPTIONS", ["access-control-request-method"], False),
        ("POST", ["origin", "access-control-request-method"], False),
    ],
)
def test_a_question_of_a_browser_is_known_by_its_method_and_headers(
    method: str, names: list[str], is_one: bool
) -> None:
    assert is_preflight({"type": "http", "method": method}, {name.encode(): b"x" for name in names}) is is_one


async def test_a_page_may_send_what_clients_of_mcp_and_rest_send() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await answer_preflight(send)

    headers = dict(sent[0]["headers"])
    wanted = {
        "authorization",
        "content-type",
        "mcp-session-id",
        "mcp-protocol-version",
        "last-event-id",
        "x-agent-token",
    }
    assert sent[0]["status"] == 204
    assert wanted <= set(headers[b"access-control-allow-headers"].decode().split(", "))
    assert set(headers[b"access-control-allow-methods"].decode().split(", ")) == {"GET", "HEAD", "POST", "DELETE"}
