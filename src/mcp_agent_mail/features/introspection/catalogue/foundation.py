"""Guidance: the server, projects, the guard, agents and windows."""

from __future__ import annotations

from mcp_agent_mail.features.introspection.guidance import Cluster, Guidance

_HERE = {"project_key": "/code/app"}
_PROFILE = {"program": "claude-code", "model": "opus"}

INFRASTRUCTURE = Cluster(
    purpose="Is the server well; projects; the guard in code repositories.",
    tools={
        "health_check": Guidance(
            use_when="Something fails and you want to know whether it is the server.",
            related=("ensure_project",),
            frequency="rare",
            examples={"Ask for a verdict from a real write and read": {}},
        ),
        "ensure_project": Guidance(
            use_when="You start in a working directory that nobody has used here yet.",
            related=("macro_start_session", "register_agent"),
            frequency="per session",
            examples={"Make or find the project of a directory": {"human_key": "/code/app"}},
        ),
        "install_precommit_guard": Guidance(
            use_when="Commits that touch files reserved by others should be refused in a repository.",
            related=("uninstall_precommit_guard", "file_reservation_paths"),
            frequency="once",
            examples={"Guard a repository": {**_HERE, "code_repo_path": "/code/app"}},
            complexity="medium",
        ),
        "uninstall_precommit_guard": Guidance(
            use_when="A repository should be as it was before the guard.",
            related=("install_precommit_guard",),
            frequency="rare",
            examples={"Take the guard out": {"code_repo_path": "/code/app"}},
        ),
        "archive_project": Guidance(
            use_when="Work on a project is over: it refuses writes and disappears from lists.",
            related=("unarchive_project",),
            frequency="rare",
            examples={"Close a project": _HERE},
        ),
        "unarchive_project": Guidance(
            use_when="Work on an archived project goes on.",
            related=("archive_project",),
            frequency="rare",
            examples={"Open it again": _HERE},
        ),
    },
)

IDENTITY = Cluster(
    purpose="Who works here: registering, looking others up, presence, windows.",
    tools={
        "register_agent": Guidance(
            use_when="You want to be known under a name that you keep, or to update your profile.",
            related=("create_agent_identity", "macro_start_session", "whois"),
            frequency="per session",
            examples={"Register under a name": {**_HERE, **_PROFILE, "name": "BlueLake"}},
        ),
        "create_agent_identity": Guidance(
            use_when="You want a new identity in any case, never an existing one.",
            related=("register_agent",),
            frequency="rare",
            examples={"A new agent under a generated name": {**_HERE, **_PROFILE}},
        ),
        "whois": Guidance(
            use_when="You want to know what an agent works on and what it last did.",
            related=("list_agents",),
            frequency="often",
            examples={"Look one up": {**_HERE, "agent_name": "BlueLake"}},
        ),
        "list_agents": Guidance(
            use_when="You want to know who is there before you write.",
            related=("whois", "send_message"),
            frequency="per session",
            examples={"Who was active within the hour": {**_HERE, "active_within_s": 3600}},
        ),
        "deregister_agent": Guidance(
            use_when="You are done for good: no new mail, reservations released, history kept.",
            related=("unretire_agent", "set_status"),
            frequency="once",
            examples={"Leave": {**_HERE, "agent_name": "BlueLake"}},
        ),
        "unretire_agent": Guidance(
            use_when="A retired agent works again.",
            related=("deregister_agent", "register_agent"),
            frequency="rare",
            examples={"Come back": {**_HERE, "agent_name": "BlueLake"}},
        ),
        "set_status": Guidance(
            use_when="Others should know whether to expect an answer.",
            related=("list_agents",),
            frequency="often",
            examples={"Say that you are at work": {**_HERE, "agent_name": "BlueLake", "status": "busy"}},
        ),
        "list_window_identities": Guidance(
            use_when="You want to see which terminal windows have an agent of their own.",
            related=("rename_window", "expire_window"),
            frequency="rare",
            examples={"The live ones": _HERE},
        ),
        "rename_window": Guidance(
            use_when="A window should have a name that a person recognises.",
            related=("list_window_identities",),
            frequency="rare",
            examples={
                "Rename": {
                    **_HERE,
                    "window_uuid": "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11",
                    "new_display_name": "Tests",
                }
            },
        ),
        "expire_window": Guidance(
            use_when="A window is closed for good.",
            related=("list_window_identities",),
            frequency="rare",
            examples={"Forget it": {**_HERE, "window_uuid": "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"}},
        ),
    },
)
