"""The session of `am demo --macros`: eight agents in three projects of one product, each calling macros alone.

What a person does around them, tying the projects together and looking at the whole, are calls of the product's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import field
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.demo.agents import CallTool, fastmcp_client, official_client
from mcp_agent_mail.cli.demo.story import wait_for_archive
from mcp_agent_mail.core.lazy.dataclass import dataclass

PRODUCT = "shop"
TEAM = {
    "BlueLake": ("web", "The cart page"),
    "RedStone": ("web", "Totals and taxes"),
    "GreenCastle": ("web", "Search box"),
    "GrayFox": ("api", "Prices"),
    "QuietRiver": ("api", "Migrations"),
    "SilverHawk": ("api", "Import of last year's orders"),
    "CopperField": ("docs", "Release notes"),
    "AmberWren": ("docs", "Screenshots"),
}
RESERVED = {
    "BlueLake": ["src/cart/**"],
    "RedStone": ["src/tax/**", "src/cart/total.ts"],
    "GrayFox": ["src/prices/**"],
    "CopperField": ["release-notes.md"],
}

Line = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Scene:
    """`calls` are the agents' own, by tool, in order."""

    workspace: Path
    clients: Mapping[str, CallTool]
    line: Line
    pause_s: float
    tokens: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def key(self, agent: str) -> str:
        return str(self.workspace / TEAM[agent][0])

    # Arguments and answers are plain JSON.
    async def calls_macro(self, agent: str, macro: str, what: str, /, **arguments: Any) -> Any:
        """The macro's answer, after the pause and a numbered line that says what the agent does. Its token goes along
        once `tokens` has it. Raises WireError where the server refuses.
        """
        await asyncio.sleep(self.pause_s)
        self.calls.append(macro)
        self.line(f"{len(self.calls):>2}. {agent} {what}  [{macro}]")
        token = {"registration_token": self.tokens[agent]} if agent in self.tokens else {}
        return await self.clients[agent](macro, {**arguments, **token})

    def says(self, text: str) -> None:
        self.line(f"      {text}")


async def play_team(url: str, workspace: Path, line: Line, *, pause_s: float) -> list[str]:
    """The session from its begin to its last commit in Git. The tools that agents called."""
    async with AsyncExitStack() as opened:
        clients: dict[str, CallTool] = {}
        for number, agent in enumerate(TEAM):
            connect = fastmcp_client if number % 2 else official_client
            clients[agent] = await opened.enter_async_context(connect(f"{url}/mcp"))
        scene = Scene(workspace=workspace, clients=clients, line=line, pause_s=pause_s)
        for agent in TEAM:
            await _begins(scene, agent)
        await _tie_together(scene)
        await _settles_the_total(scene)
        await _works_for_a_moment(scene)
        await _asks_next_door(scene)
        await _writes_release_notes(scene)
        await _look_at_the_whole(scene)
        await wait_for_archive(clients["BlueLake"])
        return scene.calls


async def _begins(scene: Scene, agent: str) -> None:
    folder, task = TEAM[agent]
    begun = await scene.calls_macro(
        agent,
        "macro_start_session",
        f"begins in {folder}: {task}",
        human_key=scene.key(agent),
        program="demo",
        model="scripted",
        task_description=task,
        agent_name=agent,
        file_reservation_paths=RESERVED.get(agent, []),
    )
    scene.tokens[agent] = begun["agent"]["registration_token"]
    _tell_reservations(scene, begun["file_reservations"])
    if peers := [peer["name"] for peer in begun["peers"]]:
        scene.says(f"meets {', '.join(peers)}")


# Answers are plain JSON.
def _tell_reservations(scene: Scene, reservations: Mapping[str, Any]) -> None:
    for grant in reservations["granted"]:
        scene.says(f"holds {grant['path_pattern']} until {grant['expires_ts'][11:16]}")
    for conflict in reservations["conflicts"]:
        (holder,) = conflict["holders"]
        scene.says(f"does not get {conflict['path']}: {holder['agent']} holds {holder['path_pattern']}")


async def _tie_together(scene: Scene) -> None:
    scene.line(f"\n    You make the three projects one product, {PRODUCT}.\n")
    person = scene.clients["BlueLake"]
    await person("ensure_product", {"name": PRODUCT})
    for folder in dict.fromkeys(folder for folder, _ in TEAM.values()):
        await person("products_link", {"product_key": PRODUCT, "project_key": str(scene.workspace / folder)})


