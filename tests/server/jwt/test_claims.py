"""Claims by the letter: times, issuers, audiences, and where roles and agents are found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.identity.token_agents import NOBODY
from mcp_agent_mail.server.jwt.claims import (
    LEEWAY_S,
    LONGEST_AGENT,
    LONGEST_SUBJECT,
    ClaimRules,
    agents_of,
    find_claim,
    read_object,
    require_claims,
    subject_of,
)
from mcp_agent_mail.server.jwt.proofs import JwtReason, JwtRefused
from tests.server.jwt.issuing import AUDIENCE, ISSUER, NOW_S, claims

R = JwtReason
RULES = ClaimRules(issuer=ISSUER, audiences=frozenset([AUDIENCE, "other"]))
NOW = Micros(NOW_S * SECOND)


def judged(said: dict[str, Any], rules: ClaimRules = RULES) -> JwtReason | int:
    """Until when it is good in seconds, or why not."""
    try:
        return require_claims(said, rules, now=NOW) // SECOND
    except JwtRefused as refused:
        return refused.reason


@pytest.mark.parametrize(
    ("exp", "reason"),
    [
        (NOW_S, R.EXPIRED),
        (NOW_S - 1, R.EXPIRED),
        (0, R.EXPIRED),
        (-1, R.CLAIMS),
        (True, R.CLAIMS),
        (False, R.CLAIMS),
        (float(NOW_S + 900), R.CLAIMS),
        (NOW_S + 0.5, R.CLAIMS),
        (float("nan"), R.CLAIMS),
        (float("inf"), R.CLAIMS),
        (str(NOW_S + 900), R.CLAIMS),
        ("2099-01-01", R.CLAIMS),
        ([NOW_S + 900], R.CLAIMS),
        ({}, R.CLAIMS),
        (10**18, R.CLAIMS),
        (1_000 * (NOW_S + 900), R.CLAIMS),
        (2**63, R.CLAIMS),
        (10**400, R.CLAIMS),
    ],
)
def test_an_end_that_is_past_or_none_ends_it(exp: object, reason: JwtReason) -> None:
    assert judged({**claims(), "exp": exp}) is reason


@pytest.mark.parametrize("name", ["exp", "nbf", "iat"])
def test_a_time_that_is_null_is_none(name: str) -> None:
    assert judged({**claims(), name: None}) is R.CLAIMS


def test_a_token_has_an_end() -> None:
    assert judged(claims(exp=None)) is R.CLAIMS
    assert judged(claims(exp=NOW_S + 1)) == NOW_S + 1


@pytest.mark.parametrize("name", ["nbf", "iat"])
def test_clocks_may_differ_by_a_minute(name: str) -> None:
    assert judged(claims(**{name: NOW_S + LEEWAY_S})) == NOW_S + 900
    assert judged(claims(**{name: NOW_S + LEEWAY_S + 1})) is R.NOT_YET
    assert judged(claims(**{name: 0})) == NOW_S + 900
    assert judged(claims(**{name: f"{NOW_S}"})) is R.CLAIMS
    assert judged(claims(**{name: True})) is R.CLAIMS
    assert judged(claims(iat=None, nbf=None)) == NOW_S + 900


@pytest.mark.parametrize(
    "issuer",
    [
        None,
        "",
        ISSUER + "/",
        ISSUER[:-1],
        ISSUER.upper(),
        f" {ISSUER}",
        [ISSUER],
        {ISSUER: 1},
        1,
        True,
        f"{ISSUER}\u200b",
    ],
)
def test_the_issuer_is_the_one_of_the_settings_by_the_letter(issuer: object) -> None:
    assert judged({**claims(), "iss": issuer}) is R.ISSUER


@pytest.mark.parametrize(
    "audience", ["", "agent-mai", "agent-mail ", "Agent-Mail", ["x", "y"], [], [[AUDIENCE]], 1, {}]
)
def test_a_token_for_others_is_refused(audience: object) -> None:
    assert judged({**claims(), "aud": audience}) is R.AUDIENCE
    assert judged(claims(aud=None)) is R.AUDIENCE


@pytest.mark.parametrize("audience", [AUDIENCE, "other", ["x", AUDIENCE], [1, None, "other"]])
def test_one_of_its_audiences_is_enough(audience: object) -> None:
    assert judged(claims(aud=audience)) == NOW_S + 900


def test_what_the_settings_do_not_ask_for_is_not_looked_at() -> None:
    asks_nothing = ClaimRules(issuer=None, audiences=frozenset())

    assert judged(claims(iss=1, aud={"x": 1}), asks_nothing) == NOW_S + 900
    assert judged(claims(exp=None), asks_nothing) is R.CLAIMS


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'"a"', b"1", b"null", b'{"a":1,"a":1}', b'{"b":{"a":1,"a":2}}', b'{"a":NaN}', b'{"a":-Infinity}'],
)
def test_what_is_no_object_of_single_names_is_not_read(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_object(content)


def test_numbers_that_would_take_long_are_not_read() -> None:
    with pytest.raises(ValueError, match=r"."):
        read_object(b'{"exp":' + b"9" * 5_000 + b"}")


# --- Who, and which agents --------------------------------------------------------------------------------------------


def test_subjects_of_two_issuers_are_two() -> None:
    assert subject_of({"iss": "a", "sub": "b"}) != subject_of({"iss": "b", "sub": "a"})
    assert subject_of({"iss": "a b", "sub": "c"}) != subject_of({"iss": "a", "sub": "b c"})
    assert subject_of({"sub": "c"}) == json.dumps([None, "c"])


@pytest.mark.parametrize("subject", [None, "", 1, True, [], "a\nb", "\ud800", "\x00", "x" * (LONGEST_SUBJECT + 1)])
def test_a_subject_that_cannot_be_shown_is_none(subject: object) -> None:
    assert subject_of({"iss": ISSUER, "sub": subject}) is None


@pytest.mark.parametrize(
    ("claim", "agents"),
    [
        ("BlueLake@/srv/app", ("BlueLake@/srv/app",)),
        ("Blue Lake@/srv/my app", ("Blue Lake@/srv/my app",)),
        (["A", "B@p", "A"], ("A", "B@p")),
        (["A", 1, None, ["B"], {"C": 1}, "", "a\nb", "\ud800"], ("A",)),
        ([f"A{n}" for n in range(20)], tuple(f"A{n}" for n in range(16))),
        ("x" * LONGEST_AGENT, ("x" * LONGEST_AGENT,)),
        ("x" * (LONGEST_AGENT + 1), (NOBODY,)),
        (None, ()),
        (1, (NOBODY,)),
        ({"A": 1}, (NOBODY,)),
        ([], (NOBODY,)),
        ("", (NOBODY,)),
        ("  ", (NOBODY,)),
        ([None], (NOBODY,)),
    ],
)
def test_agents_are_texts_bounded_in_number_and_length(claim: object, agents: tuple[str, ...]) -> None:
    assert agents_of(claim) == agents


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("role", "a"),
        ("realm_access.roles", ["b"]),
        ("https://mail.example/roles", "c"),
        ("resource_access.mail.example.roles", ["d"]),
        ("resource_access.mail.example", {"roles": ["d"]}),
        ("both.x", "whole"),
        ("dead.end.x", "behind"),
        ("role.x", None),
        ("realm_access.", None),
        (".role", None),
        ("nothing", None),
        ("null", []),
        ("behind.null", []),
        ("null.x", None),
        (".", None),
    ],
)
def test_a_claim_is_found_by_its_whole_name_or_by_points(path: str, found: object) -> None:
    said = {
        "role": "a",
        "realm_access": {"roles": ["b"]},
        "https://mail.example/roles": "c",
        "resource_access": {"mail.example": {"roles": ["d"]}},
        "both.x": "whole",
        "both": {"x": "path"},
        "dead.end": {"y": 1},
        "dead": {"end": {"x": "behind"}},
        "null": None,
        "behind": {"null": None},
    }

    assert find_claim(said, path) == found


@pytest.mark.parametrize(("said", "agents"), [({}, ()), ({"agent": None}, (NOBODY,)), ({"a": {"b": None}}, (NOBODY,))])
def test_an_agent_claim_that_says_null_is_nobodys_and_one_that_is_not_there_anybodys(
    said: dict[str, object], agents: tuple[str, ...]
) -> None:
    assert agents_of(find_claim(said, "a.b" if "a" in said else "agent")) == agents
