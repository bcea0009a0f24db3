"""The names that agents go by at doors: what each door takes, by what they are compared, and who may speak as one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import SYSTEM

MAX_WIRE_NAME = 128
"""Characters."""

_SHOWN = 100
_MAX_ADDRESS = 512
_MAX_KEY = 8 * MAX_WIRE_NAME
"""Of one letter several may be made."""
# What Unicode calls default-ignorable, assigned or not, and blanks that it counts as symbols and letters.
_UNSEEN = frozenset(
    {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2065", "\u2800", "\u3164", "\uffa0"}
    | {"\U00013441", "\U00013442", "\U00016fe4", "\U0001d159"}
    | {chr(one) for one in (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9))}
    | {chr(one) for one in range(0xE0000, 0xE1000)}
)
# Controls, halves of surrogates, what breaks a line, and what turns the direction of the text that stands beside it.
_UNPRINTED = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Door(StrEnum):
    """The system whose users come in by it."""

    POSTAL = "postal"
    AGENTMAIL = "agentmail"
    CLAUDE_MAILBOX = "claude-mailbox"


CLAIMS_DOOR = "claims"
"""The profile of that name: a way in for another system's users too, who are agents as all others here."""


class UnfitWireName(InvalidInput):
    """What was written is no name at this door."""


class NameOfNoProject(UnfitWireName):
    """At postal: `Name@project` where there is no such project."""


class UnknownWireName(NotFound):
    """No door knows the name."""


class AmbiguousCorrespondent(InvalidInput):
    """Several agents of other projects that have written to the speaker go by the name."""


class TooManyNames(Conflict):
    """Doors know the agent by as many names as may be."""


class MailboxLimit(Conflict):
    """FACADES_MAILBOXES_MAX: a project has as many mailboxes of doors as it may."""


class NameOwnedElsewhere(Conflict):
    """Callers of another door, or agents with a token, speak as this name."""


