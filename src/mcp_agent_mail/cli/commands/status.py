"""`am status`: is the server up, who owns the store, what has the archive yet to catch up with. Changes nothing."""

from __future__ import annotations

from contextlib import closing
from enum import Enum, auto
from typing import Any

import typer

from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, NoServer, WireError, code_of
from mcp_agent_mail.cli.gateway.busy_server import is_alive, is_busy
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server, Stranger, Unreachable
from mcp_agent_mail.cli.gateway.known_owner import owner_with_address
from mcp_agent_mail.cli.gateway.port import server_at
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json, time_of
from mcp_agent_mail.core.errors import RateLimited

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_ANSWER_TIMEOUT_S = 5.0

# Plain JSON, as `--json` prints it.
Report = dict[str, Any]


class _Listener(Enum):
    """What there is at an address."""

    SERVER = auto()
    NOBODY = auto()
    STRANGER = auto()
    """It listens, and answers as no server of ours does, or not at all."""


@app.command("status", cls=LeanCommand)
def status(json: JsonFlag = False) -> int:
    """Say whether the server is up, who owns the store and what is pending.

    Works when nothing runs. Exit codes: 0 up and well, 1 up and degraded, busy, held up by its rates, or it
    refuses you, 69 not up.
    A server of another store at the same address is named, and is not taken for this one's.
    """
    context = load_context()
    report = status_report(context)
    if json:
        print_json(report)
    else:
        print_fields([("server", _server(report, context)), *_lines(report)])
    if not report["running"]:
        return ExitCode.UNAVAILABLE
    return ExitCode.DONE if report["status"] == "ok" else ExitCode.REFUSED


def status_report(context: CliContext) -> Report:
    """`status` is the server's own (ok, degraded, error), or busy, limited (the rates of whoever asks hold the question
    up, which is no fault of the server), refusing, stopped, starting, unreachable, absent, lost (all of the store but
    its database), damaged (a server says that it is well, and its database is not).
    """
    owner = owner_with_address(context)
    url = context.named_url() or (owner.url if owner else None)
    report: Report = {
        "running": False,
        "status": "stopped",
        "url": url,
        "serves": None,
        "other_server": None,
        "listens_on": owner.listens_on if owner else None,
        "version": None,
        "owner": {"pid": owner.pid, "url": owner.url, "started": owner.started} if owner else None,
        "storage_root": str(context.storage_root),
        "store": {"exists": context.store_exists(), "schema_version": None, "last_error": None},
        "archive": {"pending_events": None, "oldest_pending_s": None, "last_commit_at": None, "last_error": None},
    }
    if url is None and owner is None:
        if _is_lost(report, context):
            return report
        _ask_elsewhere(report, context)
        if report["other_server"] is not None and context.owner_url() is not None:
            return status_report(context)  # It has begun to serve this very store meanwhile.
        if not report["store"]["exists"]:
            return report
    if url is not None and _ask(report, server_at(url, context)) is _Listener.SERVER:
        if report["serves"] == context.settings.database_url:
            report["serves"] = None
            _look_for_damage(report, context)
        return report
    if url is not None or owner is not None:
        report["status"] = "unreachable" if url else "starting"
    if report["store"]["exists"] and context.named_url() is None:
        _look_into_store(report, context)
    return report


def _ask(report: Report, server: Server) -> _Listener:
    """Fill in what the server at `server` says of itself, or the problem with it."""
    gateway = HttpGateway(server, answer_timeout_s=_ANSWER_TIMEOUT_S)
    try:
        health = WaitingGateway(gateway).call("health_check", {})
    except WireError as refused:
        report["problem"] = f"{refused.message} {refused.hint}".rstrip()
        if isinstance(refused, Stranger):
            return _Listener.STRANGER
        # Whoever refuses is there.
        report |= {"running": True, "status": _standing(refused)}
        return _Listener.SERVER
    except NoServer as silent:
        report["problem"] = silent.message
        if not isinstance(silent, Unreachable) and is_alive(server):
            report |= {"running": True, "status": "busy"}
            return _Listener.SERVER
        return _Listener.NOBODY if isinstance(silent, Unreachable) else _Listener.STRANGER
    finally:
        gateway.close()
    report |= {"running": True, "status": health["status"], "version": health["version"], "archive": health["archive"]}
    report["serves"] = health.get("database_url")
    report["workers"] = health.get("workers", {})
    report["store"]["schema_version"] = health["store"]["schema_version"]
    report["store"]["last_error"] = health["store"].get("last_error")
    report["owner"] = report["owner"] or {"pid": health["store"]["owner_pid"], "url": None, "started": None}
    return _Listener.SERVER


