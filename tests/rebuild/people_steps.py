"""Steps of agents: they come, change, leave and come back; whom they let write to them; their windows and codes."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from tests.rebuild.history import DAY, HOUR, NAMES, PROGRAM, History, Step
from tests.rebuild.world import ANYBODY

_POLICIES = ("open", "auto", "auto", "contacts_only", "block_all")
_TASKS = ("", "Write the store", "Größe\nzwei Zeilen", "計画 --- {}")


async def register(history: History) -> None:
    project = history.project()
    task, policy = history.chance.choice(_TASKS), history.chance.choice(["auto", "inline", "file"])
    await history.do(
        "register_agent",
        project_key=project,
        name=history.name_in(project),
        task_description=task,
        attachments_policy=policy,
        **PROGRAM,
    )


async def create(history: History) -> None:
    hint = {"name_hint": history.chance.choice(NAMES)} if history.luck(0.5) else {}
    await history.do("create_agent_identity", project_key=history.project(), **PROGRAM, **hint)


async def retire(history: History) -> None:
    who = history.anybody()
    await history.do("deregister_agent", project_key=who.project, agent_name=who.name)


async def come_back(history: History) -> None:
    who = history.anybody(retired=True)
    await history.do("unretire_agent", project_key=who.project, agent_name=who.name)


async def set_status(history: History) -> None:
    who = history.anybody()
    status = history.chance.choice(["ready", "busy", "do_not_disturb", "offline"])
    await history.do("set_status", project_key=who.project, agent_name=who.name, status=status, note="a note")


async def reissue(history: History) -> None:
    who = history.anybody()
    await history.do_as_operator("reissue_token", project_key=who.project, agent_name=who.name)


async def invite(history: History) -> None:
    project = history.project()
    code = await history.do_as_operator("create_join_code", project_key=project)
    if code is None:
        return
    if history.luck(0.5):
        await history.do_as_operator("revoke_join_code", project_key=project, join_code_id=code["id"])
        return
    guest = replace(ANYBODY, token_argument=code["join_code"])
    await history.do("register_agent", guest, project_key=project, name=f"Guest{history.number()}", **PROGRAM)


async def issue(history: History) -> None:
    who = history.anybody()
    given = {"project_key": who.project, "agent_name": who.name} if history.luck(0.5) else {}
    issued = await history.do_as_operator("create_issued_token", **given)
    if issued is not None and history.luck(0.5):
        await history.do_as_operator("revoke_issued_token", issued_token_id=issued["id"])


async def use_window(history: History) -> None:
    project, uuid = history.project(), str(UUID(int=history.chance.getrandbits(128), version=4))
    window = replace(ANYBODY, window_id=uuid)
    if await history.do("register_agent", window, project_key=project, **PROGRAM) is None:
        return
    await history.do("rename_window", project_key=project, window_uuid=uuid, new_display_name=f"W{history.number()}")
    if history.luck(0.5):
        await history.do("expire_window", project_key=project, window_uuid=uuid)


async def set_policy(history: History) -> None:
    who = history.anybody()
    policy = history.chance.choice(_POLICIES)
    await history.do("set_contact_policy", project_key=who.project, agent_name=who.name, policy=policy)


async def ask_contact(history: History) -> None:
    who = history.anybody()
    to_agent = f"New{history.number()}" if history.luck(0.05) else history.neighbour(who, elsewhere=0.4)
    await history.do(
        "request_contact",
        project_key=who.project,
        from_agent=who.name,
        to_agent=to_agent,
        reason=history.chance.choice(["", "because", "zwei\nZeilen"]),
        ttl_seconds=int(history.chance.choice([HOUR, 7 * DAY])),
    )


async def answer_contact(history: History) -> None:
    """Of links that are asked for mostly: held mail comes through, or goes back."""
    row = history.some(
        "SELECT sp.human_key, s.name, tp.human_key, t.name FROM contacts c JOIN agents s ON s.id = c.source_id "
        "JOIN agents t ON t.id = c.target_id JOIN projects sp ON sp.id = s.project_id "
        "JOIN projects tp ON tp.id = t.project_id WHERE c.status = 'pending' OR ? ORDER BY c.id",
        history.luck(0.2),
    )
    if row is None:
        return
    from_project, from_agent, project, to_agent = row
    await history.do(
        "respond_contact",
        project_key=project,
        to_agent=to_agent,
        from_agent=from_agent,
        from_project=from_project,
        accept=history.luck(0.7),
        ttl_seconds=int(history.chance.choice([HOUR, 30 * DAY])),
    )


async def start_session(history: History) -> None:
    project = history.project()
    await history.do(
        "macro_start_session",
        human_key=project,
        agent_name=history.name_in(project),
        task_description=history.chance.choice(_TASKS),
        file_reservation_paths=[f"session/{history.number()}.py"],
        **PROGRAM,
    )


async def join_thread(history: History) -> None:
    row = history.some(
        "SELECT m.thread_id, p.human_key FROM message_projects m JOIN projects p ON p.id = m.project_id "
        "WHERE m.thread_id IS NOT NULL ORDER BY m.message_id"
    )
    if row is not None:
        who = {"agent_name": history.name_in(row[1]), **PROGRAM}
        await history.do("macro_prepare_thread", project_key=row[1], thread_id=row[0], **who)


async def shake_hands(history: History) -> None:
    who = history.anybody()
    await history.do(
        "macro_contact_handshake",
        project_key=who.project,
        requester=who.name,
        target=history.neighbour(who, elsewhere=0.4),
        auto_accept=history.luck(0.5),
        welcome_subject="Welcome",
        welcome_body="Hello",
    )


STEPS = (
    Step(("register_agent",), 4, register),
    Step(("create_agent_identity",), 0.7, create),
    Step(("deregister_agent",), 1, retire),
    Step(("unretire_agent",), 2, come_back),
    Step(("set_status",), 1, set_status),
    Step(("reissue_token",), 0.7, reissue),
    Step(("create_join_code", "revoke_join_code", "register_agent"), 1.5, invite),
    Step(("create_issued_token", "revoke_issued_token"), 0.7, issue),
    Step(("register_agent", "rename_window", "expire_window"), 1.5, use_window),
    Step(("set_contact_policy",), 3, set_policy),
    Step(("request_contact",), 3, ask_contact),
    Step(("respond_contact",), 5, answer_contact),
    Step(("macro_start_session",), 2, start_session),
    Step(("macro_prepare_thread",), 1, join_thread),
    Step(("macro_contact_handshake",), 2, shake_hands),
)
