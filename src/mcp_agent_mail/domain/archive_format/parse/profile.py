"""`agents/<Name>/profile.json`: an agent, without token and presence."""

from __future__ import annotations

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAgent
from mcp_agent_mail.domain.archive_format.doors import OPERATOR, RETIRED_BY, aliases_record, retirement_record
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.layout import profile_file, profile_path
from mcp_agent_mail.domain.archive_format.parse.doors import parse_aliases, parse_unclaimed
from mcp_agent_mail.domain.archive_format.parse.fields import Fields, Unfit, read_object, require_same


def parse_profile(content: bytes) -> ArchivedAgent:
    """Raises ValueError."""
    fields = read_object(content)
    agent_id, project_id = fields.number("id"), ProjectId(fields.number("project_id"))
    agent = ArchivedAgent(
        id=agent_id,
        project_id=project_id,
        kind=fields.choice("kind", AgentKind),
        name=fields.text("name"),
        program=fields.text("program"),
        model=fields.text("model"),
        task_description=fields.text("task_description"),
        inception_ts=fields.time("inception_ts"),
        profiled_ts=fields.time("last_active_ts"),
        retired_ts=fields.time_or_none("retired_ts"),
        contact_policy=fields.choice("contact_policy", ContactPolicy),
        attachments_policy=fields.choice("attachments_policy", AttachmentsPolicy),
        aliases=parse_aliases(fields, agent_id, project_id),
        is_unclaimed=parse_unclaimed(fields),
        retired_by_operator=_parse_retired_by(fields),
    )
    require_same(content, fields, agent_file(agent)[1], document)
    return agent


def _parse_retired_by(fields: Fields) -> bool:
    """Raises Unfit."""
    if not fields.has(RETIRED_BY):
        return False
    if fields.text(RETIRED_BY) != OPERATOR or fields.time_or_none("retired_ts") is None:
        raise Unfit(f"{RETIRED_BY} cannot be there")
    return True


def agent_file(agent: ArchivedAgent) -> tuple[str, bytes]:
    """Path and content, as rendering makes them of the same values."""
    snapshot = {
        "id": agent.id,
        "kind": agent.kind.value,
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task_description,
        "inception_ts": agent.inception_ts,
        "profiled_ts": agent.profiled_ts,
        "retired_ts": agent.retired_ts,
        "project_id": agent.project_id,
        "contact_policy": agent.contact_policy.value,
        "attachments_policy": agent.attachments_policy.value,
        **retirement_record(by_operator=agent.retired_by_operator),
        **aliases_record(agent.aliases, is_claimed=not agent.is_unclaimed),
    }
    return profile_path(agent.name), profile_file(snapshot)
