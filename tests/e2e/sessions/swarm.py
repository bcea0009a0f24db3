"""Eight agents on the minimal profile: a lead shares out work, everybody answers, and nobody has a tool too many."""

from __future__ import annotations

import re
from typing import Any

from tests.e2e.sessions.chores import Team, acknowledge, answer, look, own, send, start, take_mail, work_on
from tests.e2e.sessions.player import Call, Cost, Fix, Player, by_tool, instead, put, renamed
from tests.served import Served

PROJECT = "/code/shop"
LEAD = "BlueLake"
WORKERS = ("RedStone", "GreenField", "QuietFox", "AmberCreek", "SilverBirch", "CopperHill", "WhiteDune")
_LISTED = r"\blist\b|\[\W*"


def play(server: Served, cost: Cost, form: str) -> None:
    """The lead sends each of seven workers a task and two remarks; each works, answers and leaves."""
    lead = Player(server, cost, project=PROJECT, profile="minimal", form=form, name=LEAD)
    workers = {name: Player(server, cost, project=PROJECT, profile="minimal", form=form, name=name) for name in WORKERS}
    _begin(lead, workers)
    _share_out(lead)
    for name, worker in workers.items():
        _work(name, worker)
    team = Team(server, PROJECT)
    work_on(list(workers.values()), team, "taxes", "refunds")
    team.close()
    _gather(lead)
    for worker in workers.values():
        take_mail(worker)
        worker.done("release_file_reservations", **own(worker))
        worker.close()
    lead.close()


def _begin(lead: Player, workers: dict[str, Player]) -> None:
    session = {"human_key": PROJECT, "program": "claude-code", "model": "opus-4.1"}
    lead.mistake(
        "the own name as name",
        Call("macro_start_session", {**session, "name": LEAD}),
        renamed("name", "agent_name"),
        met=lambda value: value["agent"]["name"] == LEAD,
    )
    red, *others = workers.values()
    red.mistake(
        "program and model left out",
        Call("macro_start_session", {"human_key": PROJECT, "agent_name": red.name}),
        put("program", "claude-code", told=r"\bprogram\b"),
        put("model", "opus-4.1", told=r"\bmodel\b"),
    )
    for worker in others:
        start(worker)


def _share_out(lead: Player) -> None:
    mail: dict[str, Any] = {"project_key": PROJECT, "sender_name": LEAD, "body_md": "As agreed in the plan."}
    peers = Call(
        "macro_start_session",
        {"human_key": PROJECT, "agent_name": LEAD, "program": "claude-code", "model": "opus-4.1"},
    )
    lead.mistake(
        "all as recipient",
        Call("send_message", {**mail, "to": "all", "subject": "The plan of today", "ack_required": True}),
        Fix(re.compile(r"\bbroadcast\b"), lambda call: call.without("to").having("broadcast", value=True), peers),
    )
    lead.mistake(
        "two names in one text",
        Call("send_message", {**mail, "to": "RedStone, GreenField", "subject": "You two share src/forms"}),
        put("to", ["RedStone", "GreenField"], told=rf"{_LISTED}RedStone|RedStone and GreenField", lookup=peers),
    )
    lead.mistake(
        "a name misspelt",
        Call("send_message", {**mail, "to": ["QuietFx"], "subject": "You have the migrations"}),
        put("to", ["QuietFox"], told=r"\bQuietFox\b", lookup=peers),
    )
    lead.mistake(
        "an importance as priority",
        Call("send_message", {**mail, "to": ["AmberCreek"], "subject": "Notes first", "priority": "high"}),
        renamed("priority", "importance"),
    )
    for subject in ("Tests stay green", "Freeze at six"):
        send(lead, list(WORKERS), subject, "For all of you; no answer is needed.")


def _work(name: str, worker: Player) -> None:
    paths = [f"src/{name.lower()}/**"]
    _reserve(name, worker, paths)
    items: list[Any] = sorted(take_mail(worker), key=lambda item: int(item["id"]))
    task, *_ = (item for item in items if item["ack_required"])
    _answer(name, worker, task)
    look(worker)
    send(worker, [LEAD], f"{name}: half way", "Nothing stands in the way.")
    look(worker)
    send(worker, [LEAD], f"{name}: done", f"In `{paths[0]}`; the tests are green.", ack_required=True)


def _reserve(name: str, worker: Player, paths: list[str]) -> None:
    asked: dict[str, Any] = {**own(worker), "paths": paths}
    wrong: dict[str, tuple[str, Call, Fix]] = {
        "RedStone": (
            "paths as files",
            Call("file_reservation_paths", {**own(worker), "files": paths}),
            renamed("files", "paths"),
        ),
        "GreenField": (
            "a duration in words",
            Call("file_reservation_paths", {**asked, "ttl_seconds": "1h"}),
            put("ttl_seconds", 3600, told="whole number|seconds"),
        ),
        "QuietFox": (
            "an absolute path outside",
            Call("file_reservation_paths", {**asked, "paths": ["/home/dev/src/quietfox/"]}),
            put("paths", paths, told="from the repository's root|inside the project"),
        ),
        "AmberCreek": (
            "a tool by another name",
            Call("reserve_paths", asked),
            by_tool("file_reservation_paths"),
        ),
    }
    if name in wrong:
        what, call, fix = wrong[name]
        worker.mistake(what, call, fix)
    else:
        worker.done("file_reservation_paths", **asked)


def _answer(name: str, worker: Player, task: Any) -> None:
    if name == "SilverBirch":
        worker.mistake(
            "an id as text",
            Call("acknowledge_message", {**own(worker), "message_id": f"message {task['id']}"}),
            put("message_id", task["id"], told="whole number"),
        )
        return
    if name == "CopperHill":
        worker.mistake(
            "a reply by a tool that this profile lacks",
            Call(
                "reply_message",
                {
                    "project_key": PROJECT,
                    "sender_name": name,
                    "message_id": task["id"],
                    "body_md": "I begin.",
                },
            ),
            instead(
                Call(
                    "send_message",
                    {
                        "project_key": PROJECT,
                        "sender_name": name,
                        "to": [LEAD],
                        "subject": f"Re: {task['subject']}",
                        "body_md": "I begin.",
                        "reply_to": task["id"],
                    },
                ),
                told=r"\bsend_message\b",
            ),
        )
        acknowledge(worker, [task["id"]])
        return
    if name == "WhiteDune":
        worker.mistake(
            "a call without the project",
            Call("acknowledge_message", {"agent_name": name, "message_id": task["id"]}),
            put("project_key", PROJECT, told=r"needs project_key|[Mm]issing[^.]*project_key"),
        )
        return
    answer(worker, task, "I begin.")


def _gather(lead: Player) -> None:
    look(lead)
    done: list[Any] = take_mail(lead)
    acknowledge(lead, [item["id"] for item in done if item["ack_required"]])
    send(lead, list(WORKERS), "Thank you all", "Release your files, please.")
