"""Keeps the archiver running beside the server: starts it, wakes it, marks what it commits, says how it is doing."""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import asdict
from pathlib import Path

from mcp_agent_mail.core.child_process import plain_environment
from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.errors import AgentMailError, Busy, Unavailable, in_sentences
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.events import ArchiveCommit, Backlog
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.archiving.backpressure import Backpressure, LagSamples
from mcp_agent_mail.features.archiving.pending_requests import Requests
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.protocol import (
    DRAIN,
    PING,
    PROJECTS_FOLDER,
    WAKE,
    ArchiverSettings,
    Blocked,
    CareFailed,
    CareTaken,
    CheckedOut,
    CheckOut,
    Committed,
    Converted,
    Drained,
    Failed,
    Pong,
    Ready,
    Recovered,
    Report,
    Workload,
    from_line,
)
from mcp_agent_mail.features.archiving.supervision.conversion_log import ConversionLog
from mcp_agent_mail.features.archiving.supervision.problems import ARCHIVER, PROBLEMS_KEPT, Problems
from mcp_agent_mail.features.archiving.supervision.silence import PATIENCE, Silence, SilenceLimits
from mcp_agent_mail.store.database import Store

logger = logging.getLogger("mcp_agent_mail.archiving")

_COMMAND = (sys.executable, "-P", "-m", "mcp_agent_mail.archiver")
_ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""Its threads take turns anyway; with an arena for each, glibc keeps what the largest commit of every one took."""
_WAKE_EVERY_S = 0.02
_MARK_AGAIN_S = 0.5
_ARCHIVES_KEPT = 10_000


class ArchiverEnded(Unavailable):
    """The archiver ended, and nobody had asked it to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveStatus:
    """`problems`: what fails just now, by project (`archiver` for the process itself). Lags are in seconds."""

    backlog: Backlog
    last_commit_at: Micros | None
    last_error: str | None
    problems: dict[str, str]
    archiver_pid: int | None
    restarts: int
    lag_p50_s: float | None
    lag_p99_s: float | None
    care: CareFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class CareFigures:
    """The largest figures of any archive written since the start, None before the first; and what care fails at.
    `workload` is None until an archiver has looked. `converting` and `converted`: as `ConversionLog` has them.
    """

    packs: int | None
    index_bytes: int | None
    last_error: str | None
    workload: Workload | None = None
    converting: str | None = None
    converted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthShown:
    """A month that lies in the work tree of an archive: `path` is the archive's."""

    project: str
    month: str
    path: str
    files: int


