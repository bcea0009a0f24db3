"""The models of pages as JSON: fields by their names, times in ISO 8601."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.web.request import PageAnswer

JSON_TYPE = "application/json"
_TIME = "_ts"


def shape_of(model: object) -> Json:
    """What a frozen model, a list of them or a plain value is as JSON. A field whose name ends in `_ts` is a time."""
    if isinstance(model, StrEnum):
        return model.value
    if is_dataclass(model) and not isinstance(model, type):
        return {one.name: _field(one.name, getattr(model, one.name)) for one in fields(model)}
    if isinstance(model, Mapping):
        return {str(name): _field(str(name), value) for name, value in model.items()}
    if isinstance(model, Sequence) and not isinstance(model, str):
        return [shape_of(one) for one in model]
    assert model is None or isinstance(model, str | int | float), model
    return model


def json_answer(model: object, *, status: int = 200) -> PageAnswer:
    """The answer of an address that programs read."""
    return PageAnswer(status=status, body=json.dumps(shape_of(model)).encode(), media_type=JSON_TYPE)


def _field(name: str, value: object) -> Json:
    if name.endswith(_TIME) and isinstance(value, int):
        return iso(Micros(value))
    return shape_of(value)
