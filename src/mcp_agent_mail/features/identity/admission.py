"""The one place where agents come into being, and where it is decided who lets them in.

Every way to a new name comes through here: registering, macros, contact requests that make their target.
"""

from __future__ import annotations

from mcp_agent_mail.core.errors import suggest_call
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, NewAgent
from mcp_agent_mail.domain.identity.admission import (
    JoinCode,
    JoinCodeRefused,
    NotAdmitted,
    ProjectAdmission,
    lets_in,
    require_open,
)
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.transaction import Tx, View


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingRules:
    """The server's rules for names that are new: which ones agents may have, and who lets them in."""

    enforcement: NameEnforcement
    admission: ProjectAdmission = ProjectAdmission.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """Who asks, for one call, to bring which new name into a project, and the rule that decides it."""

    project: Project
    caller: Caller
    admission: ProjectAdmission
    name: str | None = None


def require_admission(view: View, admission_request: AdmissionRequest) -> JoinCode | None:
    """May a new name come in? The join code that lets it in, if one came along. Raises NotAdmitted, JoinCodeRefused.

    A project is new until somebody has registered in it: names that others only spoke of lock nobody out.
    """
    given = admission_request.caller.join_code
    if given is not None:
        code = require_open(view.join_codes.find(given), view.now)
        if code.project_id != admission_request.project.id:
            raise JoinCodeRefused(
                f"The join code given is not for {admission_request.project.human_key}.",
                hint="Register in the project that it was made for; it is not used up.",
            )
        return code
    if lets_in(
        admission_request.admission, admission_request.caller, admission_request.project.id
    ) or not view.agents.has_members(admission_request.project.id):
        return None
    raise _not_admitted(admission_request)


def add_agent(tx: Tx, admission_request: AdmissionRequest, new: NewAgent) -> Agent:
    """Store a new agent; the join code that let it in is used up with it. Raises as `require_admission` does."""
    code = require_admission(tx, admission_request)
    tx.require_room()
    agent = tx.agents.add(new, tx.now)
    _use(tx, code, agent)
    return agent


def claim_agent(tx: Tx, admission_request: AdmissionRequest, agent: Agent, token_hash: bytes) -> None:
    """Give the name, which nobody has registered yet, to whoever holds this token; a join code that let it in is used
    up. Raises as `require_admission` does.
    """
    code = require_admission(tx, admission_request)
    assert not tx.agents.has_token(agent.id), agent
    tx.agents.set_token_hash(agent.id, token_hash)
    _use(tx, code, agent)


def _use(tx: Tx, code: JoinCode | None, agent: Agent) -> None:
    if code is not None:
        tx.join_codes.use(code.id, agent.id, tx.now)


def _not_admitted(admission_request: AdmissionRequest) -> NotAdmitted:
    key = admission_request.project.human_key
    by_member = "an agent of it names you in register_agent with its own registration_token and hands you yours, or "
    member = by_member if admission_request.admission is ProjectAdmission.MEMBER else ""
    return NotAdmitted(
        f"{key} lets no new name in without a word for it (PROJECT_ADMISSION={admission_request.admission.value}).",
        hint=f"To be let in: {member}the operator gives you a "
        "join code (am projects invite), which you send as registration_token. Are you there already? Come with your "
        "name and its own token.",
        data={
            "project": key,
            "admission": admission_request.admission.value,
            "suggested_tool_calls": [
                suggest_call(
                    "register_agent",
                    {
                        "project_key": key,
                        **({} if admission_request.name is None else {"name": admission_request.name}),
                        "program": "<your program>",
                        "model": "<your model>",
                        "registration_token": "<join code>",
                    },
                )
            ],
        },
    )
