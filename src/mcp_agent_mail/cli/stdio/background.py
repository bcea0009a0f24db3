"""A server in the background: for those who need one and cannot ask a person to start it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.settings.client import ClientSettings
from mcp_agent_mail.core.store_owner import LOG_FILE

_START_LOCK = "starting.lock"
_SAID_BYTES = 2_000

_NOT_THE_SERVERS = (
    "AGENT_MAIL_URL AGENT_MAIL_TOKEN AGENT_MAIL_AGENT_TOKEN AGENT_MAIL_PROJECT AGENT_NAME AGENT_MAIL_AGENT "
    "INTEGRATION_BEARER_TOKEN"
).split()
"""What one client may know, and a server that outlives it and serves others must not inherit."""


class BackgroundServer:
    """A server process of its own session: it goes on when we end, and Ctrl-C in our terminal does not reach it."""

    def __init__(self, settings: ClientSettings, *, env_file: Path | None) -> None:
        settings.storage_root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.log = settings.storage_root / LOG_FILE
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._said_before = os.fstat(descriptor).st_size
            self._process = subprocess.Popen(
                # -P: nothing that lies in the current folder is imported.
                [sys.executable, "-P", "-m", "mcp_agent_mail", "serve"],
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                # Not in the repository that our client works in, whose `.env` is none of ours.
                cwd="/",
                env=_environment(settings, env_file),
                start_new_session=True,
            )
        finally:
            os.close(descriptor)

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """The exit code of the process; None while it runs."""
        return self._process.poll()

    def said(self) -> str:
        """The end of what it has written since it was started."""
        with self.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(min(self._said_before, size), size - _SAID_BYTES))
            return file.read().decode("utf-8", "replace").strip()


def _environment(settings: ClientSettings, env_file: Path | None) -> dict[str, str]:
    """Ours, with the four settings that we share with the server as we have read them."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_THE_SERVERS}
    chosen = env_file or settings.agent_mail_env_file
    if chosen is not None:
        environment["AGENT_MAIL_ENV_FILE"] = str(chosen.absolute())
    return environment | {
        "STORAGE_ROOT": str(settings.storage_root),
        "HTTP_HOST": settings.http_host,
        "HTTP_PORT": str(settings.http_port),
        "HTTP_PATH": settings.http_path,
    }


@contextmanager
def sole_starter(storage_root: Path) -> Iterator[bool]:
    """True for one process at a time. It only spares the others a start in vain: the store's lock decides."""
    storage_root.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(storage_root / _START_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_sole = True
    except BlockingIOError:
        is_sole = False
    try:
        yield is_sole
    finally:
        os.close(descriptor)
