"""A new database from archives alone: same ids and numbers, the same store, and every commit that holds them.

Nothing is taken from a database. What no archive tells of is not rebuilt (`NOT_REBUILT`); numbers that archives never
saw are not given out again. Memory does not grow with the mail: listings are sorted on disk.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.parse.files import require_size
from mcp_agent_mail.domain.attachments import is_content_path
from mcp_agent_mail.domain.own_files import REBUILDING
from mcp_agent_mail.features.doctor.external_sort import Spool
from mcp_agent_mail.features.recovery.lagging_archives import tell_behind
from mcp_agent_mail.features.recovery.passes.event_numbers import NumbersExhausted
from mcp_agent_mail.features.recovery.passes.events_pass import EventsPass, made
from mcp_agent_mail.features.recovery.passes.mail_pass import MailPass, Progress
from mcp_agent_mail.features.recovery.passes.receipts_pass import ReceiptsPass
from mcp_agent_mail.features.recovery.people import People, StandIns
from mcp_agent_mail.features.recovery.records import Records
from mcp_agent_mail.features.recovery.refusals import OF_ALL, ArchiveProblems
from mcp_agent_mail.features.recovery.scratch import aside, scratch_folder
from mcp_agent_mail.features.recovery.sources import ArchiveSource, Readers, blamed, open_readers, open_sources
from mcp_agent_mail.store.rebuild.database import RebuiltCounts, RebuiltDatabase, RowsContradict

NOT_REBUILT = (
    "registration tokens",
    "join codes",
    "issued tokens",
    "idempotency keys",
    "presence",
    "steps handed_over and shown",
    "feed of events",
    "what hooks have told of mail",
    "whether senders had proven to be it",
    "windows",
    "stored summaries",
    "guard log",
    "LLM spending",
    "products without a project",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """`events`: what archives are told again, since they were behind. `stand_ins`: slugs of projects and names of
    agents that were made of what others say of them. `contents`: how many were put beside the database.
    """

    store_id: str
    projects: int
    agents: int
    messages: int
    events: int
    contents: int
    stand_ins: tuple[str, ...]
    not_rebuilt: tuple[str, ...] = NOT_REBUILT


def _silent(done: int, total: int) -> None:
    """Nobody watches."""


def rebuild_database(
    archives: Path,
    database_path: Path,
    contents: Path | None,
    *,
    without: Collection[str] = (),
    at: Mapping[str, str] | None = None,
    store_id: str | None = None,
    progress: Progress = _silent,
    clock: Clock = system_clock,
) -> Rebuilt:
    """Make the database `database_path`, where nothing is, from the archives in the folder `archives`, and put into the
    folder `contents`, if one is named, what mail carries and is not there.

    `without`: slugs that are left out. `at`: the archives alone that it names, at these commits. `store_id`: whose they
    must be. `progress` counts messages. Raises RebuildRefused; then nothing is at `database_path`.
    """
    problems = ArchiveProblems()
    sources = open_sources(archives, problems, without=without, at=at, store_id=store_id)
    problems.require_none()
    if not sources:
        problems.add(OF_ALL, f"there is none in {archives}")
        problems.require_none()
    found = sources[0].archived.store_id
    with (
        scratch_folder(aside(database_path, REBUILDING), for_what=database_path) as scratch,
        open_readers() as readers,
        RebuiltDatabase(database_path, found, clock=clock) as database,
    ):
        build = _Build(sources, database, readers, scratch.path, without, problems)
        try:
            counts, events = build.run(progress, None if contents is None else AttachmentFiles(contents))
        except (NumbersExhausted, RowsContradict) as broken:
            problems.add(OF_ALL, str(broken))
            problems.require_none()
            raise
    return Rebuilt(
        store_id=found,
        projects=counts.projects,
        agents=counts.agents,
        messages=counts.messages,
        events=events,
        contents=build.contents_put,
        stand_ins=tuple(build.stand_ins.names),
    )


class _Build:
    def __init__(
        self,
        sources: Sequence[ArchiveSource],
        database: RebuiltDatabase,
        readers: Readers,
        folder: Path,
        without: Collection[str],
        problems: ArchiveProblems,
    ) -> None:
        self._sources = sources
        self._database = database
        self._readers = readers
        self._problems = problems
        self._people = People(sources, database, without)
        self._mail = MailPass(sources, readers, made(folder / "mail"))
        self._records = Records(sources, database, self._people, readers, made(folder / "records"))
        self._contents = Spool(made(folder / "contents"))
        self._events = EventsPass(database, self._people, made(folder / "events"))
        self._receipts = ReceiptsPass(sources, database, readers, made(folder / "receipts"))
        self.contents_put = 0

    @property
    def stand_ins(self) -> StandIns:
        return self._people.stand_ins

    def run(self, progress: Progress, contents: AttachmentFiles | None) -> tuple[RebuiltCounts, int]:
        for source in self._sources:
            with blamed(source, self._problems):
                self._database.add_project(source.project, source.archived.aliases)
                self._list(source)
        self._problems.require_none()
        self._mail.learn(self._people)
        self._records.run(self._problems)
        self._problems.require_none()
        self._mail.run(self._people, self._database, self._problems, progress)
        self._problems.require_none()
        for source in self._sources:
            with blamed(source, self._problems):
                self._events.read(source)
        self._receipts.run(self._events, self._problems)
        self._records.add_notices()
        self._problems.require_none()
        self._people.complete_stand_ins()
        self._events.finish()
        events = tell_behind(self._database.settle(), self._mail.behind, self._people.stand_ins)
        if contents is not None:
            self._bring_contents(contents)
        return self._database.finish(), events

    def _list(self, source: ArchiveSource) -> None:
        for file in source.branch.files(source.commit):
            require_size(file.path, file.size)
            if is_content_path(file.path):
                sha256 = file.path.rpartition("/")[2].partition(".")[0]
                self._contents.add(f"{sha256} {source.number} {file.size} {file.blob}".encode())
            elif not (
                self._mail.add(source, file.path, file.blob)
                or self._receipts.add(source, file.path, file.blob)
                or self._records.add(source, file.path, file.blob)
            ):
                continue  # Its owner's, or made of what lies elsewhere.

    def _bring_contents(self, contents: AttachmentFiles) -> None:
        """Each from the first archive that has it. What is not what its name says is left: `verify` names it."""
        for _, lines in groupby(self._contents, key=lambda line: line[:64]):
            sha256, number, size, blob = next(iter(lines)).decode().split(" ")
            if contents.size(sha256) == int(size):
                continue
            staged = contents.stage(self._sources[int(number)].branch.tell(blob), int(size))
            if staged.sha256 == sha256:
                contents.keep(staged)
                self.contents_put += 1
            else:
                contents.discard(staged)
