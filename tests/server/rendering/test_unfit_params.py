from __future__ import annotations

import pytest
from mcp_types.methods import validate_client_request
from pydantic import BaseModel, ValidationError

from mcp_agent_mail.server.rendering.unfit_params import unfit_params


class Ours(BaseModel):
    count: int


def test_values_are_not_quoted() -> None:
    with pytest.raises(ValidationError) as unfit:
        validate_client_request("tools/call", "2025-11-25", {"name": ["secret"], "arguments": "secret"})

    refusal = unfit_params("tools/call", unfit.value)

    assert refusal is not None
    assert "secret" not in f"{refusal.error.message}{refusal.error.data}"
    assert refusal.error.message.startswith("params.arguments: input should be a valid dictionary. params.name: ")


def test_what_is_no_param_of_the_request_is_not_explained() -> None:
    with pytest.raises(ValidationError) as unfit:
        Ours.model_validate({"count": "many"})

    assert unfit_params("tools/call", unfit.value) is None
