from __future__ import annotations

import json
import re
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types.methods import CLIENT_REQUESTS, validate_client_request
from pydantic import BaseModel, ValidationError, create_model, field_validator

from mcp_agent_mail.server.rendering.unfit_params import unfit_params

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


ALWAYS: dict[str, dict[str, Any]] = {HANDSHAKE: {}, STATELESS: {"_meta": META}}
"""What every request of a version has."""


class Ours(BaseModel):
    count: int


class Of(BaseModel):
    params: Ours


class Strict(BaseModel):
    count: int

    @field_validator("count")
    @classmethod
    def fits(cls, value: int) -> int:
        if value > 0:
            raise ValueError("Too many")
        return value


class OfStrict(BaseModel):
    params: Strict


MANY: Any = {f"a{number:02}": (int, ...) for number in range(13)}
OfMany = create_model("OfMany", params=create_model("Many", **MANY))


def unfit(method: str, params: Any, version: str = HANDSHAKE) -> MCPError:
    with pytest.raises(ValidationError) as refused:
        validate_client_request(method, version, params)
    refusal = unfit_params(method, refused.value)
    assert refusal is not None
    return refusal


def fact(method: str, params: Any) -> str:
    data = unfit(method, params).error.data
    assert data is not None
    said: str = data["error"]["message"]
    return said


def hint(method: str, params: Any, version: str = HANDSHAKE) -> str:
    data = unfit(method, params, version).error.data
    assert data is not None
    said: str = data["error"]["hint"]
    return said


def test_values_are_not_quoted() -> None:
    refusal = unfit("tools/call", {"name": ["secret"], "arguments": "secret"})

    assert "secret" not in f"{refusal.error.message}{refusal.error.data}"
    assert refusal.error.message.startswith("params.arguments must be an object. params.name must be text. Send ")


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("tools/call", "x", "params must be an object."),
        ("tools/call", {"name": "x", "task": 1}, "params.task must be an object."),
        ("tools/call", {"name": "x", "task": {"ttl": "x"}}, "params.task.ttl must be a whole number."),
        ("tools/call", {"name": "x", "task": {"ttl": 1.5}}, "params.task.ttl must be a whole number."),
        ("tools/call", {"name": "x", "task": {"ttl": []}}, "params.task.ttl must be a whole number."),
        (
            "tools/call",
            {"name": "x", "_meta": {"progressToken": []}},
            "params._meta.progressToken must be text or a whole number.",
        ),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt"}, "argument": {"name": "x"}},
            "completion/complete needs params.argument.value. params.ref must be a reference to a prompt or resource.",
        ),
        ("completion/complete", {"argument": {"name": "x", "value": ""}}, "completion/complete needs params.ref."),
        ("prompts/get", {"name": "x", "arguments": {"a": 1}}, "params.arguments.a must be text."),
        (
            "initialize",
            {
                "protocolVersion": HANDSHAKE,
                "capabilities": {"experimental": {"k": 1}},
                "clientInfo": {"name": "x", "version": "1", "icons": 3},
            },
            "params.capabilities.experimental.k must be an object. params.clientInfo.icons must be a list.",
        ),
        (
            "initialize",
            {"protocolVersion": 1, "capabilities": {"roots": {"listChanged": "maybe"}}, "clientInfo": {}},
            (
                "initialize needs params.clientInfo.name and params.clientInfo.version. "
                "params.capabilities.roots.listChanged must be true or false. params.protocolVersion must be text."
            ),
        ),
        (
            "logging/setLevel",
            {"level": "loud"},
            "params.level must be 'alert', 'critical', 'debug', 'emergency', 'error', 'info', 'notice' or 'warning'.",
        ),
        ("initialize", {"capabilities": {}}, "initialize needs params.clientInfo and params.protocolVersion."),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_json(method: str, params: Any, told: str) -> None:
    assert fact(method, params) == told


def test_what_is_missing_is_told_to_programs_too() -> None:
    missing, wrong = unfit("prompts/get", {}).error.data, unfit("prompts/get", {"name": 1}).error.data

    assert missing is not None
    assert wrong is not None
    assert (missing["error"]["data"], wrong["error"]["data"]) == ({"missing": ["params.name"]}, {})


def test_of_a_great_many_ten_are_told_and_how_many_there_are_besides() -> None:
    ten, more = ({"name": "x", "arguments": {f"a{number:02}": 1 for number in range(many)}} for many in (10, 13))

    assert fact("prompts/get", ten).endswith(". params.arguments.a09 must be text.")
    assert fact("prompts/get", more).endswith(". params.arguments.a09 must be text. 3 more are missing or wrong.")


def test_of_a_great_many_that_are_missing_ten_are_told_too() -> None:
    names = [f"a{number:02}" for number in range(13)]
    with pytest.raises(ValidationError) as refused:
        OfMany.model_validate({"params": {}})

    refusal = unfit_params("x", refused.value)

    assert refusal is not None
    assert refusal.error.message.endswith(", params.a08 and params.a09. 3 more are missing or wrong.")
    assert refusal.error.data is not None
    assert refusal.error.data["error"]["data"] == {"missing": [f"params.{name}" for name in names[:10]]}


def test_a_place_of_any_length_is_told_by_its_beginning() -> None:
    place = f"params.arguments.{'k' * 83}"

    assert fact("prompts/get", {"name": "x", "arguments": {"k" * 5_000: 1}}) == f"{place} must be text."


def needs_more_than_meta(method: str, version: str) -> bool:
    try:
        validate_client_request(method, version, ALWAYS[version])
    except ValidationError:
        return True
    return False


def test_many_methods_need_params() -> None:
    needy = {key[0] for key in CLIENT_REQUESTS if key[1] in ALWAYS and needs_more_than_meta(*key)}

    assert len(needy) == 9


@pytest.mark.parametrize(
    ("method", "version"), [key for key in CLIENT_REQUESTS if key[1] in ALWAYS and needs_more_than_meta(*key)]
)
def test_whoever_lacks_a_param_is_told_what_to_send(method: str, version: str) -> None:
    said = hint(method, ALWAYS[version], version)

    found = re.match(r'Send "params": (\{.*\})[.,;]', f"{said.partition('; ')[0]};")
    assert found, said
    validate_client_request(method, version, json.loads(found[1].replace("{…}", "{}")) | ALWAYS[version])


def test_what_is_no_param_of_the_request_is_not_explained() -> None:
    with pytest.raises(ValidationError) as refused:
        Ours.model_validate({"count": "many"})

    assert unfit_params("tools/call", refused.value) is None


def test_what_has_no_words_of_json_is_told_in_those_of_its_check() -> None:
    with pytest.raises(ValidationError) as refused:
        OfStrict.model_validate({"params": {"count": 1}})

    refusal = unfit_params("x" * 500, refused.value)

    assert refusal is not None
    assert refusal.error.message == "params.count: value error, Too many."


def test_a_method_of_any_length_is_told_by_its_beginning() -> None:
    with pytest.raises(ValidationError) as refused:
        Of.model_validate({"params": {}})

    refusal = unfit_params("x" * 500, refused.value)

    assert refusal is not None
    assert refusal.error.message == f"{'x' * 100} needs params.count."
