"""One run of the guard: what it found around it, and what it leaves behind (words on stderr, and a record)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcp_agent_mail.core.clock import iso, system_clock
from mcp_agent_mail.core.escaping import visible, written_on_one_line
from mcp_agent_mail.core.git.foreign_repository import UnfitRepository
from mcp_agent_mail.core.running_server import Deadline
from mcp_agent_mail.core.settings.client import ReadSettings
from mcp_agent_mail.core.settings.sources import Mistake
from mcp_agent_mail.core.unfilled_text import said
from mcp_agent_mail.domain.guard.agent_marks import find_mark
from mcp_agent_mail.domain.guard.decision import GuardOutcome, GuardRules, HeldPath
from mcp_agent_mail.guard import report
from mcp_agent_mail.guard.git import Git, GitRefused, open_git
from mcp_agent_mail.guard.lease_source import Committer, LeaseAnswer, LeaseQuery, LeasesSource
from mcp_agent_mail.guard.repository import (
    NAME_KEY,
    PROJECT_KEY,
    CheckoutLayout,
    Translation,
    look_at_repository,
    own_value,
    project_of,
    translation_for,
    values_for,
)
from mcp_agent_mail.guard.spool import NotRecorded, record

if TYPE_CHECKING:
    from mcp_agent_mail.core.running_server import Json

_MAX_RECORDED = 20
_OF_GIT = ("pre-commit", "pre-push")
_MAX_TEXT = 300
_MAX_NAME = 64
_MAX_PLACE = 4_096


def say(lines: Sequence[str]) -> None:
    """On stderr, every run of the guard known by its first words. A closed stderr stops nobody's commit."""
    text = "".join(f"{'' if line.startswith(' ') else 'agent-mail guard: '}{visible(line)}\n" for line in lines)
    encoding = sys.stderr.encoding or "utf-8"
    try:
        sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()
    except OSError:
        pass


class UnfitSettings(Exception):
    """Settings hold mistakes, and AGENT_MAIL_GUARD_ON_ERROR=block. The text says which."""


