"""Records as plain JSON objects, and back: for the way from who reads a store to the server that keeps it.

An object has the record's kind under `record` and its fields by their names; bytes are base64. What is not given has
its default; what is not known is refused, so that nothing is lost between two versions without a word.
"""

from __future__ import annotations

import base64
import binascii
import json
import types
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.importing.records import (
    MAX_KEY,
    SourceAgent,
    SourceKind,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceProduct,
    SourceProject,
    SourceRecord,
)

RECORDS: Mapping[SourceKind, type[SourceRecord]] = types.MappingProxyType(
    {
        SourceKind.PROJECT: SourceProject,
        SourceKind.AGENT: SourceAgent,
        SourceKind.MESSAGE: SourceMessage,
        SourceKind.LEASE: SourceLease,
        SourceKind.LINK: SourceLink,
        SourceKind.PRODUCT: SourceProduct,
    }
)
_KINDS = {made: kind for kind, made in RECORDS.items()}
_TAG = "record"

MOST_PACKED = 3_900_000
"""Characters of what `pack` makes for one request, its records and their projects together: what a server takes, less
what a request has beside them.
"""

MAX_UNPACKED = 64 << 20
"""Bytes of one text of records: a body of three million bytes, each of which may take six in JSON, and what else a
batch has beside it.
"""

_Plain = Any  # plain JSON, or what is made of it: typing has no better word
_Hint = Any  # a type, as typing has them


class UnfitRecord(InvalidInput):
    """What was sent is no record."""


def kind_of_record(record: SourceRecord) -> SourceKind:
    return _KINDS[type(record)]


def to_line(record: SourceRecord) -> dict[str, Any]:
    """The record as a JSON object. Fields that have their default are left out."""
    return {_TAG: kind_of_record(record).value, **_plain_fields(record)}


def from_line(line: object) -> SourceRecord:
    """The record that `to_line` wrote down. Raises UnfitRecord."""
    if not isinstance(line, dict):
        raise _unfit("a record is an object")
    given = dict(line)
    tag = given.pop(_TAG, None)
    made = next((made for kind, made in RECORDS.items() if kind.value == tag), None)
    if made is None:
        raise _unfit(f"there are no records of the kind {tag!r:.50}")
    record: SourceRecord = _object(made, given, str(tag))
    if not 0 < len(record.key) <= MAX_KEY:
        raise _unfit(f"a key has 1 to {MAX_KEY} characters")
    return record


def line_of(record: SourceRecord) -> bytes:
    """As it goes on the way. A character has its bytes of UTF-8: spelled out it would have up to twelve."""
    return json.dumps(to_line(record), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def pack(records: Iterable[SourceRecord]) -> str:
    """All of them as one text: JSON lines, compressed, in base64."""
    return base64.b64encode(zlib.compress(b"".join(map(line_of, records)), level=1)).decode()


def unpack(text: str) -> list[SourceRecord]:
    """What `pack` made. Raises UnfitRecord, also for what is more than MAX_UNPACKED bytes."""
    unpacking = zlib.decompressobj()
    try:
        lines = unpacking.decompress(base64.b64decode(text, validate=True), MAX_UNPACKED)
        if unpacking.unconsumed_tail:
            raise _unfit("it is too long")
        return [from_line(json.loads(line)) for line in lines.split(b"\n") if line]
    except (binascii.Error, zlib.error, ValueError, RecursionError) as broken:
        raise _unfit("it is not packed as records are") from broken


def _plain_fields(value: _Plain) -> dict[str, _Plain]:
    return {
        one.name: _plain(given)
        for one in fields(value)
        if (given := getattr(value, one.name)) != one.default or one.default is MISSING
    }


def _plain(value: _Plain) -> _Plain:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        return _plain_fields(value)
    return value.value if isinstance(value, StrEnum) else value


@cache
def _hints(made: type) -> dict[str, _Hint]:
    """What each field is; `NewType`s as what they are made of."""
    return {name: getattr(hint, "__supertype__", hint) for name, hint in get_type_hints(made).items()}


def _object(made: _Hint, given: Mapping[str, _Plain], where: str) -> _Plain:
    hints = _hints(made)
    if unknown := given.keys() - hints.keys():
        raise _unfit(f"{where} has no {min(map(str, unknown)):.50}")
    missing = [one.name for one in fields(made) if one.name not in given and one.default is MISSING]
    if missing:
        raise _unfit(f"{where} needs {missing[0]}")
    return made(**{name: _read(hints[name], value, f"{where}.{name}") for name, value in given.items()})


def _read(hint: _Hint, value: _Plain, where: str) -> _Plain:
    hint = getattr(hint, "__supertype__", hint)
    origin: _Hint = get_origin(hint)
    if origin in (Union, types.UnionType):
        return (
            None if value is None else _read(next(one for one in get_args(hint) if one is not type(None)), value, where)
        )
    if origin is tuple:
        if not isinstance(value, list):
            raise _unfit(f"{where} is a list")
        return tuple(_read(get_args(hint)[0], one, where) for one in value)
    if is_dataclass(hint):
        if not isinstance(value, dict):
            raise _unfit(f"{where} is an object")
        return _object(hint, value, where)
    return _scalar(hint, value, where)


def _scalar(hint: _Hint, value: _Plain, where: str) -> _Plain:
    if hint is bytes:
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError, TypeError) as broken:
            raise _unfit(f"{where} is base64") from broken
    if issubclass(hint, StrEnum):
        try:
            return hint(value)
        except ValueError as broken:
            raise _unfit(f"{where} cannot be {value!r:.50}") from broken
    if type(value) is not hint:
        raise _unfit(f"{where} cannot be {value!r:.50}")
    return value


def _unfit(why: str) -> UnfitRecord:
    return UnfitRecord(
        f"This is no record of another store: {why}.",
        hint="Use the am of the same version as the server.",
        data={"parameter": "records"},
    )
