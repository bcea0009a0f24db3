"""Steps of doors: mail by names of theirs, with ids of theirs, taken one after the other; links of the operator."""

from __future__ import annotations

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.results import Popped
from tests.rebuild.history import LATE, History, Step

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
WIRE_NAMES = {
    Door.POSTAL: ("bob", "Alice-1", "名前"),
    Door.AGENTMAIL: ("gemini", "win dow: 2"),
    Door.CLAUDE_MAILBOX: ("claude-code", "o'brien"),
}
"""By whose callers mostly speak as them; anybody writes to any."""
WORDS = ("hi", "", "\n\nzweite Zeile\n", "計画は明日です。", "---\n{\n}\n---\n", "tab\tand\x1fmore", "long line " * 40)
IDS = ("m-1", "m-2", "größe", "0", "x" * 256)


def _door(history: History) -> Door:
    return history.chance.choice(list(Door))


def _project(history: History) -> str | None:
    """Most doors know none."""
    return None if history.luck(0.6) else history.project()


def _caller(history: History) -> DoorCaller:
    """By a name of the door's own mostly; now and then by another's, or by a native one."""
    project, door = _project(history), _door(history)
    name = _name(history, project, door if history.luck(0.9) else _door(history))
    return DoorCaller(door=door, name=name, project_key=project)


def _name(history: History, project: str | None, door: Door) -> str:
    name = history.chance.choice(WIRE_NAMES[door])
    if project is None:
        return name
    return f"Late-{name}" if LATE in project else history.name_in(project) if history.luck(0.4) else name


async def send(history: History) -> None:
    caller = _caller(history)
    external_id = history.chance.choice(IDS) if history.luck(0.4) else None
    body = history.chance.choice(WORDS)
    to = _name(history, caller.project_key, caller.door if history.luck(0.6) else _door(history))
    doors = history.world.services.doors
    await history.act("door_send", doors.send(caller, to, body, external_id=external_id))


async def answer(history: History) -> None:
    """By the same id, for ever to and fro."""
    row = history.some(
        "SELECT w.door, w.external_id, n.name, s.name, p.slug FROM wire_ids w "
        "JOIN recipients r ON r.message_id = w.message_id AND r.agent_id = w.recipient_id AND r.read_ts IS NOT NULL "
        "JOIN wire_names n ON n.agent_id = w.recipient_id JOIN wire_names s ON s.agent_id = w.sender_id "
        "JOIN projects p ON p.id = n.project_id ORDER BY w.message_id, n.id, s.id"
    )
    if row is not None:
        door, external_id, name, to, project = row
        caller = DoorCaller(door=Door(door), name=name, project_key=project)
        doors = history.world.services.doors
        await history.act("door_answer", doors.send(caller, to, "again", external_id=external_id))


async def take(history: History) -> None:
    """Settled mostly; else given back, or left to whatever comes."""
    caller = _caller(history)
    if (row := _waiting(history)) is not None and history.luck(0.7):
        name, owner, project = row
        caller = DoorCaller(door=_door(history) if owner is None else Door(owner), name=name, project_key=project)
    await history.act("door_pop", _take(history, caller))


def _waiting(history: History) -> tuple[str, str | None, str] | None:
    """A mailbox with mail: its name, its owner, its project."""
    found: tuple[str, str | None, str] | None = history.some(
        "SELECT n.name, n.owner, p.slug FROM wire_names n JOIN agents a ON a.id = n.agent_id "
        "JOIN projects p ON p.id = n.project_id WHERE a.unread_count > 0 ORDER BY n.id"
    )
    return found


async def _take(history: History, caller: DoorCaller) -> None:
    doors = history.world.services.doors
    popped: Popped | None = await doors.pop(caller, wait_s=0)
    if popped is None or history.luck(0.1):
        return
    await (doors.settle(popped) if history.luck(0.8) else doors.give_back(popped))


async def link(history: History) -> None:
    """Or take a link back."""
    known = history.some("SELECT name FROM wire_names ORDER BY id")
    name = known[0] if known is not None and history.luck(0.8) else history.chance.choice(WIRE_NAMES[_door(history)])
    doors = history.world.services.doors
    change = doors.link if history.luck(0.7) else doors.unlink
    await history.act("door_link", change(OPERATOR, name, _door(history)))


async def rename(history: History) -> None:
    """To a name that is free, mostly, or one that a rename has left."""
    caller = _caller(history)
    caller = DoorCaller(door=Door.CLAUDE_MAILBOX, name=caller.name, project_key=caller.project_key)
    owned = history.some(
        "SELECT n.name, p.slug FROM wire_names n JOIN projects p ON p.id = n.project_id "
        "WHERE n.owner = 'claude-mailbox' ORDER BY n.id"
    )
    if owned is not None:
        caller = DoorCaller(door=Door.CLAUDE_MAILBOX, name=owned[0], project_key=owned[1])
    to = history.chance.choice((*WIRE_NAMES[Door.CLAUDE_MAILBOX], "another", "third one"))
    await history.act("door_rename", history.world.services.mailboxes.rename(caller, to))


async def begin_anew(history: History) -> None:
    """As at a start."""
    await history.act("door_start", history.world.services.doors.give_back_open())


STEPS = (
    Step(("door_send",), 14, send),
    Step(("door_answer",), 6, answer),
    Step(("door_pop",), 12, take),
    Step(("door_link",), 3, link),
    Step(("door_rename",), 3, rename),
    Step(("door_start",), 0.5, begin_anew),
)
