"""How much of a body is read before it is left: counted, so that it is the same on every machine."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput

MAX_STEPS = 100_000
"""Lines, marks between them that may mean something, and what is open around each line."""


class TooManySteps(InvalidInput):
    """Its images are not looked for to the end."""


class Steps:
    """For one body. Each costs about as much as any other, whatever the body holds."""

    __slots__ = ("_left", "most")

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.most = self._left = most

    def take(self, count: int = 1) -> None:
        """Raises TooManySteps where these are more than are left."""
        self._left -= count
        if self._left < 0:
            raise TooManySteps(
                f"The body has more lines and marks (such as `[` and `]`) than are looked through for images: "
                f"{self.most:,} together.",
                hint="Send it with convert_images=false, and name its images in attachment_paths; or send a long text "
                "as a file.",
                data={"max_steps": self.most},
            )