def _standing(refused: WireError) -> str:
    if code_of(refused) == RateLimited.code:
        return "limited"
    return "busy" if is_busy(refused) else "refusing"


def _ask_elsewhere(report: Report, context: CliContext) -> None:
    """Nobody owns this store, so what answers at the address of the settings serves another. Without a store here, and
    with none named, it is what the commands use: a server that runs as another user.
    """
    url = context.settings_url()
    is_ours_to_use = not (report["store"]["exists"] or context.names_store)
    about = report if is_ours_to_use else {"owner": None, "store": {}}
    if not report["store"]["exists"]:
        report["status"] = "absent"
    found = _ask(about, server_at(url, context))
    if found is not _Listener.NOBODY:
        report["other_server"] = {"url": url, "serves": about.get("serves"), "problem": about.get("problem")}
    if is_ours_to_use and found is _Listener.SERVER:
        report |= {"url": url, "serves": None}
    elif is_ours_to_use:
        del report["problem"]
    if found is _Listener.STRANGER:
        report["other_server"]["is_stranger"] = True


def _is_lost(report: Report, context: CliContext) -> bool:
    """There is no database here: was there one, or has something else its name? What then answers elsewhere is not what
    is meant.
    """
    from mcp_agent_mail.core.errors import Conflict
    from mcp_agent_mail.store.engine.sqlite.migrate import ForeignStore

    try:
        context.require_not_lost()
    except (Conflict, ForeignStore) as lost:
        report |= {"status": "lost", "problem": lost.text}
        return True
    return False


def _look_for_damage(report: Report, context: CliContext) -> None:
    """A server goes on for long with what it has in memory: it may not know yet of damage."""
    if not report["store"]["exists"]:
        return
    from mcp_agent_mail.core.errors import AgentMailError
    from mcp_agent_mail.store.engine.sqlite.migrate import NewerStore

    try:
        _require_undamaged(context)
    except NewerStore:
        return  # Whoever serves it knows more of it.
    except AgentMailError as damaged:
        report["problem"] = damaged.text
        if report["status"] == "ok":
            report["status"] = "damaged"


def _require_undamaged(context: CliContext) -> None:
    """A look that costs next to nothing. Raises StoreFailed and StoreRefused."""
    from mcp_agent_mail.store.checks.quick_look import require_undamaged

    require_undamaged(context.settings.database_path)


def _look_into_store(report: Report, context: CliContext) -> None:
    """Schema and backlog straight from the file, which a sick or stopped server cannot tell."""
    from mcp_agent_mail.core.clock import iso_or_none, system_clock
    from mcp_agent_mail.core.errors import AgentMailError
    from mcp_agent_mail.store.engine.sqlite.faults import faults_told, told_when_unwritable
    from mcp_agent_mail.store.engine.sqlite.migrate import require_ours
    from mcp_agent_mail.store.engine.sqlite.schema import open_own
    from mcp_agent_mail.store.transaction import View

    path = context.settings.database_path
    try:
        with told_when_unwritable(context.storage_root, path):
            require_ours(path)
            _require_undamaged(context)
            with faults_told(), closing(open_own(path)) as connection:
                view = View(connection, system_clock)
                backlog = view.outbox.backlog(view.now)
                last_commit_at = iso_or_none(view.outbox.last_commit_at())
                report["store"]["schema_version"] = view.meta.schema_version()
    except AgentMailError as refused:
        report["problem"] = refused.text
    else:
        report["archive"] = {
            "pending_events": backlog.pending_events,
            "oldest_pending_s": round(backlog.oldest_pending_s, 3),
            "last_commit_at": last_commit_at,
            "last_error": None,
        }


