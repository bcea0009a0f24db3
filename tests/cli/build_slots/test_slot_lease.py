from __future__ import annotations

import time
from typing import Any

import pytest

from mcp_agent_mail.cli.build_slots.context import SlotContext
from mcp_agent_mail.cli.build_slots.slot_lease import ASK_AGAIN_S, SlotLease, SlotTaken, SlotTerms
from tests.cli.conftest import Post
from tests.cli.scripted_server import ScriptedServer, answer
from tests.cli.shell import Shell

Captured = pytest.CaptureFixture[str]


class Slot:
    """One slot of the shared server, which BlueLake holds from outside and RedStone wants too."""

    def __init__(self, shell: Shell, project: str, name: str) -> None:
        self.shell = shell
        self.project = project
        self.name = name
        place = SlotContext(project_key=project, agent="BlueLake", branch=None)
        self.lease = SlotLease(shell.context(), place, SlotTerms(slot=name, ttl_s=60, exclusive=True))

    # Plain JSON.
    def does(self, tool: str, agent: str, **more: Any) -> Any:
        given = {"project_key": self.project, "agent_name": agent, "slot": self.name, **more}
        return self.shell.call(f"{tool}_build_slot", **given)

    def is_free(self) -> bool:
        taken = self.does("acquire", "RedStone")["granted"] is not None
        self.does("release", "RedStone")
        return taken

    def ends(self) -> str:
        """When BlueLake's hold ends, as RedStone is told."""
        return str(self.does("acquire", "RedStone")["conflicts"][0]["expires_ts"])


@pytest.fixture
def slot(at_post: Shell, post: Post, request: pytest.FixtureRequest) -> Slot:
    return Slot(at_post, post.project, request.node.name[:60])


def go_on(_: float) -> bool:
    return True


def test_a_free_slot_is_taken_and_given_back(slot: Slot) -> None:
    began = time.monotonic()
    is_taken = slot.lease.take(wait_s=0, pause=go_on)
    ended = time.monotonic()
    is_held = not slot.is_free()
    slot.lease.give_back()

    assert (is_taken, is_held, slot.is_free()) == (True, True, True)
    assert began + 20 <= slot.lease.next_at <= ended + 20


def test_a_slot_in_use_is_told_with_its_holder(slot: Slot) -> None:
    held = slot.does("acquire", "RedStone")["granted"]

    with pytest.raises(SlotTaken) as taken:
        slot.lease.take(wait_s=0, pause=go_on)

    slot.lease.give_back()
    assert taken.value.message == f"Slot {slot.name} is held by RedStone until {held['expires_ts']}."
    assert taken.value.hint == "Wait for it with --wait SECONDS, or write to RedStone."
    assert slot.does("release", "RedStone")["released"] is True


def test_whoever_waits_says_so_once_and_takes_it_when_it_is_free(slot: Slot, capsys: Captured) -> None:
    slot.does("acquire", "RedStone")
    waited: list[float] = []

    def pause(seconds: float) -> bool:
        waited.append(seconds)
        if len(waited) == 3:
            slot.does("release", "RedStone")
        return True

    is_taken = slot.lease.take(wait_s=600, pause=pause)

    slot.lease.give_back()
    assert (is_taken, waited) == (True, [ASK_AGAIN_S] * 3)
    assert capsys.readouterr().err.count("am run: waiting: Slot") == 1


def test_whoever_is_told_to_stop_waiting_has_nothing(slot: Slot) -> None:
    slot.does("acquire", "RedStone")

    is_taken = slot.lease.take(wait_s=600, pause=lambda _: False)

    assert is_taken is False
    assert slot.does("release", "RedStone")["released"] is True


def test_who_never_got_the_slot_gives_back_nothing_that_its_agent_got_since(slot: Slot) -> None:
    slot.does("acquire", "RedStone")
    slot.lease.take(wait_s=600, pause=lambda _: False)
    slot.does("release", "RedStone")
    slot.does("acquire", "BlueLake")

    slot.lease.give_back()

    assert slot.does("release", "BlueLake")["released"] is True


def test_a_held_slot_is_renewed(slot: Slot) -> None:
    slot.lease.take(wait_s=0, pause=go_on)
    before = slot.ends()
    slot.lease.next_at, began = 0.0, time.monotonic()

    slot.lease.keep()

    assert began + 20 <= slot.lease.next_at <= time.monotonic() + 20
    assert slot.ends() > before
    slot.lease.give_back()
    assert slot.is_free()


def test_a_lost_slot_is_taken_again_when_it_is_free(slot: Slot, capsys: Captured) -> None:
    slot.lease.take(wait_s=0, pause=go_on)
    slot.does("release", "BlueLake")

    slot.lease.keep()

    assert capsys.readouterr().err == ""
    assert not slot.is_free()
    slot.lease.give_back()
    assert slot.is_free()


def test_a_slot_lost_to_another_is_said_once_tried_again_soon_and_left_to_it(slot: Slot, capsys: Captured) -> None:
    slot.lease.take(wait_s=0, pause=go_on)
    slot.does("release", "BlueLake")
    slot.does("acquire", "RedStone")

    slot.lease.keep()
    slot.lease.keep()
    slot.lease.give_back()

    said = capsys.readouterr().err
    assert said.count("held by RedStone") == 1
    assert "goes on without it" in said
    assert slot.lease.next_at - time.monotonic() <= 5
    assert slot.does("release", "RedStone")["released"] is True


def test_a_slot_that_the_agent_held_before_is_left_held(slot: Slot, capsys: Captured) -> None:
    slot.does("acquire", "BlueLake")

    slot.lease.take(wait_s=0, pause=go_on)
    slot.lease.give_back()

    assert f"BlueLake held slot {slot.name} before: it is left held." in capsys.readouterr().err
    assert slot.does("release", "BlueLake")["released"] is True


def test_a_renewal_that_fails_is_said_once_until_one_succeeds(slot: Slot, capsys: Captured) -> None:
    full = answer({"error": {"type": "UNAVAILABLE", "message": "The disk is full."}}, status=503)
    granted = answer({"granted": {}, "conflicts": []})
    renewed = answer({"renewed": True})
    with ScriptedServer(granted, full, full, renewed, full) as server:
        slot.shell.set(AGENT_MAIL_URL=server.url)
        failing = Slot(slot.shell, slot.project, slot.name).lease
        failing.take(wait_s=0, pause=go_on)
        for _ in range(4):
            failing.keep()
        failing.give_back()

    said = capsys.readouterr().err.splitlines()
    assert said[:2] == ["am run: the slot could not be renewed: The disk is full."] * 2
    assert said[2:] == [
        f"am run: slot {slot.name} could not be released, and ends by itself: The disk is full.",
    ]


def test_the_branch_of_each_holder_is_told(slot: Slot) -> None:
    holders = [
        {"agent": "RedStone", "branch": "main", "expires_ts": "noon"},
        {"agent": "GrayFox", "branch": None, "expires_ts": "one"},
    ]
    with ScriptedServer(answer({"granted": None, "conflicts": holders})) as server:
        slot.shell.set(AGENT_MAIL_URL=server.url)
        with pytest.raises(SlotTaken, match=r"held by RedStone \(branch main\) until noon; GrayFox until one\."):
            Slot(slot.shell, slot.project, slot.name).lease.take(wait_s=0, pause=go_on)
