"""What a client's contract makes of our server and hooks: the files, and what each should hold."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from mcp_agent_mail.clients.contracts.reader import CLIENTS, SERVER, Contract, read_contract
from mcp_agent_mail.clients.setup.edits.whole_files import MARK
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.wishes import (
    EntryWish,
    FileFormat,
    FileWish,
    HookWish,
    IgnoredFile,
    Json,
    Part,
    Scope,
)
from mcp_agent_mail.core.lazy.dataclass import dataclass

_TOKEN_VARIABLE = "AGENT_MAIL_TOKEN"
_TRANSPORTS = ("command", "args", "env", "environment", "cwd", "url", "httpUrl", "serverUrl", "type")
"""What an entry by our name may say of another way to a server: two ways in one entry contradict each other."""
_PLUGINS = {"opencode": "opencode.js", "amp": "amp.js"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSettings:
    """`am` is the absolute path that hooks run; `url` is that of MCP. With a token, clients refer to its variable."""

    am: str
    url: str
    has_token: bool


def wishes_of(client: str, settings: SetupSettings, around: Surroundings, project: Path | None) -> list[FileWish]:
    """The user's files of a client; with `project` that project's instead. Without those, nothing."""
    contract = read_contract(client)
    scope = Scope.PROJECT if project is not None else Scope.USER
    found: list[FileWish] = []
    for part in Part:
        row = contract["files"][part][scope]
        if row is None:
            continue

        def located(written: str) -> Path:
            return around.user_path(client, written) if project is None else project / written

        path = located(row["path"])
        hides = [_hidden(hidden, located(hidden["path"]), path) for hidden in row.get("hides", ())]
        made = _mcp if part is Part.MCP else _hooks
        found += made(contract, row, _Place(path=path, scope=scope, hides=hides), settings)
    return found


def _hidden(row: Contract, path: Path, by: Path) -> IgnoredFile:
    step = row["step"].replace("{path}", str(by))
    return IgnoredFile(path=path, keys=row["keys"], reason=row["reason"], step=step)


def lacks_token_reference(contract: Contract) -> bool:
    """Whether the client knows no way to name a variable, so that a person has to write the token."""
    return contract["token"]["reference"] is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    path: Path
    scope: Scope
    hides: Sequence[IgnoredFile]


def _mcp(contract: Contract, row: Contract, place: _Place, settings: SetupSettings) -> Iterator[FileWish]:
    reference = contract["token"]["reference"] if settings.has_token else None
    value = _filled(row["entry"], {"{url}": settings.url, "{token}": reference})
    yield FileWish(
        client=contract["client"],
        part=Part.MCP,
        scope=place.scope,
        path=place.path,
        file_format=FileFormat.TOML if row["format"] == "toml" else FileFormat.JSON,
        entries=[
            EntryWish(
                path=[*row["keys"], SERVER],
                value=value,
                drop=[t for t in _TRANSPORTS if t not in value],
                at_most=_shared(row, settings) if place.scope is Scope.PROJECT else None,
                free=row["free"] if place.scope is Scope.USER else _shared_free(row),
            )
        ],
        hides=place.hides,
    )


def _shared(row: Contract, settings: SetupSettings) -> dict[str, Json]:
    """What the entry of a project may hold: what any client wishes for that reads the same one, with a token too,
    since others of the project may have one.
    """
    found: dict[str, Json] = {}
    for contract, other in _sharing(row):
        reference = contract["token"]["reference"]
        found = {**_filled(other["entry"], {"{url}": settings.url, "{token}": reference}), **found}
    return found


def _shared_free(row: Contract) -> dict[str, str]:
    """What one client leaves to a person, no other that reads the same entry takes away."""
    return {name: kind for _, other in _sharing(row) for name, kind in other["free"].items()}


def _sharing(row: Contract) -> Iterator[tuple[Contract, Contract]]:
    """The contracts whose entry in a project is this one, each with its row."""
    for client in CLIENTS:
        contract = read_contract(client)
        other = contract["files"][Part.MCP][Scope.PROJECT]
        if other is not None and (other["path"], other["keys"]) == (row["path"], row["keys"]):
            yield contract, other


def _filled(template: Json, values: Mapping[str, str | None]) -> Json:
    """The template with its placeholders filled; what would hold one without a value is left out."""
    if isinstance(template, dict):
        filled = {name: _filled(inner, values) for name, inner in template.items()}
        return {name: inner for name, inner in filled.items() if inner is not None} or None
    if template == _TOKEN_VARIABLE:
        return template if values["{token}"] is not None else None
    if isinstance(template, str):
        for placeholder, value in values.items():
            if placeholder in template and value is None:
                return None
            template = template.replace(placeholder, value or "")
    return template


def _hooks(contract: Contract, row: Contract, place: _Place, settings: SetupSettings) -> Iterator[FileWish]:
    client, shape = contract["client"], row["shape"]
    if shape == "plugin":
        yield _whole_file(client, place.path, place.scope, plugin_text(client, settings.am))
        return
    installed = {name: event["install"] for name, event in contract["events"].items() if event["install"] is not None}
    if shape == "executable":
        for event in installed:
            text = f"#!/bin/sh\n# {MARK}.\nexec {_command(settings.am, client, event)}\n"
            yield _whole_file(client, place.path / event, place.scope, text, is_executable=True)
        return
    yield FileWish(
        client=client,
        part=Part.HOOKS,
        scope=place.scope,
        path=place.path,
        file_format=FileFormat.JSON,
        entries=[EntryWish(path=["version"], value=1, is_scaffold=True)] if shape in _VERSIONED else [],
        hooks=[
            HookWish(
                path=[*row["keys"], event],
                mark=f"hook {client} {event}",
                item=_ITEMS[shape](_command(settings.am, client, event), install),
            )
            for event, install in installed.items()
        ]
        + _waking(contract, row, settings.am),
        hides=place.hides,
    )


def _waking(contract: Contract, row: Contract, am: str) -> list[HookWish]:
    """The watcher of idle sessions, where the client starts one out of its hooks."""
    client, event, install = contract["client"], contract["wake"]["event"], contract["wake"]["install"]
    if install is None:
        return []
    command = _command(am, client, watching(event))
    mark = f"hook {client} {watching(event)}"
    return [HookWish(path=[*row["keys"], event], mark=mark, item=_handler_alone(command, install))]


def watching(event: str) -> str:
    """How a command line says that a run at this event is the watcher's."""
    return f"{event} --wake"