class ArchivingService:
    """`start()` once the server answers; `await stop(timeout_s)` while the store is still open."""

    def __init__(
        self,
        store: Store,
        settings: ArchiverSettings,
        *,
        clock: Clock = system_clock,
        pace: Backpressure | None = None,
        patience: SilenceLimits = PATIENCE,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._wake = asyncio.Event()
        self.health = Problems()
        self._lags = LagSamples()
        self.pace = pace or Backpressure()
        self._care: dict[str, CareTaken] = {}
        self._care_error: dict[str, str] = {}
        self._workload: Workload | None = None
        self._conversions = ConversionLog()
        self._requests = Requests()
        self._patience = patience
        self._process: Process | None = None
        self.keeper = Keeper(ARCHIVER, self._run, clock=clock)
        self.waker = Keeper("archiver-waker", self._wake_up, clock=clock)
        self._why_ended: str | None = None
        self._deadline = 0.0
        self._has_drained = False

    def start(self) -> None:
        """Start the archiver and keep it alive. Does not wait for it."""
        self._store.on_commit(self._wake.set)
        self.keeper.start()
        self.waker.start()

    async def stop(self, timeout_s: float) -> None:
        """Let the archiver commit what is pending, for so long, then end it; the next start replays what is left."""
        if not self.keeper.is_running:
            return
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + timeout_s
        self.keeper.stopping.set()
        self._tell(self._drain_line())
        await self.keeper.stop(timeout_s)
        if not self._has_drained:
            await self._drain_anew(self._deadline - loop.time())
        self.waker.stopping.set()
        self._wake.set()
        await self.waker.stop()

    async def _drain_anew(self, timeout_s: float) -> None:
        """A stop that finds no archiver, or one that ends before it has drained, starts one all the same."""
        try:
            await asyncio.wait_for(self._run(), max(0.0, timeout_s))
        except TimeoutError:
            logger.warning("the archiver was ended before it was drained")
        except (AgentMailError, OSError, ValueError) as error:
            logger.warning("the archiver ended before it was drained", extra={"facts": {"end": str(error)}})

    def problem(self) -> str | None:
        """What fails just now and what to do about it, the newest of several; None when every archive is written."""
        return self.health.newest()

    @property
    def archiver_pid(self) -> int | None:
        """The id of the child process that runs now; None while there is none."""
        return None if self._process is None else self._process.pid

    async def status(self) -> ArchiveStatus:
        """As of now, for health, metrics and people: what is pending, what is wrong, how late commits are (seconds)."""
        now = self._clock()
        return ArchiveStatus(
            backlog=await self._store.read(lambda view: view.outbox.backlog(now)),
            last_commit_at=await self._store.read(lambda view: view.outbox.last_commit_at()),
            last_error=self.health.last_error,
            problems=self.health.all(),
            archiver_pid=self.archiver_pid,
            restarts=self.health.restarts,
            lag_p50_s=self._lags.percentile(0.5),
            lag_p99_s=self._lags.percentile(0.99),
            care=self.care(),
        )

    def care(self) -> CareFigures:
        """The largest archive's figures, as far as archives have reported; the first error of any."""
        errors = self._care_error | self._conversions.errors
        return CareFigures(
            packs=max((taken.packs for taken in self._care.values()), default=None),
            index_bytes=max((taken.index_bytes for taken in self._care.values()), default=None),
            last_error=next((f"{project}: {why}" for project, why in errors.items()), None),
            workload=self._workload,
            converting=self._conversions.converting,
            converted=self._conversions.converted,
        )

    async def check_out(self, caller: Caller, slug: str, month: str) -> MonthShown:
        """Bring a month back into the work tree of an archive. Raises Unavailable while it takes long: it goes on."""
        require_operator(caller)
        project = await self._store.read(lambda view: view.projects.find_by_slug(slug))
        if project is None:
            raise UnknownProject(f"Unknown project: {slug:.200}.", hint="resource://projects lists all.")
        ask = self._ask_archiver if self.keeper.is_running else self._ask_here
        shown = await ask(self._requests.new(slug, month))
        place = ArchivePlaces(projects_path=Path(self._settings.storage_root) / PROJECTS_FOLDER).find(project)
        return MonthShown(project=slug, month=month, path=str(place), files=shown.files)

    async def _ask_archiver(self, request: CheckOut) -> CheckedOut:
        if self._process is None:
            raise Busy("The archiver does not run just now.", first="It is started again.")
        return await self._requests.ask(request, lambda: self._tell(request.to_line()))

    async def _ask_here(self, request: CheckOut) -> CheckedOut:
        """Without an archiver: this process holds the store, and takes the archives too."""
        from mcp_agent_mail.features.archiving.offline_drain import check_out_in_process  # noqa: PLC0415  # no server needs it

        return await check_out_in_process(self._store, self._settings, request)

    async def _run(self) -> None:
        """One archiver from start to end. Whatever goes wrong ends it, and the keeper starts the next."""
        try:
            code = await self._run_once()
        except BaseException as error:
            await self._note_end(repr(error))
            raise
        if not self._has_drained:
            await self._note_end(f"code {code}")
            raise ArchiverEnded(self._why_ended or f"The archiver ended (code {code}).", hint="It is started again.")

    async def _note_end(self, end: str) -> None:
        if self.keeper.is_stopping:
            return
        self.health.restarts += 1
        self.health.fail(ARCHIVER, self._why_ended or f"the archiver ended ({end}); it is started again")
        await self._note_pace()

    async def _run_once(self) -> int:
        """Its exit code. Raises DatabaseTakenAway: an archiver goes on with what it has opened by the name."""
        self._store.require_in_place()
        # A session of its own: Ctrl-C at the terminal stops the server, which then asks for an orderly end.
        process = await asyncio.create_subprocess_exec(
            *_COMMAND, stdin=PIPE, stdout=PIPE, env=plain_environment() | _ONE_ARENA, start_new_session=True
        )
        self._process = process
        self._why_ended = None
        self.health.forget()
        self._care_error.clear()
        self._conversions.forget()
        try:
            self._tell(self._settings.to_line())
            if self.keeper.is_stopping:
                self._tell(self._drain_line())
            await self._listen(process)
            return await process.wait()
        finally:
            self._process = None
            self._workload = None
            self._requests.give_up()
            await self._end(process)

    async def _listen(self, process: Process) -> None:
        """Only while this waits for a line is the archiver waited for: one that stands at a full pipe is not silent."""
        assert process.stdout is not None
        silence = Silence(process.pid, self._patience, lock_timeout_s=self._settings.lock_timeout_s, now=self._clock())
        while True:
            try:
                async with asyncio.timeout(self._patience.ask_every_s):
                    line = await process.stdout.readline()
            except TimeoutError:
                await self._miss(process, silence)
                continue
            if not line:
                return
            report = from_line(line)
            if silence.is_told:
                self.health.recover(ARCHIVER)
                self.keeper.worked()
                await self._note_pace()
            silence.note_report(report, self._clock())
            await self._hear(report)

    async def _miss(self, process: Process, silence: Silence) -> None:
        """It said nothing for a while: ask it, but not at its orderly end, for which a stop has a limit of its own."""
        if self.keeper.is_stopping:
            return
        if silence.is_too_long and not silence.is_ended:
            silence.is_ended = True
            self._why_ended = silence.ended().message
            process.kill()  # What it had begun the next one mends, as after any crash.
        elif silence.is_long and not silence.is_told:
            silence.is_told = True
            told = silence.told()
            self.health.fail(ARCHIVER, in_sentences(told.message, told.hint))
            self.keeper.failed(told)
            await self._note_pace()
        silence.note_question()
        self._tell(PING)

    async def _hear(self, report: Report) -> None:
        if isinstance(report, Committed):
            await self._mark(report.commit)
            if report.oldest_ts is not None:
                self._lags.add(report.oldest_ts, self._clock())
        elif isinstance(report, Failed):
            self.health.fail(f"{report.project} {report.part}".strip(), in_sentences(report.message, report.hint))
            await self._note_pace()
            logger.error("an archive cannot be written", extra={"facts": asdict(report)})
        elif isinstance(report, Recovered):
            self.health.recover(f"{report.project} {report.part}".strip())
        elif isinstance(report, Blocked):
            self._why_ended = in_sentences(report.message, report.hint)
            self.health.fail(ARCHIVER, self._why_ended)
            self.keeper.failed(ArchiverEnded(self._why_ended))
            await self._note_pace()
        elif isinstance(report, Ready):
            self._store.require_in_place()
            self.health.recover(ARCHIVER)
            self._workload = Workload(unfinished=report.unfinished)
            self.keeper.worked()
        elif isinstance(report, CareTaken | CareFailed | CheckedOut | Converted):
            self._hear_of_care(report)
        elif isinstance(report, Workload):
            self._workload = report
        elif not isinstance(report, Pong):
            assert isinstance(report, Drained)
            self._has_drained = True
            logger.info("the archive is drained", extra={"facts": {"pending": report.pending}})

    def _hear_of_care(self, report: CareTaken | CareFailed | CheckedOut | Converted) -> None:
        if isinstance(report, CheckedOut):
            self._requests.answer(report)
        elif isinstance(report, Converted):
            self._conversions.note(report)
        elif isinstance(report, CareTaken):
            self._care_error.pop(report.project, None)
            if report.project in self._care or len(self._care) < _ARCHIVES_KEPT:
                self._care[report.project] = report
        else:
            if len(self._care_error) < PROBLEMS_KEPT:
                self._care_error[report.project] = report.message
            logger.warning("an archive cannot be looked after", extra={"facts": asdict(report)})

    async def _mark(self, commit: ArchiveCommit) -> None:
        """Mark it, however long the store refuses: the archiver waits at the pipe meanwhile."""
        while True:
            try:
                await self._store.write(lambda tx: tx.outbox.mark(commit))
            except Unavailable as error:
                if self.keeper.is_stopping:
                    return
                self.health.fail(ARCHIVER, f"commits cannot be marked: {error.message}")
                self.keeper.failed(error)
                await asyncio.sleep(_MARK_AGAIN_S)
            else:
                self.health.recover(ARCHIVER)
                self.keeper.worked()
                await self._note_pace()
                return

    async def _note_pace(self) -> None:
        """A store that cannot be read just now holds no sender up; the archiver goes on."""
        try:
            backlog = await self._store.read(lambda view: view.outbox.backlog(self._clock()))
        except Unavailable as error:
            self.keeper.failed(error)
            self.pace.note(0, is_failing=True)
        else:
            self.pace.note(backlog.pending_events, is_failing=bool(self.health.problems))

    async def _wake_up(self) -> None:
        """One line for all commits of a moment. The stop comes as a commit does, when there is nobody left to wake."""
        while not self.waker.is_stopping:
            await self._wake.wait()
            self._wake.clear()
            self._tell(WAKE)
            self.waker.worked()
            await self.waker.rest(_WAKE_EVERY_S)

    def _tell(self, line: bytes) -> None:
        """Never waits. A full pipe has something to read in it already, a broken one ends `_listen`."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return
        if line in (WAKE, PING) and process.stdin.transport.get_write_buffer_size() > 0:
            return
        process.stdin.write(line)

    def _drain_line(self) -> bytes:
        """Ends a little before we stop waiting, so that the last reports are still heard."""
        left_s = self._deadline - asyncio.get_running_loop().time() - _WAKE_EVERY_S
        return DRAIN + f" {max(0.0, left_s):.3f}\n".encode()

    async def _end(self, process: Process) -> None:
        if process.returncode is None:
            process.kill()
            await process.wait()
