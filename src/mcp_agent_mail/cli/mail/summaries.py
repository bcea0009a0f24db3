"""`am mail summary`: what a thread, or a project's newest mail, comes to; and how any summary is shown."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from typing import Annotated

import typer

from mcp_agent_mail.cli.arguments import UsageMistake
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.gateway.port import open_gateway
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.mail.meant_threads import thread_in
from mcp_agent_mail.cli.output import JsonFlag, Row, print_fields, print_gap, print_json, print_text, time_of
from mcp_agent_mail.cli.project_option import ProjectOption, project_key

app = typer.Typer()

_LISTS = ("key_points", "decisions", "action_items", "open_questions", "code_references")
_MOST_HOURS = 87_600
_USUAL_HOURS = 24

NoLlmFlag = Annotated[bool, typer.Option("--no-llm", help="As it stands in the mail, without a language model.")]


@app.command("summary", cls=LeanCommand)
def summary(
    thread_id: Annotated[
        str | None,
        typer.Argument(
            metavar="THREAD",
            help="Of this thread, or of a message's; else of the project's newest mail.",
        ),
    ] = None,
    hours: Annotated[
        int | None,
        typer.Option(
            "--hours", metavar="N", min=1, max=_MOST_HOURS, help="The last N hours of the project's; else 24."
        ),
    ] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Those of the project that were made in that time.")] = False,
    no_llm: NoLlmFlag = False,
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Summarize a thread, or a project's newest mail.

    Who took part, what was decided, what is open. A project's summary is stored, and made anew only when there is newer
    mail; --stored makes none.
    """
    if thread_id is not None and (stored or hours is not None):
        raise UsageMistake("--hours and --stored are of a project's summary, and THREAD is given.")
    context = load_context()
    home = {"project_key": project_key(project, context)}
    since = {**home, "since_hours": hours or _USUAL_HOURS}
    with open_gateway(context) as gateway:
        if thread_id is not None:
            meant = ",".join(thread_in(gateway, one.strip(), home["project_key"]) for one in thread_id.split(","))
            answer = gateway.call("summarize_thread", {**home, "thread_id": meant, "llm_mode": not no_llm})
        elif stored:
            answer = gateway.call("fetch_summary", since)
        else:
            answer = gateway.call("summarize_recent", {**since, "llm_mode": not no_llm})
    if json:
        print_json(answer)
    elif thread_id is not None:
        print_thread_summary(answer)
    else:
        _print_digests(answer if stored else [answer])


def print_thread_summary(answer: Row) -> None:
    """Of one thread, or of several that were asked for with commas between them."""
    for one in answer.get("threads", [answer]):
        print_summary(one["summary"], [("thread", one["thread_id"]), ("llm_error", answer.get("llm_error"))])


def print_summary(summed: Row, head: list[tuple[str, object]]) -> None:
    """Its facts, and a line for each thing that was said; `head` comes first."""
    print_fields(
        [
            *head,
            ("messages", summed.get("total_messages")),
            ("participants", summed.get("participants") or None),
            ("actions", f"{summed.get('open_actions', 0)} open, {summed.get('done_actions', 0)} done"),
            *_said(summed),
        ]
    )
    print_gap()


def _said(summed: Row) -> Iterator[tuple[str, object]]:
    for name in _LISTS:
        for one in summed.get(name) or ():
            yield name.removesuffix("s").replace("_", " "), one


def _print_digests(digests: list[Row]) -> None:
    if not digests:
        print_text("No summary was stored in that time.")
    for digest in digests:
        head = [
            ("from", time_of(digest["start_ts"])),
            ("to", time_of(digest["end_ts"])),
            ("made", time_of(digest["created_ts"])),
            ("model", digest["llm_model"]),
            ("llm_error", digest.get("llm_error")),
        ]
        print_summary(json_format.loads(digest["summary_text"]), head)
