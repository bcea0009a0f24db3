"""Bad input for every tool and parameter, as data: what is sent, and which answers are right.

Cases are derived from the contract's stage (`tests/golden/surface.json`), so a new parameter is
covered, or fails for want of a sample, the day it is added there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.e2e.bad_input_lax import lax
from tests.e2e.bad_input_leases import LEASE_TABLES
from tests.e2e.bad_input_samples import (
    ACCEPTED,
    ARCHIVED,
    ARCHIVED_MESSAGE,
    ARCHIVED_RESERVATION,
    BODIES,
    CURSORS,
    FEED_CURSORS,
    INVALID,
    MAX_BODY,
    MISSING,
    NAMES,
    NO_SUCH_RECIPIENT,
    NOT_THERE,
    PROJECT,
    PROJECT_KEYS,
    RECIPIENTS,
    REGISTERING,
    TOKENS,
    TOOLS,
    VALID,
    Case,
    changed,
)
from tests.e2e.bad_input_values import CONTROLS, HOSTILE_SEARCH, PLAIN_WORDS, TRAVERSALS, WRONG_TYPES

MAY_IN_ARCHIVED = ("archive_project", "unarchive_project", "purge_old_messages")
"""The operator keeps house in archived projects too."""

MAY_BE_BLANK = {
    ("send_message", "body_md"),
    ("reply_message", "body_md"),
    ("search_messages", "query"),
    ("request_contact", "reason"),
    ("search_messages_product", "query"),
}


def every_parameter() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for tool, declared in TOOLS.items():
        for name, param in declared["params"].items():
            yield tool, name, param


def missing_and_null() -> Iterator[Case]:
    """A required argument that is not there, is null, or is blank."""
    for tool, name, param in every_parameter():
        if not param["required"]:
            continue
        less = {key: value for key, value in VALID[tool].items() if key != name}
        yield Case(f"{name}-missing", tool, less, INVALID)
        yield Case(f"{name}-null", tool, changed(tool, name, None), INVALID)
        if param["type"] in ("str", "int") and (tool, name) not in MAY_BE_BLANK:
            yield Case(f"{name}-empty", tool, changed(tool, name, ""), INVALID)
            yield Case(f"{name}-blank", tool, changed(tool, name, " \t "), INVALID)


def wrong_types() -> Iterator[Case]:
    for tool, name, param in every_parameter():
        for label, value in WRONG_TYPES[param["type"]].items():
            yield Case(f"{name}-{label}", tool, changed(tool, name, value), INVALID)
        if "values" in param:
            for label, value in {"unknown-value": "made-up", "a-number": 7, "an-empty-list": []}.items():
                yield Case(f"{name}-{label}", tool, changed(tool, name, value), INVALID)


def too_long() -> Iterator[Case]:
    """One more than the most that is accepted."""
    for tool, name, param in every_parameter():
        if limit := param.get("max_len"):
            yield Case(f"{name}-of-{limit + 1}", tool, changed(tool, name, "x" * (limit + 1)), INVALID)
        if name == "body_md":
            yield Case("body-too-long", tool, changed(tool, name, "x" * (MAX_BODY + 1)), INVALID)
            yield Case("body-too-many-bytes", tool, changed(tool, name, "é" * (MAX_BODY // 2 + 1)), INVALID)
        if name in ("thread_id", "topic", "topic_name"):
            yield Case(f"{name}-of-200", tool, changed(tool, name, "x" * 200), INVALID)
        if name == "name" and tool != "ensure_product":
            yield Case("name-of-65", tool, changed(tool, name, "x" * 65), INVALID)
        if name in RECIPIENTS:
            many = [f"Agent{number}" for number in range(501)]
            yield Case(f"{name}-501-recipients", tool, changed(tool, name, many), INVALID)
            yield Case(f"{name}-very-long-name", tool, changed(tool, name, ["x" * 5000]), NO_SUCH_RECIPIENT)
        if name in (*NAMES, *PROJECT_KEYS, "product_key", "code_repo_path", "window_uuid", "new_display_name"):
            yield Case(f"{name}-of-100000", tool, changed(tool, name, "x" * 100_000), NOT_THERE)


def too_many() -> Iterator[Case]:
    """One item more than the most, one character more than the most in one, or none where one must be."""
    for tool, name, param in every_parameter():
        if limit := param.get("max_items"):
            items = [f"Item{number}" for number in range(limit + 1)]
            yield Case(f"{name}-{limit + 1}-items", tool, changed(tool, name, items), INVALID)
        if limit := param.get("item_max_len"):
            yield Case(f"{name}-item-of-{limit + 1}", tool, changed(tool, name, ["x" * (limit + 1)]), INVALID)
        if param.get("min_items"):
            yield Case(f"{name}-no-items", tool, changed(tool, name, []), INVALID)


def control_characters() -> Iterator[Case]:
    for tool, name, param in every_parameter():
        if param["type"] not in ("str", "list[str]") or name in (*TOKENS, *BODIES, "name_hint"):
            continue
        for label, text in CONTROLS.items():
            if name in RECIPIENTS:
                yield Case(f"{name}-{label}", tool, changed(tool, name, [text]), NO_SUCH_RECIPIENT)
            elif name in (*NAMES, *PROJECT_KEYS) or name == "product_key":
                fits = NOT_THERE if param["required"] else NOT_THERE | ACCEPTED
                yield Case(f"{name}-{label}", tool, changed(tool, name, text), fits)
            elif label == "nul" or name in PLAIN_WORDS or "values" in param:
                yield Case(f"{name}-{label}", tool, changed(tool, name, text), INVALID)


def lone_surrogates() -> Iterator[Case]:
    """JSON can write half a character; it is no text."""
    for tool, name, param in every_parameter():
        if param["type"] == "str":
            yield Case(f"{name}-lone-surrogate", tool, changed(tool, name, "x\ud800y"), INVALID)


def traversals() -> Iterator[Case]:
    """Paths where names belong."""
    for tool, name, param in every_parameter():
        for label, text in TRAVERSALS.items():
            if name == "human_key" and label != "absolute":
                yield Case(f"{name}-{label}", tool, changed(tool, name, text), INVALID)
            elif name in (*NAMES, "project_key"):
                yield Case(f"{name}-{label}", tool, changed(tool, name, text), NOT_THERE)
            elif name in ("thread_id", "topic", "topic_name", "window_uuid", "new_display_name") or (
                name == "name" and tool != "ensure_product"
            ):
                yield Case(f"{name}-{label}", tool, changed(tool, name, text), INVALID)
            elif name in RECIPIENTS:
                yield Case(f"{name}-{label}", tool, changed(tool, name, [text]), NO_SUCH_RECIPIENT)
        del param


def unknown_names() -> Iterator[Case]:
    for tool, name, _ in every_parameter():
        if name == "project_key":
            yield Case("unknown-path", tool, changed(tool, name, "/code/never-made"), MISSING)
            yield Case("unknown-slug", tool, changed(tool, name, "never-made-1234"), MISSING)
        if name == "product_key" and TOOLS[tool]["params"][name]["required"]:
            yield Case("unknown-product", tool, changed(tool, name, "never-made"), MISSING)
            yield Case("unknown-product-uid", tool, changed(tool, name, "0123456789abcdef"), MISSING)
        if name == "window_uuid":
            unknown = "00000000-0000-4000-8000-000000000000"
            yield Case("unknown-window", tool, changed(tool, name, unknown), MISSING)
        if name in NAMES and (tool, name) not in REGISTERING:
            fits = (
                INVALID if name == "agent_name" and "requester" in VALID[tool] else MISSING
            )  # one of two names for one
            yield Case(f"{name}-unknown", tool, changed(tool, name, "NobodyHere"), fits)
            yield Case(f"{name}-nearly", tool, changed(tool, name, "BlueLak"), fits)
        if name in RECIPIENTS:
            for label, address in {
                "unknown": "NobodyHere",
                "nearly": "BlueLak",
                "System": "System",
                "unknown-project": "BlueLake@nowhere",
                "unknown-project-long": "project:nowhere#BlueLake",
                "no-name": "@nowhere",
                "hash-only": "project:#",
            }.items():
                yield Case(f"{name}-{label}", tool, changed(tool, name, [address]), NO_SUCH_RECIPIENT | MISSING)
        if name in ("message_id", "reply_to", "file_reservation_id"):
            yield Case(f"{name}-unknown", tool, changed(tool, name, 987_654_321), _no_such_message(tool))


def _no_such_message(tool: str) -> frozenset[str]:
    """Nobody is its recipient: to mark it changes nothing and is no error, as for another's mail."""
    return ACCEPTED if tool in ("mark_message_read", "acknowledge_message") else NOT_THERE


