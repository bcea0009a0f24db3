"""A server that a test can have killed at a named instant, in its own process or in its archiver's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.crash.launcher import Doom
from tests.served import Served, children_of, pause

LAUNCHER = Path(__file__).with_name("launcher.py")
DIES_WITHIN_S = 30.0
COMMIT_INTERVAL_MS = 50
WINDOW_DAYS = 1_000
IMAGE_CONVERTER = "mcp_agent_mail.image_converter"
_ARCHIVER_ENDED = re.compile(rb"(?i)error=the archiver ended")
_LOOKS = int(DIES_WITHIN_S / 0.02)


class LaunchedServer(Served):
    """Starts on another port each time: its clients come anew as well."""

    def __init__(
        self,
        root: Path,
        *,
        commit_interval_ms: int = COMMIT_INTERVAL_MS,
        settings: Mapping[str, str] | None = None,
        **doom: Any,
    ) -> None:
        # Rounds may begin months ago: what a client named then is still its own.
        super().__init__(
            root,
            ALLOW_ABSOLUTE_ATTACHMENT_PATHS="true",
            ARCHIVE_COMMIT_INTERVAL_MS=str(commit_interval_ms),
            MCP_AGENT_MAIL_WINDOW_TTL_DAYS=str(WINDOW_DAYS),
            **(settings or {}),
        )
        self._armed = root.parent / f"{root.name}.armed"
        self._always = Doom(armed=str(self._armed), **doom)
        self._doom = self._always

    def command(self) -> list[str]:
        return [sys.executable, "-P", str(LAUNCHER), self._doom.to_text(), "serve"]

    def doom(self, **doom: Any) -> None:
        """What will happen to the next one that is spawned, once it is armed."""
        self._armed.unlink(missing_ok=True)
        self._doom = replace(self._always, **doom)

    def arm(self) -> None:
        self._armed.touch()

    def disarm(self) -> None:
        self._armed.unlink(missing_ok=True)

    def spawn(self) -> None:
        self.port = 0
        super().spawn()

    def kill_at_once(self, pids: list[int]) -> None:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def archivers(self) -> list[int]:
        return children_of(self.pid, but=IMAGE_CONVERTER)

    def image_converters(self) -> list[int]:
        others = set(self.archivers())
        return [pid for pid in children_of(self.pid) if pid not in others]

    def await_image_converters(self) -> None:
        """Until there is one, or has been for long enough to begin: it is started at the first image."""
        for _ in range(_LOOKS):
            if self.image_converters():
                return
            pause()
        raise AssertionError(f"no image was converted: {self.log.read_text()[-1500:]}")

    def await_own_end(self) -> int:
        """The exit code."""
        assert self.process is not None
        try:
            code = self.process.wait(DIES_WITHIN_S)
        except subprocess.TimeoutExpired as alive:
            raise AssertionError(f"it lives: {self._doom}; {self.log.read_text()[-1500:]}") from alive
        self.process = None
        return code

    def archivers_ended(self) -> int:
        """How many archivers the server of this store has seen dying, so far."""
        return len(_ARCHIVER_ENDED.findall(self.log.read_bytes()))

    def await_archivers_end(self, before: int) -> None:
        for _ in range(_LOOKS):
            if self.archivers_ended() > before:
                return
            pause()
        raise AssertionError(f"no archiver died: {self._doom}; {self.log.read_text()[-1500:]}")
