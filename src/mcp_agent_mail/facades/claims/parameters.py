"""Parameters as this profile's callers know them, where ours have another type."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.params import Choice, Count, Matching, Time
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.messages import parse_subject

_MAX_INLINE = 64 * 1024 * 1024  # INLINE_IMAGE_MAX_BYTES decides


@dataclass(frozen=True, slots=True)
class TimeNumber:
    """Seconds since 1970, with or without a fraction; a time as our answers write it is taken too."""

    def schema(self) -> dict[str, Any]:
        return {"type": "number"}

    def convert(self, name: str, value: object) -> Micros:
        """Microseconds since 1970. Raises InvalidInput for what is no time."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InvalidInput(
                f"{name} must be a number.",
                hint="Send seconds since 1970, as time.time() gives them.",
                data={"parameter": name, "expected": "number"},
            )
        return Time().convert(name, value)


EPOCH = Micros(0)
SUBJECT = Matching(parse_subject)
EMBED_POLICY = Choice(tuple(one.value for one in AttachmentsPolicy))
INLINE_BYTES = Count(0, _MAX_INLINE)
