"""`am archive`: what Git holds of a project, most of it read from its files on this machine."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_agent_mail.cli.commands.saved_archives import register
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, NoServer
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import Column, ExactFlag, JsonFlag, at, print_fields, print_json, print_rows, print_text
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.cli.project_option import ProjectOption, absolute_key, list_uri, project_key, resource_uri
from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.projects import plain_slug
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER

if TYPE_CHECKING:
    from mcp_agent_mail.archive.history import HistoryEntry

MAX_COMMITS = 1_000
_PAGE = 200
_SHORT_HASH = 12

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Look at and look after the projects' archives.",
)

_COMMITS = (
    Column("commit", lambda row: str(row["hexsha"])[:_SHORT_HASH], is_whole=True),
    Column("when", at("authored_at")),
    Column("agents", "agents", may_wrap=True),
    Column("summary", "summary", may_wrap=True),
)


_SIZES = (
    Column("project", "project", may_wrap=True),
    Column("messages", "messages", is_right=True),
    Column("bytes each", "bytes_per_message", is_right=True),
    Column("git bytes", "git_bytes", is_right=True),
    Column("index bytes", "index_bytes", is_right=True),
    Column("packs", "packs", is_right=True),
    Column("commits", "commits", is_right=True),
    Column("files", "files", is_right=True),
    Column("format", "format", is_right=True),
)
_TROUBLE = Column("problem", "problem", may_wrap=True)


@app.callback()
def archive() -> None:
    """Look at and look after the projects' archives."""


@app.command("log", cls=LeanCommand)
def log(
    project: ProjectOption = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only commits it acted in.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most this many.")] = 20,
    exact: ExactFlag = False,
    json: JsonFlag = False,
) -> None:
    """List the commits of a project's archive, newest first.

    `git log` in the archive's folder says the same and more.
    """
    context = load_context()
    path = _archive_path(context, project_key(project, context))
    from mcp_agent_mail.archive.history import read_history

    entries = read_history(path, agent=agent, limit=max(1, min(limit, MAX_COMMITS)))
    rows = [_row(entry) for entry in entries]
    if json:
        print_json(rows)
    else:
        print_rows(rows, _COMMITS, nothing="No commit of that agent.", exact=exact)


@app.command("path", cls=LeanCommand)
def path_of(
    project: Annotated[
        str | None,
        typer.Argument(metavar="PROJECT", help="Its slug or path. Else AGENT_MAIL_PROJECT, or where you stand."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Print the folder of a project's archive.

    An ordinary Git repository: git -C "$(am archive path)" log --stat
    """
    context = load_context()
    path = _archive_path(context, project_key(project, context))
    if json:
        print_json({"project": path.name, "path": str(path)})
    else:
        print_text(str(path))


@app.command("stats", cls=LeanCommand)
def stats(project: ProjectOption = None, json: JsonFlag = False) -> int:
    """Measure archives: messages, bytes of Git for each, packs.

    All projects without --project. Reads every file name of an archive: a second per million.
    Exit codes: 0 all were measured, 1 one has a problem, told in its row.
    """
    context = load_context()
    rows, slugs = [], _slugs(context, project)
    with progress_bars() as bars:
        told = bars.bar("measuring archives")
        for done, slug in enumerate(slugs):
            told(done, len(slugs))
            if (row := _size(context, slug)) is not None:
                rows.append(row)
    is_troubled = any(row["problem"] for row in rows)
    if json:
        print_json(rows)
    else:
        columns = (*_SIZES, _TROUBLE) if is_troubled else _SIZES
        print_rows(rows, columns, nothing="No archive yet: it begins with the first mail.")
    return ExitCode.FINDINGS if is_troubled else ExitCode.DONE


@app.command("checkout", cls=LeanCommand)
def checkout(
    month: Annotated[str, typer.Argument(metavar="MONTH", help="As YYYY-MM.")],
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Bring a month of mail back into an archive's folder.

    Beyond ARCHIVE_MAX_TRACKED_FILES files only the current and the previous month lie there; Git has all.
    It stays until twelve others have been brought back.
    """
    context = load_context()
    with open_gateway(context) as gateway, progress_bars() as bars:
        found = gateway.read(resource_uri("project", project_key(project, context)))
        bars.bar("bringing a month back")
        answer = gateway.call("checkout_archive_month", {"project_slug": found["slug"], "month": month})
    if json:
        print_json(answer)
    else:
        print_fields([(name, answer[name]) for name in ("project", "month", "path", "files")])


@app.command("renew", cls=LeanCommand)
def renew(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="Its slug or path.")],
    json: JsonFlag = False,
) -> int:
    """Write an archive that is lost for good again, from the database.

    Only one that lacks what was in it once: deleted, set back, or replaced by an older copy. What is
    still there stays. The server must be stopped. Exit codes: 0 all of it is in Git, 1 some is not yet.
    """
    from mcp_agent_mail.cli.offline.renew import renew_offline

    context = _require_store()
    with progress_bars() as bars:
        renewed = renew_offline(context.settings, absolute_key(project), progress=bars.bar("bringing events into Git"))
    if json:
        print_json(renewed)
    else:
        print_fields([(name, renewed[name]) for name in ("project", "path", "events", "problem")])
    return ExitCode.REFUSED if renewed["problem"] else ExitCode.DONE


register(app)


@app.command("gc", cls=LeanCommand)
def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them; remove nothing.")] = False,
    json: JsonFlag = False,
) -> None:
    """Remove attachments that no mail carries any more, after a day.

    From beside the database, where a refused send or a purge leaves them. What Git has stays in its
    history. Beside a server too.
    """
    from mcp_agent_mail.cli.offline.unused_contents import remove_unused_offline

    removed = remove_unused_offline(_require_store().settings, dry_run=dry_run)
    if json:
        print_json(removed)
    else:
        print_fields([(name, removed[name]) for name in ("contents", "bytes", "dry_run")])