class Session:
    """`hook` is pre-commit, pre-push or check; `deed` what people call it: commit, push, edit. Closing the session
    records mistakes in the settings that no other record has told. `patience` is for a caller that has used up some.
    """

    def __init__(self, hook: str, deed: str, read: ReadSettings, *, patience: Deadline | None = None) -> None:
        self.hook = hook
        self.deed = deed
        self.settings = settings = read.settings
        self._read = read
        self._unrecorded = _told((*read.name_mistakes, *read.mistakes))
        self.now = system_clock()
        self.rules = GuardRules(
            is_blocking=settings.agent_mail_guard_mode == "block",
            is_bypassed=settings.agent_mail_bypass,
            requires_name=settings.agent_mail_guard_require_name == "true",
        )
        self.mark = find_mark(os.environ)
        self.patience = patience or Deadline()
        self._repository: CheckoutLayout | None = None
        self._cwd = os.getcwd()  # noqa: PTH109  # as Git means it
        self._open = ExitStack()
        self._git: Git | None = None
        self._values: dict[str, str] | None = None
        self._translation: Translation | None = None
        self._source: LeasesSource | None = None

    def close(self) -> None:
        with self._open:
            if self._unrecorded:
                self.record(GuardOutcome.FAILED, None)

    def tell_mistakes(self) -> None:
        """Say what of the settings cannot be used: it stands at its default. Raises UnfitSettings where what cannot be
        checked is to be stopped, and more is at fault than the name, which counts as one that nobody has.
        """
        if self._read.name_mistakes:
            say([f"no agent can have this name: {_told(self._read.name_mistakes)}"])
        if not self._read.mistakes:
            return
        if self.settings.agent_mail_guard_on_error == "block":
            _ = self.repository  # The record names it.
            raise UnfitSettings(f"settings cannot be used: {_told(self._read.mistakes)}")
        say([f"settings cannot be used, so their defaults count: {_told(self._read.mistakes)}"])

    @property
    def repository(self) -> CheckoutLayout:
        """The repository around this run. Raises GitRefused outside of one, and UnfitRepository."""
        if self._repository is None:
            is_gits = self.hook in _OF_GIT
            self._repository = look_at_repository(os.environ, self._cwd, is_gits=is_gits)
        return self._repository

    @property
    def git(self) -> Git:
        """Over a shadow of the repository that is gone with this session. Raises likewise."""
        if self._git is None:
            self._git = self._open.enter_context(open_git(os.environ, self.repository.foreign, self._cwd))
        return self._git

    def _value(self, key: str) -> str | None:
        """Of Git's configuration. Git is asked only for what the repository itself does not say."""
        own = own_value(self.repository, os.environ, key)
        if own:
            return own
        if self._values is None:
            self._values = values_for(self.git)
        return self._values.get(key) or None

    @property
    def project(self) -> str:
        return project_of(self.repository, self.settings.agent_mail_project or self._value(PROJECT_KEY))

    @property
    def translation(self) -> Translation:
        if self._translation is None:
            self._translation = translation_for(self.repository, self.project)
        return self._translation

    @property
    def committer(self) -> Committer:
        """AGENT_NAME, else Git's agent-mail.name, else whom Git would write down as author, if that is an agent."""
        if name := self.settings.agent_name or said(self._value(NAME_KEY) or ""):
            return Committer(name=_shortened(name), author=None)
        author = os.environ.get("GIT_AUTHOR_NAME") or self._value("author.name") or self._value("user.name")
        return Committer(name=None, author=_shortened(author) if author else None)

    def ask(self, paths: Sequence[str]) -> LeaseAnswer:
        """Who holds which of these paths of the project. Raises CannotTell."""
        self._source = LeasesSource(self.settings, self.patience, self.now)
        question = LeaseQuery(project=self.project, committer=self.committer, paths=paths, hook=self.hook)
        answer = self._source.ask(question)
        if not answer.is_project_known:
            say([f"{answer.source} knows no project {self.project}: nothing is reserved there."])
        elif answer.source != "the server":
            say([f"no live answer; looked at {answer.source}."])
        return answer

    def rules_for(self, answer: LeaseAnswer) -> GuardRules:
        """The rules with what `auto` means here: an agent's shell must say who it is, in a project that has agents,
        and unless the guard only warns.
        """
        is_asked = self.settings.agent_mail_guard_require_name == "auto" and self.mark is not None
        if not (is_asked and answer.is_project_known and self.rules.is_blocking):
            return self.rules
        return replace(self.rules, requires_name=True)

    def facts(self, answer: LeaseAnswer) -> report.ReportContext:
        """What a report on `answer` says besides of this commit, push or edit. Raises what `repository` raises."""
        translation = self.translation
        return report.ReportContext(
            deed=self.deed, project=self.project, answer=answer, now=self.now, shown=translation.to_repository
        )

    def fail(self, why: str) -> bool:
        """The guard could not find out: say so, record it, and tell whether to go on."""
        if self.rules.is_bypassed:
            say([f"{self.deed} passes unchecked (AGENT_MAIL_BYPASS is set, and {why})."])
            self.record(GuardOutcome.BYPASSED, None, why)
            return True
        is_blocking = self.settings.agent_mail_guard_on_error == "block"
        say(report.failure(self.deed, why, is_blocking=is_blocking))
        self.record(GuardOutcome.FAILED, None, why)
        return not is_blocking

    def record(self, action: GuardOutcome, answer: LeaseAnswer | None, note: str = "") -> None:
        """Record what was decided, for `am guard log`, with what is wrong in the settings. What cannot be recorded is
        said, and stops nobody.
        """
        note = "; ".join(part for part in (note, self._unrecorded) if part)
        self._unrecorded = ""
        try:
            event = self._event(action, answer, note)
            server = self._source.server if self._source is not None else None
            record(event, server, self.patience, self.settings.storage_root)
        except (NotRecorded, OSError) as failed:
            say([f"this could not be recorded: {failed}"])

    def _who(self) -> tuple[str, str | None]:
        """Project and agent, as far as they can be told: what failed may be the very look at the repository."""
        try:
            return self.project, self.committer.name
        except (GitRefused, UnfitRepository):
            name = self.settings.agent_name
            return self.settings.agent_mail_project or self.repository.place, _shortened(name) if name else None

    def _event(self, action: GuardOutcome, answer: LeaseAnswer | None, note: str) -> dict[str, Json]:
        known = self._repository
        place = known.place if known is not None else self._cwd
        project, name = self._who() if known is not None else ("", None)
        agent = answer.agent if answer is not None else name
        held = list(answer.held[:_MAX_RECORDED]) if answer is not None else []
        return {
            "event_key": os.urandom(16).hex(),
            "ts": iso(self.now),
            "project": project[:_MAX_PLACE],
            "action": action.value,
            "hook": self.hook,
            "agent": agent,
            "repository": quote(os.fsencode(place), safe="/ "),
            "detail": {
                "paths": [_recorded(path) for path in held],
                "path_count": answer.held_count if answer is not None else 0,
                "source": answer.source[:_MAX_TEXT] if answer is not None else "",
                "note": visible(note)[:_MAX_TEXT],
            },
        }


def _told(mistakes: Sequence[Mistake]) -> str:
    return written_on_one_line("; ".join(str(mistake) for mistake in mistakes))


def _shortened(name: str) -> str:
    """On one line, and no longer than the server takes. What is cut ends as no agent's name does."""
    line = written_on_one_line(name)
    return line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 1]}…"


def _recorded(held: HeldPath) -> dict[str, Json]:
    return {
        "path": visible(held.path)[:_MAX_TEXT],
        "holder": held.holding.agent,
        "reservation_id": held.holding.id,
        "path_pattern": held.holding.path_pattern[:_MAX_TEXT],
        "is_own_too": held.is_own_too,
    }
