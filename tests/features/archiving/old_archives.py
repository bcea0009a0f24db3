"""A project whose archive was begun by a program of the version before."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mcp_agent_mail.archive.known_version import VERSION_NOTE
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from tests.archive_harness import (
    ArchiveHarness,
    git,
    version_1,
)
from tests.features.archiving.leases import Held

MAILS = 30
ROUNDS = 60
BLOCKS = {"0-9", "10-19", "20-29", "30-39"}


@dataclass
class Old:
    """A project whose archive is of version 1: mail, some with blind copies, receipts, leases live, ended, and back."""

    harness: ArchiveHarness
    held: Held
    blue: Agent
    red: Agent
    mails: list[Message]
    ended: Lease

    @property
    def project(self) -> Project:
        return self.held.project

    @property
    def path(self) -> Path:
        return self.harness.path(self.project)

    @property
    def version(self) -> int:
        """As the branch has it."""
        return int(json.loads(git(self.path, "show", "main:archive.json"))["format"])

    def files(self) -> list[str]:
        return git(self.path, "ls-tree", "-r", "--name-only", "main").splitlines()

    def is_whole(self) -> bool:
        """Of this version, in Git and in the work tree, which Git finds clean."""
        return (self.path / VERSION_NOTE).exists() and not git(self.path, "status", "--porcelain")

    def work(self, fault_hook: FaultHook = no_fault) -> None:
        """A new process, until it has nothing more to do."""
        with self.harness.drain(fault_hook) as drain:
            drain.resume()
            self.settle(drain)

    def work_untidy(self) -> None:
        """As `work`, where Git finds something of a person's."""
        with self.harness.drain() as drain:
            drain.resume()
            for _ in range(ROUNDS):
                self.harness.tidy(drain)
                self.harness.clock.step(3)
                if (self.path / VERSION_NOTE).exists():
                    return

    def commit_pending(self) -> None:
        """In a new process, and the index after it."""
        with self.harness.drain() as drain:
            self.commit(drain)
            self.harness.clock.step(3)
            self.harness.tidy(drain)

    def commit(self, drain: Drain) -> None:
        """What is pending, once the first event has waited for company."""
        drain.step()
        self.harness.clock.step(1)
        drain.step()

    def go_on_as_before(self) -> None:
        """As a program of the version before does, whatever the archive is of: one mail more, and one ended lease."""
        self.harness.converts = False
        with pytest.MonkeyPatch.context() as former, self.harness.drain() as drain:
            former.setattr(ArchiveWriter, "version", 1)
            self.harness.send(self.blue, [self.red], subject="Former")
            self.held.end(self.held.hold("d/**"))
            self.commit(drain)
        self.harness.converts = True

    def settle(self, drain: Drain) -> None:
        for _ in range(ROUNDS):
            drain.step()
            self.harness.clock.step(3)
            self.harness.tidy(drain)
            if self.is_whole():
                return
        raise AssertionError(self.harness.reports[-5:])


class Fails:
    """Let the first part of a conversion fail, once."""

    def __init__(self) -> None:
        self.has_failed = False

    def __call__(self, reached: FailPoint) -> None:
        if reached is FailPoint.CONVERSION and not self.has_failed:
            self.has_failed = True
            raise OSError("no room")


def make_old(harness: ArchiveHarness) -> Old:
    held = Held(harness)
    red, green = (harness.add_agent(held.project, name) for name in ("RedStone", "GreenField"))
    mails = []
    harness.converts = False
    with version_1(), harness.drain() as drain:
        for number in range(MAILS):
            body = f"body {number}" + "\n" * (number % 3)
            blind = [green] if number % 5 == 0 else []
            mails.append(harness.send(held.agent, [red], bcc=blind, subject="Plan", body=body))
            if number % 10 == 0:
                drain.step()
                harness.clock.step(1)
                drain.step()
        harness.read(held.project, red, mails[0])
        ended, again = held.hold("a/**"), held.hold("b/**")
        held.hold("c/**")
        held.end(ended)
        held.end(again)
        drain.step()
        harness.clock.step(1)
        drain.step()
        held.revive(again)
        drain.step()
        harness.clock.step(1)
        drain.step()
        harness.clock.step(3)
        harness.tidy(drain)
    harness.converts = True
    return Old(harness, held, held.agent, red, mails, ended)


def copy_old(made: Old, harness: ArchiveHarness) -> Old:
    """The same over `harness`, to whose folder the files were copied with their links to each other."""
    harness.clock.now = made.harness.clock.now
    harness.reports.extend(made.harness.reports)
    held = copy(made.held)
    held.harness = harness
    return replace(made, harness=harness, held=held)
