"""Join codes: the operator makes them, sees what became of them, and takes them back."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.ids import JOIN_CODE_PREFIX, new_token, token_hash
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.admission import (
    MAX_OPEN_CODES,
    JoinCode,
    JoinCodeUsed,
    TooManyJoinCodes,
    UnknownJoinCode,
)
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.identity.reissue_command import reissue_command
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """`text` is the code itself, told this once."""

    project: Project
    code: JoinCode
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeListing:
    """The codes as they are at `at`, newest first."""

    codes: list[JoinCode]
    at: Micros


class JoinCodeService:
    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(self, caller: Caller, project_key: str, lifetime_s: int) -> Invited:
        """A code of the operator's for one new name. Its text is in this answer alone; each call makes another one."""
        require_operator(caller)
        text = new_token(JOIN_CODE_PREFIX)

        def unit(tx: Tx) -> Invited:
            project = require_writable(require_project(tx, project_key))
            now = tx.now
            if tx.join_codes.count_open(project.id, now) >= MAX_OPEN_CODES:
                raise TooManyJoinCodes(
                    f"{MAX_OPEN_CODES} join codes of {project.human_key} wait to be used already.",
                    hint="Take some back: am projects revoke-code PROJECT ID",
                    data={"project": project.human_key, "max": MAX_OPEN_CODES},
                )
            tx.require_room()
            code = tx.join_codes.add(project.id, token_hash(text), now, Micros(now + lifetime_s * SECOND))
            return Invited(project=project, code=code, text=text)

        return await self._store.write(unit)

    async def list_(self, caller: Caller, project_key: str, limit: int) -> CodeListing:
        """The project's codes, newest first, at most `limit`: used ones stay for good, expired ones until they are
        forgotten.
        """
        require_operator(caller)

        def look(view: View) -> list[JoinCode]:
            return view.join_codes.list_(require_project(view, project_key).id, limit)

        return CodeListing(codes=await self._store.read(look), at=self._clock())

    async def revoke(self, caller: Caller, project_key: str, code_id: int) -> JoinCode:
        """Take back a code that nobody has used. Raises UnknownJoinCode, and JoinCodeUsed once somebody has come in
        with it.
        """
        require_operator(caller)

        def unit(tx: Tx) -> JoinCode:
            project = require_project(tx, project_key)
            code = tx.join_codes.find_by_id(project.id, code_id)
            if code is None:
                raise UnknownJoinCode(
                    f"{project.human_key} has no join code {code_id}.",
                    hint="am projects codes PROJECT lists them.",
                    data={"parameter": "join_code_id"},
                )
            if code.used_by is not None:
                command = reissue_command(code.used_by, project.slug)
                raise JoinCodeUsed(
                    f"{code.used_by} has come in with join code {code_id}.",
                    hint=f"To put {code.used_by} out: {command}, and keep the new token.",
                    data={"used_by": code.used_by},
                )
            tx.join_codes.remove(code.id)
            return code

        return await self._store.write(unit)