def numbers() -> Iterator[Case]:
    """Below the least: refused. Above the most: the most, where the contract says so. No id: refused."""
    for tool, name, param in every_parameter():
        if param["type"] != "int":
            continue
        for value in (0, -1, -(10**30)):
            if "min" not in param and not (name in CURSORS and value == 0):
                yield Case(f"{name}-{value}", tool, changed(tool, name, value), NOT_THERE)
            elif value < param.get("min", 0):
                yield Case(f"{name}-{value}", tool, changed(tool, name, value), INVALID)
        huge = _of_the_huge(tool, name, param)
        for large in (10**9, 2**63 - 1, "1000000000"):
            yield Case(f"{name}-huge-{large}", tool, changed(tool, name, large), huge)
        for value in (2**63, 2**64, 10**300):
            yield Case(f"{name}-beyond-{len(str(value))}-digits", tool, changed(tool, name, value), huge | INVALID)
        yield Case(f"{name}-infinite", tool, changed(tool, name, float("inf")), INVALID)
        yield Case(f"{name}-no-number", tool, changed(tool, name, float("nan")), INVALID)
        if floor := param.get("floor"):
            for value in (param["min"], floor - 1):
                yield Case(f"{name}-{value}-counts-as-{floor}", tool, changed(tool, name, value), ACCEPTED)
            yield Case(f"{name}-one-too-many", tool, changed(tool, name, param["max"] + 1), INVALID)


