"""`serve`, `start`, `stop` and `status`: the server of this machine, with this door open."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.claude_mailbox.arguments import GivenFlags, parse_flags
from mcp_agent_mail.cli.claude_mailbox.door import MailboxClient, base_url, closed_door, storage_root
from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused, NoMailboxServer
from mcp_agent_mail.cli.service.unit_files import server_command
from mcp_agent_mail.clients.hook.environment import SettingSources
from mcp_agent_mail.core.escaping import printable
from mcp_agent_mail.core.home_folder import expand_home
from mcp_agent_mail.core.plain_files import UnfitFile, open_plain, read_plain
from mcp_agent_mail.core.store_owner import LOG_FILE, read_owner
from mcp_agent_mail.domain.own_files import HEAD_BYTES, is_database, is_sqlite

CONFIG = 78
TRY_AGAIN = 75
START_WITHIN_S = 60.0
STOP_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.05
_STARTED_FILE = "claude-mailbox.pid"
"""In STORAGE_ROOT: the server that this command started last."""
_MAX_PID_BYTES = 32
_MAX_CONFIG_BYTES = 1 << 20
_FLAGS: Mapping[str, str] = {
    "port": "CLAUDE_MAILBOX_PORTS",
    "bind": "FACADES_HOST",
    "hide-after-minutes": "CLAUDE_MAILBOX_HIDE_AFTER_MINUTES",
    "delete-after-minutes": "CLAUDE_MAILBOX_DELETE_AFTER_MINUTES",
    "sweep-interval-minutes": "CLAUDE_MAILBOX_SWEEP_INTERVAL_MINUTES",
}
_KEYS: Mapping[str, str] = {
    "port": "port",
    "bind": "bind",
    "dbPath": "db-path",
    "hideAfterMinutes": "hide-after-minutes",
    "deleteAfterMinutes": "delete-after-minutes",
    "sweepIntervalMinutes": "sweep-interval-minutes",
}
"""Of `mailbox.json`, each with the flag that it stands for."""
_CLIENTS_OWN = ("AGENT_MAIL_URL", "AGENT_MAIL_TOKEN", "AGENT_MAIL_AGENT_TOKEN", "AGENT_MAIL_PROJECT", "AGENT_NAME")


def serve(arguments: Sequence[str]) -> int:
    """This process becomes the server; what that prints and ends with is the answer."""
    given = _parse("serve", arguments)
    environment = server_environment(given)
    sys.stdout.flush()
    if read_owner(root := Path(storage_root(environment))) is None:
        _note_started(root, os.getpid())  # It stays ours: the server is this process.
    elif _health(_url(given)) is None:
        _require_no_other(environment)
    os.execve(sys.executable, server_command(), environment)  # noqa: S606  # an argument list: there is no shell


def start(arguments: Sequence[str]) -> int:
    """The server in the background. Where it runs already, nothing."""
    given = _parse("start", arguments)
    url = _url(given)
    if _health(url) is not None:
        sys.stdout.write(f"Running at {url}\n")
        return 0
    environment = server_environment(given)
    _require_no_other(environment)
    process, log = _spawned(environment)
    deadline = time.monotonic() + START_WITHIN_S
    while _health(url) is None:
        code = process.poll()
        if code is not None or time.monotonic() > deadline:
            raise CommandRefused(
                f"claude-mailbox: the server did not start; {log} says why.", code if code is not None else 1
            )
        time.sleep(_LOOK_EVERY_S)
    _note_started(Path(storage_root(environment)), process.pid)
    sys.stdout.write(f"Started at {url} (PID {process.pid})\n")
    return 0


def stop(arguments: Sequence[str]) -> int:
    """End the server of this machine's store, in order, if this command has started it."""
    given = _parse("stop", arguments)
    root = Path(storage_root(server_environment(given)))
    owner = read_owner(root)
    if owner is None or owner.pid is None or owner.url is None:
        sys.stdout.write("Stopped\n")
        return 0
    _require_started(root, owner.pid)
    try:
        os.kill(owner.pid, signal.SIGTERM)
    except OSError as failed:
        raise CommandRefused(
            f"claude-mailbox: the server (pid {owner.pid}) cannot be stopped: {failed.strerror}."
        ) from None
    deadline = time.monotonic() + STOP_WITHIN_S
    while read_owner(root) is not None:
        if time.monotonic() > deadline:
            raise CommandRefused(f"claude-mailbox: the server (pid {owner.pid}) is still stopping.")
        time.sleep(_LOOK_EVERY_S)
    sys.stdout.write("Stopped\n")
    return 0


def _note_started(root: Path, pid: int) -> None:
    """A folder that takes no file tells the server's start more."""
    with suppress(OSError):
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        staged = root / f".{_STARTED_FILE}.{os.getpid()}"
        staged.write_text(f"{pid}\n", encoding="ascii")
        staged.replace(root / _STARTED_FILE)


