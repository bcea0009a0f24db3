from __future__ import annotations

import os


class Pipe:
    """What a line queue writes into, read to its end."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()

    def text(self) -> str:
        os.close(self.writer)
        with os.fdopen(self.reader, "rb") as file:
            return file.read().decode()
