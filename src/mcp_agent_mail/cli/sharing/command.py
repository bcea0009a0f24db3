"""`am share`: give mail away as a folder of pages that anybody can read, search and verify."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.lazy_typer import LeanCommand, LeanGroup
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json
from mcp_agent_mail.cli.progress import progress_bars
from mcp_agent_mail.features.sharing.results import SharedPreset

app = typer.Typer(
    cls=LeanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Give mail away as a folder of pages.",
)


@app.command("export", cls=LeanCommand)
def export(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Missing, empty, or a bundle of before.")],
    project: Annotated[
        list[str], typer.Option("--project", "-p", metavar="PROJECT", help="Its slug or path; may be repeated.")
    ],
    thread: Annotated[
        list[str] | None, typer.Option("--thread", metavar="THREAD", help="Only this one; may be repeated.")
    ] = None,
    preset: Annotated[
        SharedPreset, typer.Option("--preset", help="strict: no bodies, no attachments, nothing of them in the search.")
    ] = SharedPreset.STANDARD,
    sign: Annotated[
        str | None, typer.Option("--sign", metavar="KEY", help="The private key of am share keygen.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where the bundle of before loses projects or its signature.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Make a bundle: static pages of a project's mail.

    To look through, publish or send.

    Never in it: tokens, blind copies, held, withdrawn and private mail, System's notices, paths of this machine. What
    looks like a secret becomes REDACTED; read it before you publish it. A bundle of before is brought up to date, and
    what is not of it is not touched; it keeps no project that is not named again. Beside a server too.
    """
    from mcp_agent_mail.cli.sharing.bundles import export_here

    context = load_context()
    context.require_store()
    target = given_path(folder, "DIR")
    key = None if sign is None else given_path(sign, "--sign")
    with progress_bars() as bars:
        answer = export_here(
            context,
            target,
            project,
            thread or [],
            preset=preset,
            key=key,
            may_replace=replace,
            progress=bars.bar("writing messages"),
        )
    _print(answer, json=json)


@app.command("verify", cls=LeanCommand)
def verify(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A bundle.")],
    key: Annotated[str | None, typer.Option("--key", metavar="PUB", help="The public key of who made it.")] = None,
    json: JsonFlag = False,
) -> None:
    """Check every byte of a bundle, and with a key who made it.

    Without --key only that the files are those of its manifest, which anybody could have written. Get the key by
    another way than the bundle. Exit codes: 0 as it was made, 1 changed, not signed by this key, or no bundle.
    """
    from mcp_agent_mail.cli.sharing.bundles import verify_here

    _print(
        verify_here(given_path(folder, "DIR"), None if key is None else given_path(key, "--key")),
        json=json,
    )


@app.command("preview", cls=LeanCommand)
def preview(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A bundle.")],
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65_535, help="0: any that is free.")] = 0,
) -> None:
    """Serve a bundle to this machine alone, until Ctrl-C."""
    from mcp_agent_mail.cli.sharing.preview_server import serve_bundle

    serve_bundle(given_path(folder, "DIR"), port)


@app.command("keygen", cls=LeanCommand)
def keygen(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file; the public key becomes FILE.pub.")],
    json: JsonFlag = False,
) -> None:
    """Make a key to sign bundles with.

    Keep FILE for yourself, and give FILE.pub away.
    """
    from mcp_agent_mail.features.sharing.signatures import make_keys

    private = given_path(file, "FILE")
    public = make_keys(private)
    _print({"private_key": str(private.absolute()), "public_key": str(public.absolute())}, json=json)


# An answer as JSON has it.
def _print(answer: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(answer)
        return
    fields = ((name.replace("_", " "), _cell(value)) for name, value in answer.items())
    print_fields(list(fields))


# A value as JSON has it.
def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {number}" for name, number in value.items()) or "none"
    return value