def _require_started(root: Path, pid: int) -> None:
    """Raises CommandRefused for a server that others have started: it is theirs to stop."""
    try:
        noted = read_plain(str(root / _STARTED_FILE), _MAX_PID_BYTES)
    except UnfitFile:
        noted = None
    if (noted or b"").strip() == str(pid).encode():
        return
    from mcp_agent_mail.cli.service.unit_files import NAME, is_installed

    service = f"systemctl --user stop {NAME}.service if it runs with your login, else " if is_installed() else ""
    raise CommandRefused(
        f"claude-mailbox: the server of {root} (pid {pid}) was not started by claude-mailbox: it runs on. "
        f"Stop it where it was started: {service}kill {pid}"
    )


def status(arguments: Sequence[str]) -> int:
    """Running where a server answers; else whether one would be started at the login."""
    given = parse_flags("status", arguments)
    url = _url(given)
    health = _health(url)
    if health is not None:
        sys.stdout.write(f"Running at {url} (version {printable(str(health['version']))})\n")
        return 0
    from mcp_agent_mail.cli.service.unit_files import is_installed

    sys.stdout.write("Stopped\n" if is_installed() else "NotInstalled\n")
    return 0


def server_environment(given: GivenFlags) -> dict[str, str]:
    """The environment of the server: the door is open, and the flags say what the settings are. Raises CommandRefused,
    with CONFIG, for another program's database.
    """
    flags = {**_read_config(given.find("config")), **given.values}
    environment = {name: value for name, value in os.environ.items() if name not in _CLIENTS_OWN}
    environment["CLAUDE_MAILBOX_ENABLED"] = "true"
    for flag, name in _FLAGS.items():
        if flag in flags:
            environment[name] = flags[flag]
    if "db-path" in flags:
        file = Path(expand_home(flags["db-path"], os.environ)).absolute()
        _require_ours(file)
        environment |= {"DATABASE_URL": str(file), "STORAGE_ROOT": str(file.parent)}
    return environment


def _require_ours(file: Path) -> None:
    try:
        with open(open_plain(file), "rb") as opened:  # of a descriptor
            head = opened.read(HEAD_BYTES)
    except OSError:
        return  # It is not there yet, or the server says what is wrong with it.
    if is_sqlite(head) and not is_database(head):
        raise CommandRefused(
            f"claude-mailbox: {file} is another program's database, and is left as it is. "
            f"Bring its mail here with: am import claude-mailbox {file}",
            CONFIG,
        )


def _read_config(file: str | None) -> dict[str, str]:
    """What a `mailbox.json` says, by the names of flags. Raises CommandRefused with CONFIG."""
    if file is None:
        return {}
    try:
        value: Any = json.loads(_config_text(file))
        if not isinstance(value, dict):
            raise TypeError("it is no JSON object")
    except (OSError, TypeError, ValueError, UnfitFile) as unfit:
        raise CommandRefused(f"claude-mailbox: {file} cannot be read: {unfit}", CONFIG) from None
    return {flag: str(value[key]) for key, flag in _KEYS.items() if value.get(key) is not None}


def _config_text(file: str) -> str:
    """Raises FileNotFoundError, UnfitFile and ValueError."""
    content = read_plain(file, _MAX_CONFIG_BYTES)
    if content is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
    return content.decode()


def _parse(command: str, arguments: Sequence[str]) -> GivenFlags:
    return parse_flags(command, arguments, valued=(*_FLAGS, "db-path", "config"))


def _url(given: GivenFlags) -> str:
    flags = {**_read_config(given.find("config")), **given.values}
    if "url" in flags or not ({"port", "bind"} & flags.keys()):
        return base_url(SettingSources(os.environ), given)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(flags.get("bind", ""), flags.get("bind", "127.0.0.1"))  # noqa: S104
    own = base_url(SettingSources(os.environ), given).rpartition(":")[2]
    return f"http://{f'[{host}]' if ':' in host else host}:{flags.get('port', own)}"


def _require_no_other(environment: Mapping[str, str]) -> None:
    """No server without mailboxes has the store: two cannot. Raises CommandRefused with TRY_AGAIN."""
    if (way := closed_door(environment)) is not None:
        raise CommandRefused(f"claude-mailbox: {way}", TRY_AGAIN)


def _health(url: str) -> dict[str, Any] | None:
    """What a mailbox server says of itself; None where none answers."""
    given = parse_flags("status", ["--url", url])
    try:
        found = MailboxClient(given, within_s=2.0).ask("GET", "/health")
    except (CommandRefused, NoMailboxServer):
        return None
    return found if isinstance(found, dict) and {"status", "version", "dbPath"} <= found.keys() else None


def _spawned(environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], Path]:
    """In a session of its own: it goes on when we end."""
    root = Path(storage_root(environment))
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = root / LOG_FILE
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            server_command(),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
    return process, log


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "serve": serve,
    "start": start,
    "stop": stop,
    "status": status,
}
