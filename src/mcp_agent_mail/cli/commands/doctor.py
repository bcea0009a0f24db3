"""`am doctor`: is everything as it should be, and the way back where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import typer

from mcp_agent_mail.cli.commands.backups import backup, backups, repair, restore
from mcp_agent_mail.cli.commands.recovery import rebuild
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import JsonFlag, is_terminal, print_fields, print_json, print_text
from mcp_agent_mail.cli.progress import progress_bars

if TYPE_CHECKING:
    from mcp_agent_mail.features.doctor.verify import VerifyReport

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Check the store; back up, restore, repair or rebuild it.",
)


@app.callback()
def doctor() -> None:
    """Check the store; back up, restore, repair or rebuild it."""


@app.command("check", cls=LeanCommand)
def check(json: JsonFlag = False) -> int:
    """Look at everything once and give one verdict.

    Owner of the lock (a running server is asked to write and read), permissions, disk space, the
    database with its references and search index, the outbox, each archive (whose it is, whether it
    holds what it should, git fsck), and whether attachments are there. Changes nothing, with or
    without a server. Exit codes: 0 well, 1 findings, 69 no store. `am doctor verify` compares every file byte for byte.
    """
    from mcp_agent_mail.cli.offline.check import check_around

    context, checks = load_context(), []
    with progress_bars() as bars:
        for checked in check_around(context, bars.bar("checking archives")):
            checks.append(asdict(checked))
            if not json:
                with bars.hidden():
                    _print_checked(checks[-1])
    findings = [finding for one in checks for finding in one["findings"]]
    if json:
        print_json({"well": not findings, "findings": findings, "checks": checks})
    else:
        print_fields([("verdict", "well" if not findings else f"{len(findings)} findings")])
    return ExitCode.FINDINGS if findings else ExitCode.DONE


# A Checked as JSON has it.
def _print_checked(checked: dict[str, Any]) -> None:
    if not checked["findings"]:
        print_text(f"ok: {checked['check']}: {checked['evidence']}" if is_terminal() else _cells("ok", checked))
    _print_findings(checked["findings"])


def _cells(first: str, checked: dict[str, Any]) -> str:
    return "\t".join([first, checked["check"], " ".join(checked["evidence"].split())])


@app.command("verify", cls=LeanCommand)
def verify(json: JsonFlag = False) -> int:
    """Compare the archives with the store, byte for byte.

    Renders every artifact again from the store and compares it with Git and the work tree; checks
    the database, its references and the search index. Changes nothing, also beside a running
    server. What Git has yet to catch up with is no finding. Exit codes: 0 clean, 1 findings, 69 no store.
    """
    context = load_context()
    context.require_store()
    report = _verify(context)
    if json:
        print_json({"clean": report.is_clean, **asdict(report)})
    else:
        _print_report(report)
    return ExitCode.DONE if report.is_clean else ExitCode.FINDINGS


def _verify(context: CliContext) -> VerifyReport:
    # The services of the archive: 0.1 s.
    from mcp_agent_mail.cli.offline.served_files import require_served_files
    from mcp_agent_mail.cli.offline.store_lock import told_without_room
    from mcp_agent_mail.features.doctor.verify import VerifyReport, verify_archives
    from mcp_agent_mail.features.doctor.verify_store import says_nothing, verify_store

    require_served_files(context)
    database_path = context.settings.database_path
    with told_without_room(context.settings), progress_bars() as bars:
        of_store = verify_store(database_path)
        if says_nothing(of_store):
            return VerifyReport(
                projects=0, files=0, pending_events=0, findings=tuple(of_store), finding_count=len(of_store)
            )
        report = verify_archives(
            context.storage_root,
            database_path,
            progress=bars.bar("rendering messages"),
            comparing=bars.bar("comparing files"),
        )
    return replace(report, findings=(*of_store, *report.findings), finding_count=len(of_store) + report.finding_count)


def _print_report(report: VerifyReport) -> None:
    _print_findings([asdict(finding) for finding in report.findings])
    if report.finding_count > len(report.findings):
        print_text(f"... and {report.finding_count - len(report.findings)} more.\n")
    print_fields(
        [
            ("result", "clean" if report.is_clean else f"{report.finding_count} findings"),
            ("projects", report.projects),
            ("files compared", report.files),
            ("pending", f"{report.pending_events} events for Git"),
        ]
    )


# Findings as JSON has them.
def _print_findings(findings: Sequence[dict[str, Any]]) -> None:
    """Where several in a row have one next step, a person is told it once, after the last."""
    for finding, following in zip_longest(findings, findings[1:]):
        _print_finding(finding, has_step=following is None or following["next_step"] != finding["next_step"])


# Likewise.
def _print_finding(finding: dict[str, Any], *, has_step: bool) -> None:
    """On a terminal a paragraph, piped one line of cells."""
    if is_terminal():
        where = " ".join(part for part in (finding["project"], finding["path"]) if part)
        print_text(f"{finding['check']}: {finding['problem']}: {where or 'the store'}")
        print_text(f"  evidence: {finding['evidence']}")
        if has_step:
            print_text(f"  next:     {finding['next_step']}\n")
    else:
        cells = [str(finding[name] or "") for name in ("check", "problem", "project", "path", "evidence", "next_step")]
        print_text("\t".join(["finding", *(" ".join(cell.split()) for cell in cells)]))


app.command("backup", cls=LeanCommand)(backup)
app.command("backups", cls=LeanCommand)(backups)
app.command("restore", cls=LeanCommand)(restore)
app.command("repair", cls=LeanCommand)(repair)
app.command("rebuild", cls=LeanCommand)(rebuild)
