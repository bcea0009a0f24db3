"""What the command sends: one JSON object for each question, read field by field."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.requests import DoorCaller

MAX_NAMES = 200
"""Windows of one session that are asked about at once."""


class QuestionFields:
    """Raises InvalidInput for what is missing, or is of another kind."""

    def __init__(self, body: bytes) -> None:
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as broken:
            raise InvalidInput(f"The body is no JSON: {broken}.", hint="Send one JSON object in UTF-8.") from broken
        if not isinstance(value, dict):
            raise InvalidInput("The body must be a JSON object.", hint="docs/reference/http.md shows it.")
        self._value: Mapping[str, Json] = value

    def text(self, name: str) -> str:
        """A text, be it empty."""
        value = self._value.get(name)
        if not isinstance(value, str):
            raise self._unfit(name, "a text")
        return value

    def flag(self, name: str) -> bool:
        """It must be said either way."""
        value = self._value.get(name)
        if not isinstance(value, bool):
            raise self._unfit(name, "true or false")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        """A number without a fraction, both bounds among what it may be."""
        value = self._value.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self._unfit(name, f"a whole number from {low} to {high}")
        return value

    def names(self, name: str) -> list[str]:
        """At most MAX_NAMES of them."""
        value = self._value.get(name)
        if not isinstance(value, list) or len(value) > MAX_NAMES or not all(isinstance(one, str) for one in value):
            raise self._unfit(name, f"a list of at most {MAX_NAMES} texts")
        return list(value)

    def has(self, name: str) -> bool:
        return self._value.get(name) is not None

    def project(self) -> str:
        """A working directory. Raises as `text`."""
        key = self.text("project")
        if not key.startswith("/"):
            raise self._unfit("project", "an absolute path")
        return key

    def caller(self) -> DoorCaller:
        """Who asks, in which project."""
        return DoorCaller(door=Door.AGENTMAIL, name=self.text("name"), project_key=self.project())

    def _unfit(self, name: str, kind: str) -> InvalidInput:
        return InvalidInput(
            f"{name} must be {kind}.", hint="docs/reference/http.md shows it.", data={"parameter": name}
        )