def _of_the_huge(tool: str, name: str, param: dict[str, Any]) -> frozenset[str]:
    if "max" in param and param.get("over") != "max":
        return INVALID
    if "min" in param:
        return ACCEPTED
    if name in FEED_CURSORS:
        return frozenset({"CURSOR_AHEAD"})
    return NOT_THERE | ACCEPTED if name in CURSORS else _no_such_message(tool)


def amounts() -> Iterator[Case]:
    """What may be a fraction."""
    for tool, name, param in every_parameter():
        if param["type"] == "float":
            for value in (0, -1, -0.5, "-0.5", "nan", "-inf", -(10**30), float("nan"), float("inf")):
                yield Case(f"{name}-{value}", tool, changed(tool, name, value), INVALID)


def times() -> Iterator[Case]:
    for tool, name, _ in every_parameter():
        if name == "since_ts":
            for value in (
                "yesterday",
                "2026-13-01",
                "2026-01-01T25:00:00Z",
                "1e400",
                "9" * 400,
                "nan",
                "-inf",
                "0000-01-01",
            ):
                yield Case(f"{name}-{value:.20}", tool, changed(tool, name, value), INVALID)


def identities() -> Iterator[Case]:
    """No tool may act as, or take the name of, those who exist in every project; a wrong token is denied."""
    for tool, name, _ in every_parameter():
        if name in ("agent_name", "sender_name") and not TOOLS[tool]["read_only"]:
            for reserved in ("Human", "System", "human", "HumanOverseer"):
                yield Case(
                    f"{name}-as-{reserved}",
                    tool,
                    changed(tool, name, reserved),
                    frozenset({"PERMISSION_DENIED", "NOT_FOUND", "INVALID_INPUT"}),
                )
            wrong = {**VALID[tool], "registration_token": "amt_" + "x" * 43}
            yield Case("wrong-token", tool, wrong, frozenset({"PERMISSION_DENIED"}))
        if name in TOKENS:
            for label, value in {"of-a-megabyte": "x" * 1_000_000, "nul": "a\0b"}.items():
                yield Case(
                    f"{name}-{label}",
                    tool,
                    changed(tool, name, value),
                    frozenset({"PERMISSION_DENIED", "INVALID_INPUT"}),
                )
    for reserved in (
        "Human",
        "System",
        "all",
        "everyone",
        "broadcast",
        "1Lake",
        "Blue Lake",
        "Blue@Lake",
        "Blue#Lake",
        "-x",
    ):
        yield Case(f"register-{reserved}", "register_agent", changed("register_agent", "name", reserved), INVALID)


