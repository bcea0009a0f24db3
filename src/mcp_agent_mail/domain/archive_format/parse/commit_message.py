"""What a commit of an archive says that its files do not: who acted, and how far the outbox had been written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from mcp_agent_mail.core.ids import MOST_NUMBER, OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.archive_format.commit_message import (
    AGENT_TRAILER,
    DID_TRAILER,
    FORCE,
    SEQ_TRAILER,
    VERSION_TRAILER,
)
from mcp_agent_mail.domain.events import EventKind

_NUMBER = lazy_pattern(r"[0-9]{1,18}")
_ACTS = frozenset({*(kind.value for kind in EventKind), FORCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedText:
    """`last_seq` is None for a commit that a person made; `version` for all but one that brings another one. `did` is
    what each agent did, by its name, where the lines do not say it; of other commits, and of earlier
    programs', empty.
    """

    subject: str
    agents: tuple[str, ...]
    last_seq: OutboxSeq | None
    version: int | None
    did: Mapping[str, frozenset[str]] = field(default_factory=dict)


def parse_commit(message: str) -> SealedText:
    """Of the last paragraph, as Git reads trailers: what stands above it is told, and may tell anything."""
    subject, _, rest = message.strip("\n").partition("\n")
    paragraph = rest.rpartition("\n\n")[2] if "\n\n" in rest else rest.strip("\n")
    trailers = [line.partition(": ")[::2] for line in paragraph.split("\n")]
    last_seq = _number_of(trailers, SEQ_TRAILER)
    return SealedText(
        subject=subject,
        agents=tuple(value for key, value in trailers if key == AGENT_TRAILER),
        last_seq=None if last_seq is None else OutboxSeq(last_seq),
        version=_number_of(trailers, VERSION_TRAILER),
        did=dict(_did(value for key, value in trailers if key == DID_TRAILER)),
    )


def _did(trailers: Iterable[str]) -> Iterable[tuple[str, frozenset[str]]]:
    """What a later program knows besides is passed over."""
    for trailer in trailers:
        name, _, said = trailer.partition(" ")
        yield name, _ACTS.intersection(said.split(", "))


def _number_of(trailers: list[tuple[str, str]], wanted: str) -> int | None:
    return number_of(next((value for key, value in trailers if key == wanted), ""))


def number_of(trailer: str) -> int | None:
    """What the value of a trailer says; None for what no commit of ours says: no number, or one above MOST_NUMBER."""
    number = int(trailer) if _NUMBER.fullmatch(trailer) else None
    return None if number is None or number > MOST_NUMBER else number
