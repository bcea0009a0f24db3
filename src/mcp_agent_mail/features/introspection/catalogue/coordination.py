"""Guidance: contacts, file reservations, build slots."""

from __future__ import annotations

from mcp_agent_mail.features.introspection.guidance import Cluster, Guidance

_HERE = {"project_key": "/code/app"}
_MINE = {**_HERE, "agent_name": "BlueLake"}

CONTACT = Cluster(
    purpose="Consent: who may write to whom.",
    tools={
        "request_contact": Guidance(
            use_when="A send was refused with CONTACT_REQUIRED, or the other one works in another project.",
            related=("respond_contact", "send_message", "macro_contact_handshake"),
            frequency="rare",
            examples={"Ask": {**_HERE, "from_agent": "BlueLake", "to_agent": "RedStone", "reason": "The parser"}},
        ),
        "respond_contact": Guidance(
            use_when="An agent asked to write to you. Approval delivers what was held, denial returns it.",
            related=("request_contact", "list_contacts"),
            frequency="rare",
            examples={"Approve": {**_HERE, "to_agent": "RedStone", "from_agent": "BlueLake", "accept": True}},
        ),
        "list_contacts": Guidance(
            use_when="You want to see who may write to whom, and what waits for an answer.",
            related=("respond_contact", "set_contact_policy"),
            frequency="rare",
            examples={"All links of an agent": _MINE},
        ),
        "set_contact_policy": Guidance(
            use_when="You want more, or less, mail from strangers.",
            related=("list_contacts",),
            frequency="rare",
            examples={"Only approved contacts": {**_MINE, "policy": "contacts_only"}},
        ),
    },
)

FILE_RESERVATIONS = Cluster(
    purpose="Leases on files and globs, so that two agents do not edit the same thing.",
    tools={
        "file_reservation_paths": Guidance(
            use_when="You are about to edit files.",
            related=("release_file_reservations", "renew_file_reservations", "check_file_reservation_conflicts"),
            frequency="often",
            examples={
                "For an hour, alone": {**_MINE, "paths": ["src/parser/**"], "reason": "The lexer"},
                "Wait for up to 30 seconds": {**_MINE, "paths": ["pyproject.toml"], "wait_seconds": 30},
            },
            complexity="medium",
        ),
        "release_file_reservations": Guidance(
            use_when="You are done with files.",
            related=("file_reservation_paths",),
            frequency="often",
            examples={"All of yours": _MINE, "Some": {**_MINE, "paths": ["src/parser/**"]}},
        ),
        "renew_file_reservations": Guidance(
            use_when="Your work takes longer than the lease.",
            related=("file_reservation_paths",),
            frequency="often",
            examples={"By half an hour": _MINE},
        ),
        "force_release_file_reservation": Guidance(
            use_when="A holder is gone: evidence of that is required and returned.",
            related=("check_file_reservation_conflicts", "whois"),
            frequency="rare",
            examples={"Of one lease": {**_MINE, "file_reservation_id": 3, "note": "No sign of life for an hour."}},
            complexity="high",
        ),
        "check_file_reservation_conflicts": Guidance(
            use_when="You want to know whether files are free, without taking them.",
            related=("file_reservation_paths",),
            frequency="often",
            examples={"Look ahead": {**_MINE, "paths": ["src/parser/lexer.py"]}},
        ),
    },
)

BUILD_SLOTS = Cluster(
    purpose="One build, deployment or test run at a time.",
    tools={
        "acquire_build_slot": Guidance(
            use_when="Something that only one agent at a time may run is about to start. `am run` does all three.",
            related=("renew_build_slot", "release_build_slot"),
            frequency="often",
            examples={"Alone": {**_MINE, "slot": "frontend-build"}},
        ),
        "renew_build_slot": Guidance(
            use_when="The run takes longer than the slot.",
            related=("acquire_build_slot",),
            frequency="often",
            examples={"By half an hour": {**_MINE, "slot": "frontend-build"}},
        ),
        "release_build_slot": Guidance(
            use_when="The run has ended, well or not.",
            related=("acquire_build_slot",),
            frequency="often",
            examples={"Let go": {**_MINE, "slot": "frontend-build"}},
        ),
    },
)
