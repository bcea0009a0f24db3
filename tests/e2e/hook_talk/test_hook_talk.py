from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import read_contract
from mcp_agent_mail.clients.hook.payload import HookPayload
from mcp_agent_mail.clients.hook.run import HookRun
from mcp_agent_mail.core import running_server as wire
from tests.e2e.hook_talk.talk import Talk

TURNS = 24
PATIENT_S = 20.0


def in_this_process(client: str, event: str, told: dict[str, Any], environ: Mapping[str, str]) -> str:
    """The hook less what a process of its own is for: `make hook-talk` runs those."""
    contract = read_contract(client)
    # The guard goes to the folder that it judges, which is for the rest of its own process.
    with contextlib.chdir(Path.cwd()):
        reply = HookRun(contract, event, HookPayload(contract, told), environ).reply()
        reply.after(is_flushed=True)
    return reply.printed.stdout


def test_each_item_of_a_conversation_is_told_at_its_slot_once_and_nothing_without_mail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may be late: when is asked here, and not how soon.
    monkeypatch.setattr(wire, "PATIENCE_S", PATIENT_S)
    talk = Talk(tmp_path, 1, len, in_this_process)

    talk.play(TURNS)

    assert talk.faults == []
    assert len(+talk.slots) >= 6, talk.slots
    assert [one.texts for one in talk.turns if not one.has_mail and not one.is_reprimed and one.texts] == []
    assert sum(len(one.told) for one in talk.talkers) >= TURNS // 2
