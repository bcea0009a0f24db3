"""Which project a command is about, and how that and other keys are put into a resource's URI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.port import Gateway

ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project",
        "-p",
        metavar="PROJECT",
        help="Path or slug. Else AGENT_MAIL_PROJECT, the Git top level, the current directory.",
    ),
]


def project_key(option: str | None, context: CliContext) -> str:
    """The project that a command is about: as given, as set, or where we stand."""
    if given := option or context.settings.agent_mail_project:
        return absolute_key(given, "--project" if option else "AGENT_MAIL_PROJECT")
    here = Path.cwd()
    return str(next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here))


def absolute_key(given: str, name: str = "PROJECT") -> str:
    """A path that exists from here, made absolute; anything else (a slug, a path of another machine) as it is.

    `name` is what it was given as.
    """
    path = given_path(given, name)
    if given.startswith((".", "~")) or ("/" in given and path.exists()):
        return str(path.absolute())
    return given


def resource_uri(resource: str, key: str | int, **query: str | int | bool | None) -> str:
    """`resource://inbox/BlueLake?project=%2Fcode%2Fapp`; what is None is left out."""
    return list_uri(f"{resource}/{_encoded(key)}", **query)


def list_uri(resource: str, **query: str | int | bool | None) -> str:
    """`resource://projects?limit=20`; what is None is left out."""
    pairs = [f"{name}={_encoded(value)}" for name, value in query.items() if value is not None]
    return f"resource://{resource}" + (f"?{'&'.join(pairs)}" if pairs else "")


def _encoded(value: str | float) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return quote(text, safe="")


def agents_of(gateway: Gateway, project: str) -> list[str]:
    """The names of a project's agents that are not retired, at most 1,000."""
    answer = gateway.read(resource_uri("agents", project, limit=1_000))
    return [agent["name"] for agent in answer["agents"]]
