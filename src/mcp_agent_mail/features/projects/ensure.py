"""Finding or making the project of a directory: what is looked up before, and the unit of work."""

from __future__ import annotations

from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.archive_format.layout import profile_snapshot, project_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.names import HUMAN, SYSTEM, did_you_mean
from mcp_agent_mail.domain.project_identity import Identity, WorkspaceFacts, slug_alias
from mcp_agent_mail.domain.projects import AliasKind, Project, plain_slug, slugs_of
from mcp_agent_mail.features.projects.lookup import find_around, find_known_path, find_near, find_slip, find_tied
from mcp_agent_mail.store.transaction import Tx, View


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRequest:
    """A directory, by its path as written and as the disk resolves it, and what it is the project of."""

    written: str
    facts: WorkspaceFacts
    identity: Identity

    @property
    def path(self) -> str:
        return self.facts.path

    def find(self, view: View) -> Project | None:
        """The project that the directory is known to be."""
        return find_known_path(view, self.written) or find_known_path(view, self.path)

    def settled(self, view: View) -> Project | None:
        """The project when there is nothing to write: the directory is known, and so is what ties it."""
        own = self.find(view)
        if own is None or self.identity.tie is None:
            return own
        return own if find_tied(view, self.identity.tie) is not None else None


def find_foreseen(view: View, project_request: ProjectRequest) -> Project | None:
    """What `ensure` would find; None where it would make a project."""
    tie = project_request.identity.tie
    return project_request.find(view) or (None if tie is None else find_tied(view, tie))


def doubt_about_new(view: View, project_request: ProjectRequest) -> str:
    """What speaks against a new project of this directory, for a hint: it is within that of another, or is it but for
    letter case, or there is no such directory; and of which ones it may be a slip. Empty where nothing does, and where
    `ensure` would make none.
    """
    if find_foreseen(view, project_request) is not None:
        return ""
    path, around = project_request.path, find_around(view, project_request.path)
    if around is None:
        if not project_request.facts.is_missing:
            slip = find_slip(view, path)
            return "" if slip is None else f"A new project. Did you mean {slip}, which is here already?"
        missing = f"There is no directory {path} on the server's machine: a new project was made of it all the same."
        return in_sentences(missing, did_you_mean(find_near(view, path)))
    how = f"but for letter case {around}" if len(around) == len(path) else f"within the project {around}"
    return f"New project: {path} is {how}, whose agents and mail are not here. To join them use human_key={around!r}."


def ensure(tx: Tx, project_request: ProjectRequest) -> Project:
    """The project of the directory: the one that it is known to be, else the one of its identity, else a new one."""
    own = project_request.find(tx)
    tie = project_request.identity.tie
    tied = None if tie is None else find_tied(tx, tie)
    project = own or tied or _create(tx, project_request.path)
    now = tx.now
    if tie is not None and tied is None:
        tx.aliases.add(project.id, tie, AliasKind.TIE, now)
        record_event(tx, project, None)
    elif own is None and tied is not None and tx.aliases.add(project.id, project_request.path, AliasKind.PATH, now):
        tx.backfill.note_aliases(project.id)
    return project


def _create(tx: Tx, human_key: str) -> Project:
    tx.require_room()
    now = tx.now
    free = (slug for slug in slugs_of(human_key) if _is_free(tx, slug))
    project = tx.projects.add(slug=next(free), human_key=human_key, plain_slug=plain_slug(human_key), now=now)
    record_event(tx, project, None)
    _add_resident(tx, project.id, AgentKind.HUMAN, HUMAN)
    _add_resident(tx, project.id, AgentKind.SYSTEM, SYSTEM)
    return project


def _is_free(tx: Tx, slug: str) -> bool:
    return tx.projects.find_by_slug(slug) is None and tx.aliases.find(slug_alias(slug)) is None


_TASKS = {
    AgentKind.HUMAN: "The overseer of this project: a person.",
    AgentKind.SYSTEM: "The server's own sender; it receives nothing.",
}


def _add_resident(tx: Tx, project_id: ProjectId, kind: AgentKind, name: str) -> None:
    """`Human` or `System`: in every project from its start, without a token."""
    agent = tx.agents.add(
        NewAgent(
            project_id=project_id,
            kind=kind,
            name=name,
            program="mcp-agent-mail",
            model="none",
            task_description=_TASKS[kind],
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        ),
        tx.now,
    )
    tx.outbox.add(
        NewEvent(
            project_id=project_id,
            kind=EventKind.PROFILE,
            agent_id=None,
            message_id=None,
            snapshot=profile_snapshot(agent),
        ),
        tx.now,
    )


def record_event(tx: Tx, project: Project, caller: Caller | None) -> None:
    """Queue the project's own file for its archive. `caller` counts as its author if it is an agent of the project."""
    tx.backfill.drop_aliases(project.id)
    is_own_agent = caller is not None and caller.project_id == project.id
    author = tx.agents.find(caller.agent_id) if caller is not None and caller.agent_id and is_own_agent else None
    acting = None if author is None else author.name
    tx.outbox.add(
        NewEvent(
            project_id=project.id,
            kind=EventKind.PROJECT,
            agent_id=None if author is None else author.id,
            message_id=None,
            snapshot=project_snapshot(project, tx.aliases.archived(project.id)) | {"acting": acting},
        ),
        tx.now,
    )
