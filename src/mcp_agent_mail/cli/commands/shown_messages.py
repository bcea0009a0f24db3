"""How a person sees one message: its head, its text, and what it carries with the command that saves it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from mcp_agent_mail.cli.output import Row, is_terminal, print_fields, print_text, time_of
from mcp_agent_mail.cli.row_flags import mail_flags
from mcp_agent_mail.core.escaping import written_on_one_line

Field = tuple[str, object]


def print_message(message: Row, place: str | None = None) -> None:
    """With its body. `place`: the project to name in commands; None where one stands in it."""
    print_fields(
        [
            ("id", message["id"]),
            ("from", message["from"]),
            ("to", message.get("to")),
            ("cc", message.get("cc")),
            ("sent", time_of(message["created_ts"])),
            ("thread", message["thread_id"]),
            ("topic", message["topic"]),
            ("flags", mail_flags(message)),
            *_terms(message),
            *_ends(message),
            ("subject", message["subject"]),
            *_attached(message, place),
        ]
    )
    print_text("")
    body = message.get("body_md")
    print_text("(too long to show here; read it alone: am mail read ID)" if body is None else body.rstrip("\n"))
    if is_terminal():
        print_text("-" * 20)


# Plain JSON, as the server answers a send.
def print_sent(answer: dict[str, Any]) -> None:
    """One `to` line per project that it was delivered in; what was stored along with it, and what was not."""
    deliveries = answer["deliveries"]
    first = deliveries[0]["payload"]
    fields: list[Field] = [("id", first["id"]), ("from", first["from"])]
    for delivery in deliveries:
        payload = delivery["payload"]
        names = ", ".join([*payload["to"], *payload["cc"], *payload["bcc"]])
        fields.append(("to", names if len(deliveries) == 1 else f"{names} in {delivery['project']}"))
    print_fields(
        [
            *fields,
            ("subject", first["subject"]),
            ("thread", first["thread_id"]),
            *_terms(first),
            *(("attached", _facts(one)) for one in first.get("attachments", ())),
            *(("not attached", f"{one['target']}: {one['reason']}") for one in answer.get("images_left", ())),
        ]
    )


def _terms(message: Row) -> Iterator[Field]:
    """What its sender said of how long it holds, as the instant that it stands for; nothing of one without terms."""
    if "valid_until" in message:
        yield "valid until", time_of(message["valid_until"])
    if "supersedes" in message:
        yield "supersedes", message["supersedes"]


def _ends(message: Row) -> Iterator[Field]:
    if "superseded_by" in message:
        yield "superseded by", message["superseded_by"]
    if "withdrawn_at" in message:
        yield "withdrawn", time_of(message["withdrawn_at"])
        yield "reason", message.get("withdrawn_reason")


def _attached(message: Row, place: str | None) -> Iterator[Field]:
    project = "" if place is None else f" --project {_word(place, 'PROJECT')}"
    for one in message.get("attachments") or ():
        yield "attached", f"{_facts(one)}: am mail attachment {one['sha256']} -o {_file_name(one['name'])}{project}"


def _facts(attachment: Row) -> str:
    size = f"{attachment['name']}, {attachment['media_type']}, {attachment['bytes']:,} bytes"
    return f"{size}, sha256 {attachment['sha256']}"


def _file_name(name: str) -> str:
    """A name that comes from a peer, as a file of the folder where one stands: never an option, or standard output."""
    return _word(f"./{name}" if name.startswith(("-", "~")) else name, "FILE")


def _word(text: str, otherwise: str) -> str:
    """As a shell takes it; `otherwise` for what would not stand in the line as it is."""
    return shlex.quote(text) if written_on_one_line(text) == text else otherwise
