"""A server of its own for the demo: its store in a scratch folder, on a port that is free."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.core.store_owner import read_owner

_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 15.0


@contextmanager
def scratch_server(folder: Path) -> Iterator[str]:
    """The URL of a server whose store is `folder`/store. It is stopped on leaving, whatever happened."""
    log_path = folder / "server.log"
    env_file = folder / "empty.env"
    env_file.touch()
    # None of the caller's settings may lead the demo to a real store.
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR") if name in os.environ
    }
    environment |= {"STORAGE_ROOT": str(folder / "store"), "AGENT_MAIL_ENV_FILE": str(env_file)}
    environment |= {"PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)}
    command = [sys.executable, "-m", "mcp_agent_mail", "serve", "--host", "127.0.0.1", "--port", "0"]
    with log_path.open("wb") as log:
        # start_new_session: Ctrl-C is for the demo, which then stops its server in order.
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield _wait_for_url(process, folder / "store", log_path)
    finally:
        _stop(process)


def _wait_for_url(process: subprocess.Popen[bytes], storage_root: Path, log_path: Path) -> str:
    give_up_at = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < give_up_at:
        owner = read_owner(storage_root)
        if owner is not None and owner.url is not None:
            return owner.url
        if process.poll() is not None:
            break
        time.sleep(0.05)
    log = log_path.read_text(errors="replace")[-2_000:]
    raise NoServer(
        f"The scratch server did not start. Its log ends:\n{log}", hint="Check the settings: am config check"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, which drains; a server that does not end is killed: nobody needs its store but this demo."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