_IN_WORDS = {
    "ok": "up, well",
    "degraded": "up, degraded: mail is safe and can be read, but not all is well",
    "error": "up, but its store cannot be read or written",
    "damaged": "up, but its database is damaged",
    "stopped": "not running (start it with: am serve)",
    "starting": "not up yet: a server that starts, or a command at work; for a server elsewhere set AGENT_MAIL_URL",
    "refusing": "up, and refuses us",
    "busy": "up, and busy: look again in 5 s; if it stays so, the server's log and am top say why",
    "limited": "up; it is no fault that its rates hold this command up: look again when they allow",
    "unreachable": "does not answer",
    "lost": "not running, and its database is not there: nothing starts before it is",
    "absent": "not running, and there is no store yet (start both with: am serve)",
}


def _server(report: Report, context: CliContext) -> str:
    """In words. What a `./.env` that was not read names may run all the same: then the step is to look there."""
    if context.has_passed_over and report["status"] in ("stopped", "absent"):
        return "not running for this store (for that of .env: AGENT_MAIL_ENV_FILE=.env am status)"
    words = _IN_WORDS[report["status"]]
    return f"{words}, for another store than yours" if report["running"] and report["other_server"] else words


def _other_server(report: Report) -> str | None:
    """What runs where ours would."""
    other = report["other_server"]
    if other is None:
        return None
    if other.get("is_stranger"):
        return f"{other['url']} is taken: {other['problem']} Start yours with another --port, or end what is there."
    which = f" ({other['serves']})" if other["serves"] else ""
    use = "" if report["running"] else f"; to use it: AGENT_MAIL_URL={other['url']}"
    return f"{other['url']} serves another store{which}{use}"


def _if_elsewhere(report: Report) -> str | None:
    """A server that listens on every address says so; else it is what `url` says already."""
    bound = report["listens_on"]
    return None if bound in (None, report["url"]) else f"{bound} (every address of this machine)"


def _size(archive: Report) -> str | None:
    """Of the archives written since the server's start."""
    if archive.get("packs") is None:
        return None
    return f"{archive['packs']} packs, an index of {archive['index_bytes'] // 1024} KiB"


def _lines(report: Report) -> list[tuple[str, object]]:
    owner = report["owner"]
    archive = report["archive"]
    pending = archive["pending_events"]
    oldest = f", the oldest for {archive['oldest_pending_s']} s" if pending else ""
    owned_by = (
        None
        if owner is None
        else f"process {owner['pid']}" + (f" since {time_of(owner['started'])}" if owner["started"] else "")
    )
    return [
        ("problem", report.get("problem")),
        ("url", report["url"]),
        ("listens on", _if_elsewhere(report)),
        ("version", report["version"]),
        ("store", report["storage_root"] if report["other_server"] is None or not report["running"] else None),
        ("other store", report["serves"]),
        ("other server", _other_server(report)),
        ("owner", owned_by or "nobody"),
        ("schema", report["store"]["schema_version"]),
        ("writing", report["store"].get("last_error")),
        ("pending", None if pending is None else f"{pending} events for Git{oldest}"),
        ("last commit", time_of(archive["last_commit_at"])),
        ("largest archive", _size(archive)),
        ("care", archive.get("care_error")),
        ("mending", _mending(archive)),
        ("new format", _converting(archive)),
        ("archive", archive.get("last_error")),
        *((name, _of_worker(worker)) for name, worker in report.get("workers", {}).items()),
    ]


def _mending(archive: Report) -> str | None:
    """Archives that an unclean stop left, and those that nothing comes back from."""
    if archive.get("to_mend", 0) is None:
        return "not looked at yet"
    left = archive.get("mending", 0) + archive.get("to_mend", 0)
    parts = [f"{left} archives to be mended"] if left else []
    parts += [f"{archive['hung']} that hang"] if archive.get("hung") else []
    return ", ".join(parts) or None


def _converting(archive: Report) -> str | None:
    """Archives of an older version of the format, which are brought to this one since the server's start."""
    done = f"{archive['converted']} archives converted" if archive.get("converted") else None
    if archive.get("converting"):
        return f"converting {archive['converting']}" + (f", {done}" if done else "")
    return done


def _of_worker(worker: Report) -> str:
    """What works beside the requests, in one line."""
    if not worker["enabled"]:
        return "off"
    figures = [f"{value} {name.replace('_', ' ')}" for name, value in worker.items() if type(value) is int]
    problem = worker["last_error"]
    return ", ".join(["on", *figures, *([f"last error: {problem}"] if problem else [])])
