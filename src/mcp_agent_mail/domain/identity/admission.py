"""Who lets a new name into a project, and the codes that stand for the operator's word."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Conflict, NotFound, PermissionDenied
from mcp_agent_mail.core.ids import JoinCodeId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.identity.reissue_command import reissue_command

MIN_LIFETIME_S = 60
MAX_LIFETIME_S = 2_592_000
LIFETIME_S = 86_400
"""Of a join code, unless said otherwise."""

MAX_OPEN_CODES = 200
"""Of one project."""


class ProjectAdmission(StrEnum):
    """`open`: anybody. `member`: an agent of the project. `operator`: the operator. A join code opens each."""

    OPEN = "open"
    MEMBER = "member"
    OPERATOR = "operator"


class NotAdmitted(PermissionDenied):
    """PROJECT_ADMISSION wants somebody's word for a new name, and none came."""


class JoinCodeRefused(PermissionDenied):
    """A join code was given that lets nobody in: used, expired, taken back, or of another project."""


class UnknownJoinCode(NotFound):
    """The project has no such code."""


class JoinCodeUsed(Conflict):
    """What has let somebody in cannot be taken back."""


class TooManyJoinCodes(Conflict):
    """MAX_OPEN_CODES wait to be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinCode:
    """A stored code, without the code itself. `used_by` is the name that came in with it."""

    id: JoinCodeId
    project_id: ProjectId
    created_ts: Micros
    expires_ts: Micros
    used_ts: Micros | None
    used_by: str | None

    def is_open(self, now: Micros) -> bool:
        return self.used_ts is None and now < self.expires_ts


def lets_in(admission: ProjectAdmission, caller: Caller, project_id: ProjectId) -> bool:
    """May `caller`, by what it is alone, let a new name into a project that has agents?"""
    if admission is ProjectAdmission.OPEN or caller.is_operator or caller.kind is CallerKind.DOOR:
        return True  # The operator has opened the door.
    return admission is ProjectAdmission.MEMBER and caller.name_in(project_id) is not None


def require_open(code: JoinCode | None, now: Micros) -> JoinCode:
    """`code`, if it can still let somebody in. Raises JoinCodeRefused."""
    if code is None:
        raise JoinCodeRefused(
            "The join code given is not valid: it has expired, was taken back, or was mistyped.", hint=_ANOTHER
        )
    if code.used_by is not None:
        raise JoinCodeRefused(
            f"The join code given was used: {code.used_by} came in with it.",
            hint=f"If that is you, send the registration_token of {code.used_by}; lost it? The operator runs: "
            f"{reissue_command(code.used_by)}. Else ask the operator for another code.",
            data={"used_by": code.used_by},
        )
    if not code.is_open(now):
        raise JoinCodeRefused("The join code given has expired.", hint=_ANOTHER)
    return code


_ANOTHER = "Ask the operator for another: am projects invite PROJECT"
