"""The command: play the story on a scratch server, tell it as it happens, say where to read it."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.demo.scratch import scratch_server
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import print_text

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_TIMEOUT_S = 120.0
_PAUSE_S = 1.2
"""Before each message: time to read, and longer than the archive's commit interval, so that each gets its commit."""


@app.command("demo", cls=LeanCommand)
def demo(
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Leave the mail behind to be read.")] = True,
    fast: Annotated[bool, typer.Option("--fast", help="Without pauses to read along.")] = False,
    macros: Annotated[bool, typer.Option("--macros", help="Eight agents in three projects, by macros alone.")] = False,
) -> None:
    """Watch two scripted agents work a task by mail on a scratch server.

    One speaks through fastmcp's MCP client, the other through the official one. Nothing of yours is
    touched: store and archive are in a new folder, which is named at the end.
    """
    folder = Path(tempfile.mkdtemp(prefix="am-demo-"))
    pause_s = 0.0 if fast else _PAUSE_S
    try:
        print_text("Starting a scratch server ...")
        with scratch_server(folder) as url:
            (_watch_team if macros else _watch_two)(folder, url, pause_s, is_kept=keep)
    finally:
        if keep:
            print_text(f"\nThe server has stopped. All it wrote is in {folder}; when done: rm -r {_quoted(folder)}")
        else:
            shutil.rmtree(folder)
            print_text(f"\nThe server has stopped. {folder} is removed.")


def _watch_two(folder: Path, url: str, pause_s: float, *, is_kept: bool) -> None:
    workspace = folder / "shop"
    workspace.mkdir()
    print_text(f"It serves at {url}/mcp. Two agents connect.\n")
    whois = _play(url, str(workspace), pause_s=pause_s)
    print_text(f"{whois['name']}'s commits in Git, newest first:\n")
    for commit in whois["recent_commits"]:
        print_text(f"  {commit['hexsha']}  {commit['summary']}")
    if is_kept:
        _say_where_to_read(folder, whois["name"])


def _watch_team(folder: Path, url: str, pause_s: float, *, is_kept: bool) -> None:
    import asyncio

    from mcp_agent_mail.cli.demo.team import TEAM, play_team

    print_text(f"It serves at {url}/mcp. Eight agents connect, and call nothing but macros.\n")
    for project in dict.fromkeys(project for project, _ in TEAM.values()):
        (folder / project).mkdir()

    async def bounded() -> list[str]:
        async with asyncio.timeout(_TIMEOUT_S):
            return await play_team(url, folder, _say, pause_s=pause_s)

    calls = asyncio.run(bounded())
    print_text(f"\n{len(calls)} calls of {len(TEAM)} agents, of {len(set(calls))} macros.")
    if not is_kept:
        return
    print_text("\nRead it in Git:\n")
    for archive in sorted(path for path in (folder / "store" / "projects").iterdir() if path.is_dir()):
        print_text(f"  git -C {_quoted(archive)} log --stat")


def _say(line: str) -> None:
    print_text(line)
    sys.stdout.flush()


def _play(url: str, project_key: str, *, pause_s: float) -> dict[str, Any]:
    # fastmcp costs a second of import: after the first line is on the screen.
    import asyncio

    from mcp_agent_mail.cli.demo.story import play

    async def bounded() -> dict[str, Any]:
        async with asyncio.timeout(_TIMEOUT_S):
            return await play(url, project_key, _tell, pause_s=pause_s)

    return asyncio.run(bounded())


def _tell(payload: Mapping[str, Any]) -> None:
    time = payload["created_ts"][11:19]
    to = ", ".join([*payload["to"], *(f"{name} (cc)" for name in payload["cc"])])
    asks = "  [asks for an acknowledgement]" if payload["ack_required"] else ""
    print_text(f"{time}  {payload['from']} -> {to}: {payload['subject']}{asks}")
    for line in payload["body_md"].splitlines():
        print_text(f"          {line}" if line else "")
    print_text("")
    sys.stdout.flush()


def _say_where_to_read(folder: Path, maker: str) -> None:
    archive = next(path for path in (folder / "store" / "projects").iterdir() if path.is_dir())
    letters = sorted((archive / "agents" / maker / "inbox").rglob("*.md"))
    print_text("\nRead it in Git:\n")
    print_text(f"  git -C {_quoted(archive)} log --stat")
    print_text(f"  cat {_quoted(letters[0])}")
    print_text("\nor as a person, with no server running:\n")
    at_store = f"STORAGE_ROOT={_quoted(folder / 'store')}"
    print_text(f"  {at_store} {_our_name()} mail thread rounding --project {_quoted(folder / 'shop')}")


def _our_name() -> str:
    """As it was typed (`.venv/bin/am`), so that the line can be copied."""
    typed = Path(sys.argv[0])
    return shlex.quote(sys.argv[0]) if typed.name in ("am", "mcp-agent-mail") else "am"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
