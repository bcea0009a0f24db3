"""Who is calling, and with which rights."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.admission import NewNames
from mcp_agent_mail.features.identity.callers import AuthRules
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.store.database import Store


def identity_service(
    settings: Settings, store: Store, activity: Activity, *, operator_token: str, clock: Clock
) -> IdentityService:
    return IdentityService(
        store,
        activity,
        rules=_auth_rules(settings, operator_token),
        new_names=new_names(settings),
        clock=clock,
    )


def new_names(settings: Settings) -> NewNames:
    return NewNames(
        enforcement=NameEnforcement(settings.agent_name_enforcement_mode),
        admission=ProjectAdmission(settings.project_admission),
    )


def _auth_rules(settings: Settings, operator_token: str) -> AuthRules:
    token = settings.http_bearer_token
    return AuthRules(
        auth=AgentAuth(settings.agent_auth),
        server_token=token.reveal() if token else None,
        operator_token=operator_token,
    )
