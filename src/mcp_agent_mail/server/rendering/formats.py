"""How a result is written: JSON, TOON (a denser notation of the same values) or Markdown.

The form belongs to the connection (header `X-Output-Format`, or `?format=`), the server's setting
is the default, and an argument `format` of a single call beats both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal
from urllib.parse import parse_qsl

from mcp_agent_mail.core.arguments import FORMAT_ARGUMENT
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.resources import MAX_URI
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.rendering.toon import to_toon

_LONGEST_WORD = 100


class OutputFormat(StrEnum):
    JSON = "json"
    TOON = "toon"
    MD = "md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The form asked for, and what asked for it."""

    format: OutputFormat
    source: Literal["default", "header", "query", "argument"]


PLAIN = Output(format=OutputFormat.JSON, source="default")


class UnknownFormat(InvalidInput):
    """A form that results cannot be written in."""


def parse_format(text: object) -> OutputFormat:
    """The form of this name, in any letter case and with outer blanks. Raises UnknownFormat."""
    accepted = [one.value for one in OutputFormat]
    word = text[:_LONGEST_WORD].strip().lower() if isinstance(text, str) else ""
    if word not in accepted:
        shown = text[:_LONGEST_WORD] if isinstance(text, str) else type(text).__name__
        raise UnknownFormat(
            f"Results are not written as {shown!r}.",
            hint=f"Accepted: {', '.join(accepted)}.",
            data={"parameter": FORMAT_ARGUMENT, "accepted": accepted},
        )
    return OutputFormat(word)


def take_argument(arguments: Mapping[str, Json], output: Output) -> tuple[Mapping[str, Json], Output]:
    """The arguments without `format`, and the form the call gets."""
    if FORMAT_ARGUMENT not in arguments:
        return arguments, output
    rest = {name: value for name, value in arguments.items() if name != FORMAT_ARGUMENT}
    asked = arguments[FORMAT_ARGUMENT]
    if asked is None or (isinstance(asked, str) and not asked.strip()):
        return rest, output
    return rest, Output(format=parse_format(asked), source="argument")


def of_uri(uri: str, output: Output) -> Output:
    """The form that a resource's query key `format` asks for, else `output`."""
    if len(uri) > MAX_URI:  # refused by whoever reads it
        return output
    asked = dict(parse_qsl(uri.partition("?")[2])).get(FORMAT_ARGUMENT)
    return output if asked is None else Output(format=parse_format(asked), source="query")


def toon_envelope(value: Json, output: Output) -> dict[str, Any]:
    """`{format, data, meta}` with `data` the TOON text; the plain value, and why, when it cannot be encoded."""
    meta = {"requested": OutputFormat.TOON.value, "source": output.source}
    try:
        return {"format": OutputFormat.TOON.value, "data": to_toon(value), "meta": meta}
    except Exception as error:  # noqa: BLE001  # whatever the encoder stumbles over, the caller gets the result
        failed = {**meta, "toon_error": f"{type(error).__name__}: {error}"[:200]}
        return {"format": OutputFormat.JSON.value, "data": value, "meta": failed}