def _require_store() -> CliContext:
    context = load_context()
    context.require_store()
    return context


def _slugs(context: CliContext, project: str | None) -> list[str]:
    """Of the project that was named, or of all of them, archived ones too."""
    with open_gateway(context) as gateway:
        if project is not None:
            return [_slug(gateway.read(resource_uri("project", project_key(project, context))))]
        slugs: list[str] = []
        after = 0
        while page := gateway.read(list_uri("projects", include_archived=True, limit=_PAGE, after_id=after)):
            slugs += [_slug(found) for found in page]
            before, after = after, page[-1]["id"]
            if after <= before:
                raise ValueError("projects that do not come in the order of their ids")
        return slugs


# A project as JSON has it.
def _slug(found: dict[str, Any]) -> str:
    """Its folder's name, and nothing that leads elsewhere. Raises ValueError."""
    slug = str(found["slug"])
    if not slug or plain_slug(slug) != slug:
        raise ValueError(f"{slug!r:.100} is no slug")
    return slug


def _size(context: CliContext, slug: str) -> dict[str, Any] | None:
    from mcp_agent_mail.archive.sizes import measure

    try:
        size = measure(context.storage_root / PROJECTS_FOLDER / slug)
    except AgentMailError as refused:
        return _unmeasured(slug, refused.text)
    except (OSError, ValueError) as unreadable:
        return _unmeasured(slug, str(unreadable))
    if size is None:
        return None
    return {"project": slug, **asdict(size), "bytes_per_message": size.bytes_per_message, "problem": None}


def _unmeasured(slug: str, problem: str) -> dict[str, Any]:
    from mcp_agent_mail.archive.sizes import ArchiveSize

    sizes = dict.fromkeys([field.name for field in fields(ArchiveSize)])
    return {"project": slug, **sizes, "bytes_per_message": None, "problem": problem}


# A HistoryEntry as JSON has it.
def _row(entry: HistoryEntry) -> dict[str, Any]:
    row = asdict(entry)
    row["agents"] = list(entry.agents)  # a table shows lists with commas
    row["authored_at"] = iso(row.pop("authored_ts"))
    return row


def _archive_path(context: CliContext, key: str) -> Path:
    with open_gateway(context) as gateway:
        found = gateway.read(resource_uri("project", key))
    path = context.storage_root / PROJECTS_FOLDER / _slug(found)
    if not path.is_dir():
        raise NoServer(
            f"The archive of {found['human_key']} is not on this machine: {path} does not exist.",
            hint="Run this where the server's STORAGE_ROOT is; `am status` says whether the archive has caught up.",
        )
    return path
