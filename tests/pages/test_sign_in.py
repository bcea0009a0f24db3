"""The how-to about identity providers: its settings are taken, and its tokens are what it says of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.server.jwt.claims import find_claim
from mcp_agent_mail.server.jwt.key_set import KeySet
from mcp_agent_mail.server.jwt.proofs import JwtProof, JwtReason
from mcp_agent_mail.server.jwt.signatures import read_key_set, shared_key
from mcp_agent_mail.server.jwt.verifier import JwtVerifier, jwt_verifier
from tests.core.machine import Machine
from tests.pages.blocks import ROOT
from tests.server.jwt.issuing import FakeClock, key_set, new_key, public, signed

PAGE = ROOT / "docs" / "how-to" / "sign-in-with-an-identity-provider.md"
TEXT = PAGE.read_text(encoding="utf-8")
_EXAMPLE = re.compile(
    r"^```sh\n(?P<settings>.*?)^```$.*?^```json\n(?P<claims>.*?)^```$\n\nis an? `(?P<role>\w+)` here(?P<rest>[^.]*)\.",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES = [
    pytest.param(found["settings"], json.loads(found["claims"]), found["role"], found["rest"], id=found["role"])
    for found in _EXAMPLE.finditer(TEXT)
]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def with_keys(settings: Settings, clock: FakeClock) -> tuple[JwtVerifier, str]:
    """As the settings say, with keys that nobody has to be asked for; and the algorithm to sign with."""
    made = jwt_verifier(settings, clock=clock)
    if made.key_set is None:
        return made, "HS256"
    document = key_set(public(new_key("RS256"), kid="one"))

    async def read() -> Any:
        return read_key_set(document, settings.http_jwt_algorithms)

    return JwtVerifier(made._rules, KeySet(read, clock=clock), clock=clock), "RS256"


def test_every_block_of_settings_has_a_token_and_what_becomes_of_it() -> None:
    assert len(EXAMPLES) == TEXT.count("```sh\n") == TEXT.count("```json\n") == 6


@pytest.mark.parametrize(("settings", "claims", "role", "rest"), EXAMPLES)
async def test_the_pages_tokens_are_what_it_says(
    settings: str, claims: dict[str, Any], role: str, rest: str, machine: Machine
) -> None:
    machine.write_env(settings)
    loaded = machine.load()
    clock = FakeClock()
    verifier, algorithm = with_keys(loaded.settings, clock)
    secret = loaded.settings.http_jwt_secret
    key = new_key(algorithm) if secret is None else shared_key(secret, ["HS256"]).keys[0].key
    verifier.start()
    try:
        proof = await verifier.verify(signed(claims, key=key, algorithm=algorithm))
    finally:
        await verifier.stop()

    assert isinstance(proof, JwtProof)
    assert proof.role is not None
    assert proof.role.word == role
    assert list(proof.agents) == re.findall(r"`([^`]+)`", rest)
    assert find_claim(claims, loaded.settings.http_jwt_role_claim) is not None, "its role is not the default"
    assert [notice.name for notice in loaded.notices if "JWT" in notice.name] == []


def test_every_reason_is_explained() -> None:
    words = re.findall(r"^\| (`[a-z_`, ]+) \|", TEXT.partition("in one word:")[2], re.MULTILINE)

    assert {word for row in words for word in re.findall(r"`(\w+)`", row)} == set(JwtReason)