def plugin_text(client: str, am: str) -> str:
    """The plugin of a client that loads one, with the `am` that it runs."""
    source = resources.files("mcp_agent_mail.clients.setup.plugins").joinpath(_PLUGINS[client]).read_text("utf-8")
    return source.replace('"{am}"', json.dumps(am)).replace("{mark}", MARK)


def _whole_file(client: str, path: Path, scope: Scope, text: str, *, is_executable: bool = False) -> FileWish:
    return FileWish(
        client=client,
        part=Part.HOOKS,
        scope=scope,
        path=path,
        file_format=FileFormat.FILE,
        content=text,
        is_executable=is_executable,
    )


def _command(am: str, client: str, event: str) -> str:
    """The command line of a hook. It never changes with our version: Codex would ask for trust again."""
    return f"{shlex.quote(am)} hook {client} {event}"


# --- The shapes in which clients write a hook ---------------------------------------------------------------------

_VERSIONED = ("cursor", "copilot")


def _grouped(command: str, install: Contract, **more: Json) -> Json:
    handler = {**more, "type": "command", "command": command, **_unless_none(timeout=install["timeout"])}
    return {**_unless_none(matcher=install["matcher"]), "hooks": [handler]}


def _handler_alone(command: str, install: Contract) -> Json:
    """A group of one, with the keys that the contract gives it."""
    return {"hooks": [{"type": "command", "command": command, **install}]}


def _of_gemini(command: str, install: Contract) -> Json:
    return _grouped(command, install, name=SERVER)


def _of_cursor(command: str, install: Contract) -> Json:
    return {"command": command, **_unless_none(timeout=install["timeout"], matcher=install["matcher"])}


def _of_copilot(command: str, install: Contract) -> Json:
    found = _unless_none(timeoutSec=install["timeout"], matcher=install["matcher"])
    return {"type": "command", "bash": command, **found}


def _of_windsurf(command: str, _: Contract) -> Json:
    return {"command": command, "show_output": False}


def _unless_none(**values: Json) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


_ITEMS = {
    "claude": _grouped,
    "droid": _grouped,
    "gemini": _of_gemini,
    "cursor": _of_cursor,
    "copilot": _of_copilot,
    "windsurf": _of_windsurf,
}