def unknown_arguments() -> Iterator[Case]:
    for tool in TOOLS:
        yield Case("unknown-argument", tool, changed(tool, "made_up", 1), INVALID)
        yield Case("argument-in-wrong-case", tool, changed(tool, "Project_Key", PROJECT), INVALID)
        for later in TOOLS[tool]["later_params"]:
            yield Case(f"{later}-of-later", tool, changed(tool, later, "x"), INVALID)


def archived_project() -> Iterator[Case]:
    """Reads go on; every write is refused with a clear error."""
    refusal = frozenset({"CONFLICT", "PERMISSION_DENIED", "INVALID_INPUT"})
    for tool, arguments in VALID.items():
        if TOOLS[tool]["read_only"] or "project_key" not in arguments or tool in MAY_IN_ARCHIVED:
            continue
        given = {**arguments, "project_key": ARCHIVED}
        given = {key: ["OldOak"] if key == "to" else value for key, value in given.items()}
        for name in (*NAMES, "name"):
            if name in given:
                given[name] = "OldOak"
        for name, there in (("message_id", ARCHIVED_MESSAGE), ("file_reservation_id", ARCHIVED_RESERVATION)):
            if name in given:
                given[name] = there
        yield Case("archived-project", tool, given, refusal)


def retired_agent() -> Iterator[Case]:
    retired = "GoneElm"
    yield Case("to-retired", "send_message", changed("send_message", "to", [retired]), frozenset({"RECIPIENT_RETIRED"}))
    yield Case("cc-retired", "send_message", changed("send_message", "cc", [retired]), frozenset({"RECIPIENT_RETIRED"}))
    yield Case(
        "one-of-two-retired",
        "send_message",
        changed("send_message", "to", ["RedStone", retired]),
        frozenset({"RECIPIENT_RETIRED"}),
    )
    refusal = frozenset({"CONFLICT", "PERMISSION_DENIED", "INVALID_INPUT", "RECIPIENT_RETIRED"})
    yield Case("from-retired", "send_message", changed("send_message", "sender_name", retired), refusal)
    yield Case("reply-from-retired", "reply_message", changed("reply_message", "sender_name", retired), refusal)


def sends() -> Iterator[Case]:
    """Rules of sending that no single parameter shows."""
    less = {key: value for key, value in VALID["send_message"].items() if key != "to"}
    variants: dict[str, dict[str, Any]] = {
        "no-recipient": {},
        "empty-to": {"to": []},
        "broadcast-with-to": {"broadcast": True, "to": ["RedStone"]},
        "thread-of-digits-unknown": {"to": ["RedStone"], "thread_id": "999999"},
        "subject-of-line-breaks": {"to": ["RedStone"], "subject": "\n\r\n"},
        "to-holding-broken-json": {"to": '["RedStone"'},
        "to-holding-json-object": {"to": "[{}]"},
    }
    for label, extra in variants.items():
        yield Case(label, "send_message", {**less, **extra}, NO_SUCH_RECIPIENT | MISSING)


def searches() -> Iterator[Case]:
    for number, query in enumerate(HOSTILE_SEARCH):
        fits = INVALID | ACCEPTED if "\0" in query else ACCEPTED
        yield Case(f"hostile-{number}", "search_messages", changed("search_messages", "query", query), fits)


TABLES = (
    missing_and_null,
    wrong_types,
    too_long,
    too_many,
    control_characters,
    lone_surrogates,
    traversals,
    unknown_names,
    numbers,
    amounts,
    times,
    identities,
    unknown_arguments,
    archived_project,
    retired_agent,
    sends,
    searches,
    lax,
    *LEASE_TABLES,
)
