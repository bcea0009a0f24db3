"""Which keys of a document are taken, for which algorithms, and what they check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers, generate_private_key
from joserfc.jwk import ECKey, OKPKey, RSAKey

from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.core.settings.rows_edge import KEY_PAIR_ALGORITHMS, SHARED_KEY_ALGORITHMS
from mcp_agent_mail.server.jwt.signatures import MOST_KEYS, MOST_TRIED, NoKeySet, read_key_set, shared_key
from tests.server.jwt.issuing import SECRET, b64, key_set, new_key, public

EVERY = KEY_PAIR_ALGORITHMS


def taken(*keys: Any, algorithms: tuple[str, ...] = EVERY) -> list[tuple[str | None, list[str]]]:
    """The name of each key that is taken, and what it may check."""
    try:
        found = read_key_set(key_set(*keys), algorithms)
    except NoKeySet:
        return []
    return [(key.kid, sorted(key.algorithms)) for key in found.keys]


@pytest.mark.parametrize(
    ("algorithm", "may"),
    [
        ("RS256", ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]),
        ("ES256", ["ES256"]),
        ("ES384", ["ES384"]),
        ("ES512", ["ES512"]),
        ("EdDSA", ["EdDSA"]),
    ],
)
def test_a_key_checks_what_its_kind_and_curve_allow(algorithm: str, may: list[str]) -> None:
    key = public(new_key(algorithm), kid="one")

    assert taken(key) == [("one", may)]
    assert taken(key, algorithms=(algorithm,)) == [("one", [algorithm])]
    assert taken({**key, "alg": algorithm, "use": "sig", "key_ops": ["verify"]}) == [("one", [algorithm])]
    assert taken({**key, "x5c": ["AAAA"], "x5u": "https://evil.example", "ext": True}) == [("one", may)]


@pytest.mark.parametrize(
    "said",
    [
        {"use": "enc"},
        {"use": ["sig"]},
        {"key_ops": ["sign"]},
        {"key_ops": "verify"},
        {"key_ops": []},
        {"alg": "ES256"},
        {"alg": "RS1"},
        {"alg": "none"},
        {"alg": 1},
        {"alg": "HS256"},
        {"kty": "oct"},
        {"kty": "EC"},
        {"kty": ["RSA"]},
        {"kty": None},
        {"kid": 1},
        {"kid": ["one"]},
        {"n": 1},
        {"n": ""},
        {"n": "!"},
        {"n": "A" * 344},
        {"e": "AQ"},
        {"e": ""},
        {"e": None},
        {"k": "AAAA"},
        {"d": "AAAA"},
        {"p": "AAAA"},
        {"oth": []},
    ],
)
def test_a_key_for_other_ends_or_a_broken_one_is_left_out(said: Mapping[str, Any]) -> None:
    other = public(new_key("ES256"), kid="other")

    assert taken({**public(new_key("RS256"), kid="one"), **said}, other) == [("other", ["ES256"])]
    assert taken({**public(new_key("RS256"), kid="one"), **said}) == []


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_key_whose_private_part_is_published_is_left_out(algorithm: str) -> None:
    """With it anybody could sign."""
    assert taken({**new_key(algorithm).as_dict(private=True), "kid": "one"}) == []


def test_a_shared_key_in_a_public_set_is_left_out() -> None:
    shared = {"kty": "oct", "k": b64(SECRET.encode()), "kid": "one"}

    assert taken(shared, algorithms=(*EVERY, *SHARED_KEY_ALGORITHMS)) == []


@pytest.mark.parametrize("one", [None, 1, "key", [], {}])
def test_what_is_no_key_is_left_out(one: object) -> None:
    assert taken(one, public(new_key("EdDSA"), kid="one")) == [("one", ["EdDSA"])]


def test_weak_keys_are_left_out_without_a_word_of_the_library() -> None:
    """Warnings are errors in tests."""
    weak = RSAKey(small := generate_private_key(public_exponent=65_537, key_size=1_024), small)
    strong: Any = new_key("RS256")
    modulus = strong.public_key.public_numbers().n
    slow = RSAPublicNumbers(e=2**2_000 + 1, n=modulus)
    huge = {"kty": "RSA", "n": b64((2**16_384 + 1).to_bytes(2_049)), "e": "AQAB"}

    assert taken(public(weak)) == []
    assert taken({"kty": "RSA", "n": b64(slow.n.to_bytes(256)), "e": b64(slow.e.to_bytes(251))}) == []
    assert taken(huge) == []
    assert taken(public(RSAKey.generate_key(3_072), kid="one"), algorithms=("RS256",)) == [("one", ["RS256"])]


@pytest.mark.parametrize("curve", ["X25519", "X448", "Ed448", "Ed25519"])
def test_only_curves_that_sign_are_taken(curve: Any) -> None:
    key = public(OKPKey.generate_key(curve), kid="one")

    assert taken(key) == ([("one", ["EdDSA"])] if curve.startswith("Ed") else [])
    assert taken({**key, "crv": "Ed9"}) == []


@pytest.mark.parametrize("curve", ["secp256k1", "P-192", "p-256", "P-384"])
def test_a_point_is_on_the_curve_that_its_key_names(curve: str) -> None:
    assert taken({**public(new_key("ES256"), kid="one"), "crv": curve}) == []
    assert taken({**public(ECKey.generate_key("secp256k1")), "kid": "one"}) == []


def test_so_many_keys_are_read_and_no_more() -> None:
    keys = [public(new_key("EdDSA"), kid=f"{number}") for number in range(MOST_KEYS + 1)]

    assert len(taken(*keys[1:])) == MOST_KEYS
    assert taken(*keys) == []


def test_keys_of_one_name_and_keys_without_are_tried_one_after_the_other_and_few_of_them() -> None:
    keys = [public(new_key("ES256", number), kid="one") for number in range(3)]
    nameless = public(new_key("ES256", 3))
    found = read_key_set(key_set(*keys, nameless, nameless), ("ES256",))

    assert [key.kid for key in found.find_fitting("one", "ES256")] == ["one"] * 3
    assert [key.kid for key in found.find_fitting(None, "ES256")] == [*["one"] * 3, None]
    assert len(found.find_fitting(None, "ES256")) == MOST_TRIED
    assert found.find_fitting("two", "ES256") == ()
    assert found.find_fitting("one", "RS256") == ()


def test_sets_are_equal_when_the_same_tokens_are_good() -> None:
    one, two = public(new_key("ES256"), kid="one"), public(new_key("ES256", 1), kid="one")

    def read(*keys: Mapping[str, Any], algorithms: tuple[str, ...] = EVERY) -> object:
        return read_key_set(key_set(*keys), algorithms)

    assert read(one) == read({**one, "use": "sig", "x5t": "x", "alg": "ES256"})
    assert read(one) != read(two)
    assert read(one) != read({**one, "kid": "two"})
    assert read(one) != read(one, two)


@pytest.mark.parametrize("algorithm", [*KEY_PAIR_ALGORITHMS, *SHARED_KEY_ALGORITHMS])
def test_a_signature_is_of_these_bytes_by_this_key_in_this_algorithm(algorithm: str) -> None:
    from joserfc.jws import JWSRegistry

    key = new_key(algorithm)
    shared = algorithm in SHARED_KEY_ALGORITHMS
    keys = shared_key(Secret(SECRET), [algorithm]) if shared else read_key_set(key_set(public(key)), (algorithm,))
    (one,) = keys.keys

    signature = JWSRegistry.algorithms[algorithm].sign(b"signed", key)

    assert one.verifies(algorithm, b"signed", signature)
    assert not one.verifies(algorithm, b"singed", signature)
    for wrong in (b"", b"\x00", signature[:-1], signature + b"\x00", bytes(len(signature)), b"\xff" * len(signature)):
        assert not one.verifies(algorithm, b"signed", wrong)


def test_what_a_set_shows_of_itself_is_no_secret() -> None:
    assert SECRET not in repr(shared_key(Secret(SECRET), ["HS256"]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "its answer is no JSON, or too much of it"),
        (json.dumps({"keys": [{"a": n} for n in range(5_000)]}).encode(), "its answer is no JSON, or too much of it"),
        (b'{"keys":null}', "its answer is no set of keys"),
        (b'"keys"', "its answer is no set of keys"),
        (key_set({}), "none of its keys fits HTTP_JWT_ALGORITHMS"),
    ],
)
def test_what_is_no_set_says_why(content: bytes, said: str) -> None:
    with pytest.raises(NoKeySet, match=said):
        read_key_set(content, EVERY)
