"""What the holder of reservations is told by `System` when it lost them without its own doing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.features.identity.system_mail import SystemNotice
from mcp_agent_mail.features.reservations.staleness import Assessment

_GO_ON = "Before you go on there, reserve again with file_reservation_paths: somebody else may hold it by then."


def idle_notice(lost: Sequence[Assessment]) -> SystemNotice:
    """For a holder: which of its reservations the sweeper released, on what evidence, and how to go on."""
    what = _subject(lost)
    body = ["You seemed idle, so what you held was released; others may take it.", "", *map(_line, lost), "", _GO_ON]
    return SystemNotice(subject=f"{what} released: you seemed idle", body_md="\n".join(body))


def forced_notice(lost: Assessment, by: Agent, note: str) -> SystemNotice:
    """For the holder whose reservation `by` released by force: the evidence, and the note, each of its lines quoted;
    nothing of a blank note.
    """
    body = [f"{by.name} released what you held, because you seemed idle.", "", _line(lost), ""]
    if note.strip():
        body += ["The note:", "", *(f"> {line}" for line in note.strip().splitlines()), ""]
    return SystemNotice(subject=f"{_subject([lost])} released by {by.name}", body_md="\n".join([*body, _GO_ON]))


def _subject(lost: Sequence[Assessment]) -> str:
    return f"Reservation {lost[0].lease.id}" if len(lost) == 1 else f"{len(lost)} reservations"


def _line(one: Assessment) -> str:
    lease = one.lease
    kind = "exclusive" if lease.exclusive else "shared"
    return (
        f"- {_code(lease.path_pattern)} (id {lease.id}, {kind}, was to last until {iso(lease.expires_ts)}): "
        f"{', '.join(one.judgement.reasons)}; last call {iso(one.evidence.agent_ts)}"
    )


def _code(text: str) -> str:
    """As code between more backticks than it holds in a row: a pattern is not read as Markdown."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
