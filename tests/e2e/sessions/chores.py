"""What every agent does besides its work, with as few calls as the server offers."""

from __future__ import annotations

from typing import Any

from tests.e2e.sessions.player import Player
from tests.served import Served


def start(player: Player, **more: Any) -> Any:
    """Come to a project under the player's own name; gives the session's value."""
    return player.done(
        "macro_start_session",
        human_key=player.project,
        agent_name=player.name,
        program="claude-code",
        model="opus-4.1",
        **more,
    )


def own(player: Player) -> dict[str, Any]:
    """The arguments that most calls begin with."""
    return {"project_key": player.project, "agent_name": player.name}


def look(player: Player) -> int:
    """Is there new mail? Gives how much."""
    if player.offers("fetch_inbox", "mark_read"):
        counts = player.done("fetch_inbox", **own(player), limit=0)
        return int(counts["unread_count"])
    return len(player.done("fetch_inbox", **own(player), unread_only=True))


def take_mail(player: Player) -> list[Any]:
    """Read what is unread, with bodies, and mark it; what asks for an acknowledgement is for the caller to answer."""
    asked = {**own(player), "unread_only": True, "include_bodies": True}
    if player.offers("fetch_inbox", "mark_read"):
        items: list[Any] = player.done("fetch_inbox", **asked, mark_read=True)
        return items
    items = player.done("fetch_inbox", **asked)
    marking = "mark_message_read" if player.offers("mark_message_read") else "acknowledge_message"
    for item in items:
        if not item["ack_required"]:
            player.done(marking, **own(player), message_id=item["id"])
    return items


def acknowledge(player: Player, ids: list[int]) -> None:
    """Say of each that it was acted on."""
    if player.offers("acknowledge_message", "message_ids"):
        player.done("acknowledge_message", **own(player), message_ids=ids)
        return
    for message_id in ids:
        player.done("acknowledge_message", **own(player), message_id=message_id)


def answer(player: Player, item: Any, body: str) -> None:
    """Reply, and acknowledge where that was asked for."""
    if not player.offers("reply_message"):
        send(player, [item["from"]], f"Re: {item['subject']}", body, reply_to=item["id"])
        if item["ack_required"]:
            acknowledge(player, [item["id"]])
        return
    said = {
        "project_key": player.project,
        "message_id": item["id"],
        "sender_name": player.name,
        "body_md": body,
    }
    if not item["ack_required"]:
        player.done("reply_message", **said)
    elif player.offers("reply_message", "acknowledge"):
        player.done("reply_message", **said, acknowledge=True)
    else:
        player.done("reply_message", **said)
        acknowledge(player, [item["id"]])


def come_back(player: Player) -> Any:
    """Start anew under the same name, and know what one still holds and has not read."""
    session = start(player)
    if "held" not in session:
        player.read(f"resource://file_reservations/{session['project']['slug']}")
    if "unread_count" not in session:
        player.done("fetch_inbox", **own(player), unread_only=True)
    return session


def read_thread(player: Player, thread_id: str) -> Any:
    """All mail of a thread."""
    if player.offers("read_mail"):
        return player.done("read_mail", **own(player), thread_id=thread_id)
    return player.read(f"resource://thread/{thread_id}?project={player.project}")


def send(player: Player, to: list[str], subject: str, body: str, **more: Any) -> int:
    """Gives the message's id."""
    sent = player.done(
        "send_message",
        project_key=player.project,
        sender_name=player.name,
        to=to,
        subject=subject,
        body_md=body,
        **more,
    )
    return int(sent["deliveries"][0]["payload"]["id"])


class Team:
    """Agents beside the session, who write to its players while these work; what they do costs the session nothing."""

    NAMES = ("CopperPine", "IvoryWren", "OliveStone")

    def __init__(self, server: Served, project: str) -> None:
        self._calls, self._project = server.connect(), project
        for name in self.NAMES:
            self._calls.call("macro_start_session", human_key=project, agent_name=name, program="codex", model="a")

    def write(self, to: list[str], about: str) -> None:
        """Six messages to each of `to`, two of which ask for an acknowledgement."""
        for number in range(6):
            self._calls.call(
                "send_message",
                project_key=self._project,
                sender_name=self.NAMES[number % len(self.NAMES)],
                to=to,
                subject=f"{about}: step {number} is through review",
                body_md=f"Step {number} of {about} is on main since this morning; see `docs/steps.md` for what moved.",
                ack_required=number % 3 == 0,
            )

    def close(self) -> None:
        self._calls.close()


def work_on(players: list[Player], team: Team, *abouts: str) -> None:
    """Between two steps of its work each player looks, reads what came and acknowledges what asks for it."""
    for about in abouts:
        team.write([str(player.name) for player in players], about)
        for player in players:
            look(player)
            acknowledge(player, [item["id"] for item in take_mail(player) if item["ack_required"]])
