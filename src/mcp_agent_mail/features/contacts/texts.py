"""What contact requests and their denials say to agents. What peers wrote stands in it as a quotation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_agent_mail.features.identity.system_mail import Notice

_RETURNED_SHOWN = 25


def intro_subject(sender: str) -> str:
    return f"Contact request from {sender}"


def intro_body(sender: str, reason: str, call: Mapping[str, Any]) -> str:
    """With the very call that answers; only the recipient can make it."""
    arguments = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call["arguments"].items())
    said = f"\n\nIts reason:\n\n{quoted(reason)}" if reason.strip() else ""
    return (
        f"{sender} asks to be allowed to write to you.{said}\n\n"
        f"Approve: `{call['tool']}({arguments}, accept=true)`, which also delivers the mail that waits for you.\n"
        f"Decline: the same with `accept=false`, which returns it.\n"
    )


def returned_notice(recipient: str, returned: Sequence[tuple[int, str]]) -> Notice:
    """To the sender alone: what it wrote to `recipient` and what became of that is nobody else's."""
    lines = [f"{recipient} has declined your contact. That stands until it writes to you or approves you."]
    if returned:
        lines += ["", "Not delivered, returned to you:", ""]
        lines += [f"- message {number}: {subject}" for number, subject in returned[:_RETURNED_SHOWN]]
    return Notice(subject=f"{recipient} has declined your contact", body_md="\n".join(lines) + "\n", is_private=True)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())
