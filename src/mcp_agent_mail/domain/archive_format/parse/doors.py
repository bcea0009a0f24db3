"""What archives say of doors: names in profiles, ids in mail."""

from __future__ import annotations

from itertools import pairwise

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.archive_format.doors import ALIASES, EXTERNAL_ID, UNCLAIMED
from mcp_agent_mail.domain.archive_format.parse.fields import Fields, Unfit
from mcp_agent_mail.domain.doors.ids import WirePlace, is_wire_id
from mcp_agent_mail.domain.doors.names import Door, WireName, is_wire_name


def parse_aliases(fields: Fields, agent_id: int, project_id: ProjectId) -> tuple[WireName, ...]:
    """Of the agent whose profile it is; none where none stand there. Raises Unfit."""
    if not fields.has(ALIASES):
        return ()
    names = tuple(_wire_name(item, AgentId(agent_id), project_id) for item in fields.items(ALIASES))
    if not names or any(one.id >= other.id for one, other in pairwise(names)):
        raise Unfit("aliases are none, or not in their order")
    return names


def _wire_name(item: Fields, agent_id: AgentId, project_id: ProjectId) -> WireName:
    name, doors = item.text("name"), item.texts("doors")
    if not is_wire_name(name):
        raise Unfit(f"{name!r:.100} is no name at any door")
    if not all(door in Door.__members__.values() for door in doors):
        raise Unfit(f"doors cannot be {doors!r:.100}")
    return WireName(
        id=item.number("id"),
        project_id=project_id,
        agent_id=agent_id,
        name=name,
        owner=item.choice_or_none("owner", Door),
        linked=frozenset(map(Door, doors)),
        created_ts=item.time("created_ts"),
    )


def parse_unclaimed(fields: Fields) -> bool:
    """Raises Unfit."""
    if not fields.has(UNCLAIMED):
        return False
    if not fields.flag(UNCLAIMED) or not fields.has(ALIASES):
        raise Unfit(f"{UNCLAIMED} cannot be there")
    return True


def parse_external_id(fields: Fields, sender_id: AgentId) -> WirePlace | None:
    """Of the mail that this agent sent. Raises Unfit."""
    if not fields.has(EXTERNAL_ID):
        return None
    item = fields.fields(EXTERNAL_ID)
    external_id = item.text("id")
    if not is_wire_id(external_id):
        raise Unfit(f"{external_id!r:.100} is no id at any door")
    return WirePlace(
        door=item.choice("door", Door),
        external_id=external_id,
        sender_id=sender_id,
        recipient_id=AgentId(item.number("recipient_id")),
        answers=item.number("answers"),
    )