async def _writes(scene: Scene, agent: str, to: str, about: tuple[str, str], body: str) -> Mapping[str, Any]:
    """A handshake whose welcome is the message; `about` is the thread and the subject."""
    thread_id, subject = about
    elsewhere = {} if TEAM[to][0] == TEAM[agent][0] else {"to_project": scene.key(to)}
    shaken: Mapping[str, Any] = await scene.calls_macro(
        agent,
        "macro_contact_handshake",
        f"writes to {to}: {subject}",
        project_key=scene.key(agent),
        requester=agent,
        target=to,
        auto_accept=True,
        welcome_subject=subject,
        welcome_body=body,
        thread_id=thread_id,
        register_if_missing=False,
        **elsewhere,
    )
    for text in body.splitlines():
        scene.says(f"| {text}".rstrip())
    if shaken["welcome_message"]["held"]:
        scene.says(f"{to} works next door and is asked first: the message waits for its word")
    else:
        scene.says(f"{to} takes mail from its project: contact {shaken['response']['status']}, message delivered")
    return shaken


async def _joins(scene: Scene, agent: str, thread_id: str) -> None:
    joined = await scene.calls_macro(
        agent,
        "macro_prepare_thread",
        f"looks at the thread {thread_id}",
        project_key=scene.key(agent),
        thread_id=thread_id,
        program="demo",
        model="scripted",
        agent_name=agent,
    )
    thread = joined["thread"]
    people = ", ".join(thread["summary"]["participants"])
    scene.says(f"mail there: {thread['total_messages']}{f', of {people}' if people else ''}")
    scene.says(f"newest in its own inbox: {joined['inbox'][0]['subject']}")
    for part in ("decisions", "open_questions", "action_items"):
        for entry in thread["summary"][part]:
            scene.says(f"{part.replace('_', ' ').removesuffix('s')}: {entry}")


async def _settles_the_total(scene: Scene) -> None:
    thread = "cart-total"
    await _writes(scene, "RedStone", "BlueLake", (thread, "total.ts"), "May I change src/cart/total.ts after you?")
    await _joins(scene, "BlueLake", thread)
    answer = "Decision: totals are computed in cents.\n\n- [ ] RedStone: round half up in src/tax"
    await _writes(scene, "BlueLake", "RedStone", (thread, "Re: total.ts"), answer)
    await _joins(scene, "RedStone", thread)


async def _works_for_a_moment(scene: Scene) -> None:
    async def reserves(agent: str, path: str, what: str, *, auto_release: bool) -> None:
        cycled = await scene.calls_macro(
            agent,
            "macro_file_reservation_cycle",
            what,
            project_key=scene.key(agent),
            agent_name=agent,
            paths=[path],
            auto_release=auto_release,
        )
        _tell_reservations(scene, cycled["file_reservations"])
        if cycled["released"] is not None:
            scene.says(f"gives back {cycled['released']['released']}")

    await reserves("GreenCastle", "package.json", "makes sure that package.json is free", auto_release=True)
    await reserves("QuietRiver", "migrations/**", "takes the migrations", auto_release=False)
    await reserves("SilverHawk", "migrations/0042.sql", "wants a migration too", auto_release=False)
    await _writes(scene, "SilverHawk", "QuietRiver", ("migrations", "0042"), "Do you need migrations/0042.sql long?")
    await _joins(scene, "QuietRiver", "migrations")


async def _asks_next_door(scene: Scene) -> None:
    question = "Does /prices answer in cents from today?"
    await _writes(scene, "BlueLake", "GrayFox", ("cart-total", "Prices in cents"), question)
    await _joins(scene, "GrayFox", "cart-total")


async def _writes_release_notes(scene: Scene) -> None:
    thread = "release-notes"
    body = "Decision: the release is called Cents.\n\n- [ ] AmberWren: new screenshots of the cart"
    await _writes(scene, "CopperField", "AmberWren", (thread, "Release notes"), body)
    await _joins(scene, "AmberWren", thread)


async def _look_at_the_whole(scene: Scene) -> None:
    arguments = {"product_key": PRODUCT, "query": "Decision"}
    found = await scene.clients["BlueLake"]("search_messages_product", arguments)
    scene.line(f"\n    You look for what was decided anywhere in {PRODUCT}:\n")
    for hit in found:
        scene.says(f"{Path(hit['project']).name}: {hit['from']}: {hit['subject']}")
