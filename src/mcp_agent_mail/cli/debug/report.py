"""What somebody who helps needs to know, section by section. Each is made by itself: where one fails, that is told."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import mcp_agent_mail
from mcp_agent_mail.cli.commands.status import status_report
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.debug.known_words import KnownWords
from mcp_agent_mail.cli.debug.log_facts import log_facts
from mcp_agent_mail.cli.debug.masked_facts import doctor_facts, mistake_facts, setting_facts, state_facts
from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.http import HttpGateway
from mcp_agent_mail.cli.gateway.port import find_server
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.cli.offline.check import check_around
from mcp_agent_mail.cli.top.store_look import look_into_store
from mcp_agent_mail.core.clock import iso, system_clock
from mcp_agent_mail.core.errors import AgentMailError, NotFound
from mcp_agent_mail.core.home_folder import home_folder
from mcp_agent_mail.core.logging import without_tokens
from mcp_agent_mail.core.settings.kinds import MASK, Secret
from mcp_agent_mail.core.settings.server import LoadedSettings, Settings, load_settings
from mcp_agent_mail.core.settings.sources import SettingsError
from mcp_agent_mail.core.store_owner import LOG_FILE

MOST_BYTES = 256 * 1024
FORMAT = "mcp-agent-mail debug report 1"
_PACKAGES = (
    *("fastmcp", "mcp", "starlette", "uvicorn", "uvloop", "httptools", "pydantic", "pydantic-core", "aiosqlite"),
    *("orjson", "typer", "rich", "filelock", "python-decouple", "pillow", "prometheus-client", "toon-format"),
)
_ANSWER_WITHIN_S = 5.0
_SHORTEST_SECRET = 8

# Plain JSON.
Json = Any


def make_report(log: Path | None) -> str:
    """The report as JSON of MOST_BYTES at most, of this command's surroundings. `log` is read in place of the store's
    own.
    """
    known = KnownWords.of_package(Path(mcp_agent_mail.__file__).parent)
    report: dict[str, Json] = {"format": FORMAT, "made_at": iso(system_clock()), "versions": _section(_versions)}
    try:
        loaded = load_settings(os.environ, cwd=Path.cwd())
    except SettingsError as wrong:
        # Without settings nobody knows where the store is.
        report["settings"] = mistake_facts(wrong.mistakes)
        return _bounded(report, _secrets(None))
    context = CliContext(loaded.settings, names_store=True)
    report |= {
        "settings": _section(lambda: setting_facts(loaded)),
        "status": _section(lambda: state_facts(status_report(context), known)),
        "health": _section(lambda: state_facts(_health(context), known)),
        "store": _section(lambda: _store(context)),
        "doctor": _section(lambda: doctor_facts(check_around(context), known)),
        "log": _section(lambda: _log(log or _log_of(context), known)),
    }
    return _bounded(report, _secrets(loaded))


def untold_log(report: str) -> str | None:
    """Why there are no lines of a log in it, where none was found, and what to do; None where one was, or that is not
    the reason.
    """
    log = json.loads(report).get("log")
    return f"{log['problem']} {log['next_step']}" if isinstance(log, dict) and "next_step" in log else None


def _log(log: Path, known: KnownWords) -> Json:
    """Only the store's own may be missing: one that was named is there."""
    if os.path.lexists(log):
        return log_facts(log, known)
    return {
        "failed": NotFound.code,
        "problem": f"No log was found at STORAGE_ROOT/{LOG_FILE}.",
        "next_step": "A server in the foreground writes it to its terminal: keep that in a file (am serve 2> LOG), and "
        "name it: --log LOG.",
    }


def _section(make: Callable[[], Json]) -> Json:
    """A store may be damaged in any way, and a report is wanted just then: of an error its kind is told."""
    try:
        return make()
    except AgentMailError as refused:
        return {"failed": code_of(refused), "kind": type(refused).__name__}
    except Exception as error:  # noqa: BLE001  # its words may quote mail
        return {"failed": "INTERNAL", "kind": type(error).__name__}


def _versions() -> Json:
    # It knows SQLite.
    from mcp_agent_mail.store.engine.sqlite.schema import sqlite_version

    return {
        "mcp-agent-mail": mcp_agent_mail.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {_number_of(platform.release())} {platform.machine()}",
        "sqlite": sqlite_version(),
        "git": _git_version(),
        "packages": dict(_package_versions()),
    }


def _number_of(release: str) -> str:
    """A kernel's name may say whose it is; its number does not."""
    found = re.match(r"\d+(\.\d+)*", release)
    return found[0] if found else ""


def _git_version() -> str | None:
    from mcp_agent_mail.archive.inspection import git_version

    with suppress(OSError):
        return _number_of(git_version().removeprefix("git version "))
    return None


def _package_versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            # What stands behind the + is whoever built it.
            yield name, version(name).partition("+")[0]


def _health(context: CliContext) -> Json:
    """What the server says of itself; None where none runs."""
    server = find_server(context)
    if server is None:
        return None
    gateway = HttpGateway(server, answer_timeout_s=_ANSWER_WITHIN_S)
    try:
        return WaitingGateway(gateway).call("health_check", {})
    finally:
        gateway.close()


def _store(context: CliContext) -> Json:
    """Sizes in bytes, and how much there is and waits."""
    database = context.settings.database_path
    files = {"database": database, "log_of_database": Path(f"{database}-wal"), "server_log": _log_of(context)}
    sizes = {name: path.stat().st_size for name, path in files.items() if path.is_file()}
    return {"bytes": sizes, "pending": _section(lambda: _pending(context))}


def _log_of(context: CliContext) -> Path:
    return context.storage_root / LOG_FILE


def _pending(context: CliContext) -> Json:
    context.require_store()
    found = look_into_store(context.settings.database_path)
    names = ("projects", "agents", "unread", "leases", "pending_events", "oldest_pending_s")
    return {name: getattr(found, name) for name in names}


def _secrets(loaded: LoadedSettings | None) -> list[str]:
    """What must not be in it, should anything above have let it through: longest first."""
    settings = None if loaded is None else loaded.settings
    found = {home_folder(os.environ), str(Path.cwd())}
    if settings is not None:
        found |= {str(settings.storage_root), str(settings.database_path), *_revealed(settings)}
    return sorted((one for one in found if len(one) >= _SHORTEST_SECRET), key=len, reverse=True)


def _revealed(settings: Settings) -> Iterator[str]:
    for name in settings.__slots__:
        value = getattr(settings, name)
        yield from (one.reveal() for one in (value if isinstance(value, tuple) else [value]) if isinstance(one, Secret))


def _bounded(report: dict[str, Json], secrets: list[str]) -> str:
    """The oldest lines of the log make room."""
    text = _text(report, secrets)
    while len(text.encode()) > MOST_BYTES and isinstance(log := report.get("log"), list) and log:
        report["log"] = log[max(1, len(log) // 4) :]
        text = _text(report, secrets)
    return text


def _text(report: dict[str, Json], secrets: list[str]) -> str:
    return f"{json.dumps(_masked(report, secrets), indent=2)}\n"


def _masked(value: Json, secrets: list[str]) -> Json:
    """Keys are the program's own words."""
    if isinstance(value, dict):
        return {key: _masked(one, secrets) for key, one in value.items()}
    if isinstance(value, list):
        return [_masked(one, secrets) for one in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        return without_tokens(value)
    return value