class DoorNotLinked(PermissionDenied):
    """AGENT_AUTH=strict: the name is an agent's of this server, and the operator has not linked it with the door."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireName:
    """A name that doors know an agent by. Without an `owner` nobody of a door has spoken as it yet; `linked` are the
    doors that the operator let speak as it besides.
    """

    id: int
    project_id: ProjectId
    agent_id: AgentId
    name: str
    owner: Door | None
    linked: frozenset[Door]
    created_ts: Micros


def plain_name(name: str) -> str:
    """As it looks: without what nobody sees, in the letters that other forms of them stand for."""
    if name.isascii():
        return name.strip()
    seen = "".join(one for one in name if unicodedata.category(one) != "Cf" and one not in _UNSEEN)
    return unicodedata.normalize("NFKC", seen).strip()


def wire_key(name: str) -> str:
    """What wire names are compared by: letter case, outer blanks, what nobody sees, and the way in which letters and
    accents are written are ignored. For names of the native form it is their `name_key`.
    """
    folded = unicodedata.normalize("NFD", plain_name(name)).casefold()
    return unicodedata.normalize("NFKC", folded)


_SYSTEM_KEY = wire_key(SYSTEM)


def second_name(name: str, system: str) -> str:
    """What an import calls one of another system whose name somebody has: `eve-postal`."""
    return f"{name.strip()}-{system}"


def require_wire_name(door: Door, name: str) -> str:
    """The name as it is kept. Raises UnfitWireName.

    At postal it is letters, digits, `-` and `_`. Elsewhere it is any line of text: window names, and what a header may
    hold; blanks around it are no part of it. Nobody is called as the server itself is.
    """
    kept = name if door is Door.POSTAL else name.strip()
    is_fit = _is_url_word(kept) if door is Door.POSTAL else _is_line(kept)
    is_servers = wire_key(kept) == _SYSTEM_KEY
    if 0 < len(kept) <= MAX_WIRE_NAME and is_fit and 0 < len(wire_key(kept)) <= _MAX_KEY and not is_servers:
        return kept
    form = "letters, digits, - and _" if door is Door.POSTAL else "characters of one line"
    raise UnfitWireName(
        "Invalid agent name.",
        hint=f"{SYSTEM} is the server's own sender." if is_servers else f"A name has 1 to {MAX_WIRE_NAME} {form}.",
        data={"parameter": "name", "name": _printed(name), "door": door.value, "max_length": MAX_WIRE_NAME},
    )


def recipient_as_written(door: Door, name: str) -> str:
    """Whom a door's caller writes to: a name, or `Name@project` as doors show agents of other projects, also where no
    name has an `@`. Raises UnfitWireName.
    """
    kept = name.strip()
    if door is Door.POSTAL and "@" in kept and len(kept) <= _MAX_ADDRESS and _is_line(kept):
        return kept
    return require_wire_name(door, name)


def is_wire_name(name: str) -> bool:
    """Whether some door takes it, as it stands: what is kept of names."""
    is_seen = 0 < len(name) <= MAX_WIRE_NAME and plain_name(name) != ""
    return is_seen and name == name.strip() and _is_line(name)


def _is_url_word(name: str) -> bool:
    return all(one.isalnum() or one in "-_" for one in name)


def _is_line(name: str) -> bool:
    return all(unicodedata.category(one) not in _UNPRINTED and one not in _TURNING for one in name)


def _printed(name: str) -> str:
    return name[:_SHOWN].encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWay:
    """What who may not speak as a name can do instead: `project` is the slug of the name's, `own` what that of the
    door's mailboxes there is called that an import found under the same name.
    """

    project: str
    own: str | None = None


def require_to_speak(
    door: Door, known: WireName, *, is_unspoken: bool, auth: AgentAuth, other_way: Callable[[], OtherWay]
) -> bool:
    """May a caller of the door speak as the name? True where it is the door's own by that from now on. Raises
    NameOwnedElsewhere and DoorNotLinked, with what `other_way` finds.

    A mailbox that a door has made for mail and that nobody has spoken as is the first one's. Any other agent that no
    door owns is a native one: under `open` any door is taken at its word, as any caller is; under `strict` only one
    that is linked.
    """
    if known.owner is door or door in known.linked:
        return False
    if known.owner is not None:
        raise NameOwnedElsewhere(
            f"{known.name} is a name of {known.owner.value}: only its callers speak as it.",
            hint=_told(other_way(), known.name, door),
            data={"name": known.name, "owner": known.owner.value, "door": door.value},
        )
    if is_unspoken:
        return True
    if auth is AgentAuth.STRICT:
        raise DoorNotLinked(
            f"{known.name} is an agent of this server (AGENT_AUTH=strict): no door speaks as it unasked.",
            hint=_told(other_way(), known.name, door),
            data={"name": known.name, "door": door.value},
        )
    return False


def require_place(name: str, project: str, *, made: int, limit: int) -> None:
    """May one more mailbox come in by a door, into the project of this slug that has so many? Raises MailboxLimit."""
    if made >= limit:
        raise MailboxLimit(
            f"Nobody is called {name!r:.100}, and no mailbox can be made: there are {made} (FACADES_MAILBOXES_MAX).",
            hint="Nothing was stored. Use a name that is there, or let the operator raise FACADES_MAILBOXES_MAX, or "
            f"retire some: am agents retire NAME --project {project}",
            data={"name": name[:100], "limit": limit},
        )


def _told(other: OtherWay, name: str, door: Door) -> str:
    """The command stands last and means the same wherever it is run."""
    instead = "Use another name." if other.own is None else f"{other.own} is {door.value}'s: call by that."
    command = _link(name, door, other.project)
    return f"{instead} To let {door.value} read and send as {name}, with all its mail, let the operator run: {command}"


def _link(name: str, door: Door, project: str) -> str:
    quoted = name if _is_url_word(name) and name.isascii() else "'" + name.replace("'", "'\\''") + "'"
    if name.startswith("-"):
        return f"am facade link --project {project} -- {quoted} {door.value}"
    return f"am facade link {quoted} {door.value} --project {project}"


def doors_of(name: WireName) -> list[Door | None]:
    """The doors whose callers speak as the name, its owner first; None alone where there is none yet."""
    linked = sorted(name.linked - {name.owner})
    return [*([] if name.owner is None and linked else [name.owner]), *linked]


def shown_to(door: Door, names: Collection[WireName]) -> str | None:
    """Of the names of one agent that which the door shows: its own, else one that is linked, else the oldest. None
    where it has none.
    """

    def rank(one: WireName) -> tuple[bool, bool, int]:
        return (one.owner is not door, door not in one.linked, one.id)

    return min(names, key=rank).name if names else None
