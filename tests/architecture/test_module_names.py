"""A module is named for a thing, or for what a tool or command does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.architecture.trees import PACKAGE, ROOT

VERBS = frozenset(
    """
 adopt check ensure extract init install migrate offload open purge read rebuild register release renew reserve reset
 run send serve verify wait wake withdraw
    """.split()
)
"""What a use case, a tool or a command does. Such a module begins or ends with it: `send`, `force_release`."""

NOUNS = frozenset(
    """
 ack activity actor addresse admission admitted adoption age agent announcement answer app archive archiver argument
 artifact asgi assembly asset attachment backfill background backpressure backup bearer blob block book boundary branch
 breaker browser bu budget bundle cache call caller catalog chain change charset check claim client clock code coding
 command committer completion computation config conflict connection consent contact content context conversion
 converter cookie coordination copie copy correspondent count cue cursor database dataclas decision deliverie delivery
 description descriptor digest discovery dispatch doc doctor document door drain dump edge edit end endpoint entry env
 environment error escaping event evidence expansion export extending fact failpoint fault feed field file filter
 finding flag folder form format foundation frame gate git grant group guard guidance header hearing help hint history
 holder home hook http id idempotency identifier identitie identity image import inbox inboxe index inline inspection
 instrumentation integrity journal keeper kernel key kind ladder layout lease ledger lifespan likenes limit line link
 listener llm lock log logging look lookup mail mailbox maintenance manifest mark markdown marker mcp member message
 meta metric month mount name need new note notice number openapi option outbox output owner ownership pace pack page
 param parameter part participant pas path pathspec pattern payload people place plan pop port preference preparation
 presence problem proces product profile progres project prompt proof protocol proxie proxy query question queue
 ranking rate read reader readership receipt recipient record recording recovery redaction refinement refiner refresh
 refusal relocation reminder repair report repository request reservation resolution resource response restore result
 retention rewrite role round route row rpc rule save saved schema scratch screen search segment sequence server
 service session set setting setup shape shim sibling signal signature silence size slot snapshot sort source space
 spool stalenes statement statu stemming step store story stream subscription successor summarie supervisor surrounding
 swap sweeper sync synonym syntax table target team term text thread token tool toon tracing transaction turn type typer
 undo upkeep upstream uri usage value verifier version visibility waiter watch webhook window wire wiring wishe
 withdrawal word work worker workflow workspace worktree writer
    """.split()
)
"""Without the `s` of several: what a module that holds things ends with. A gerund or an adjective says nothing of what
is inside (`moving`, `plain`); those here are names of the field (`stemming`, `tracing`).
"""


def _single(word: str) -> str:
    return word.removesuffix("s")


def _modules(source: Path) -> Iterator[Path]:
    return (path for path in source.rglob("*.py") if not path.stem.startswith("__"))


def _verb_of(module: Path) -> str | None:
    words = module.stem.split("_")
    return next((word for word in (words[0], words[-1]) if word in VERBS), None)


def _noun_of(module: Path) -> str:
    return _single(module.stem.split("_")[-1])


def _misnamed(source: Path) -> list[str]:
    return sorted(
        str(path.relative_to(source))
        for path in _modules(source)
        if _verb_of(path) is None and _noun_of(path) not in NOUNS
    )


def test_a_module_is_named_for_a_thing_or_for_what_a_tool_does() -> None:
    assert _misnamed(ROOT / PACKAGE) == []


def test_no_word_is_listed_that_no_module_is_named_for() -> None:
    modules = list(_modules(ROOT / PACKAGE))
    verbs = {_verb_of(path) for path in modules}

    assert VERBS - verbs == set()
    assert NOUNS - {_noun_of(path) for path in modules if _verb_of(path) is None} == set()


def test_a_module_that_is_named_for_nothing_is_found(tmp_path: Path) -> None:
    for name in ("moving", "plain", "mail", "force_release"):
        (tmp_path / f"{name}.py").touch()

    assert _misnamed(tmp_path) == ["moving.py", "plain.py"]
