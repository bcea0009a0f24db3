"""Every word of a public class name is one of the glossary's, or plain: it means here what it means anywhere."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from pathlib import Path

from tests.architecture.structure import public_class_names
from tests.architecture.trees import PACKAGE, ROOT

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

PLAIN = frozenset(
    """
 a abandoned accepted acquired action activity addres addresse addressed addressee admission admitted adopted adoption
 aggregate ahead aliase all alone already ambiguou amount answer answered app archiving argument asgi asked assessment
 at audience auth authentication auto away back backfill background backlog bad bar begun behind bench beside beyond
 blocked body both bound boundary bounded branch broken bu budget busy by call cancelled cannot care carried carrier
 change changed charge chart check checked checkout choice claimed claude cli client clock closed closing column command
 committed completion config contradict conversation conversion converted copie costly count counter counting cue
 cursor cutoff cycled damaged data database day deadline declined definition deliverie denied derived differ difference
 direction directory discovery disk dismissed document done draft drained draining duration echo echoing edited either
 else elsewhere empty ended endpoint enforcement entry env error exceeded exhausted exit expected expired expiry fact
 fail failed failure field figure filter finding fixture flag flaw follow forced foreign forgotten form found full
 function gate gateway git given glob gone grant graph group growth guarded guarding guidance handshake hard head
 health hearing history hit holder home http identifier identitie ignored importance inboxe index inline input insert
 inspection installation installed instruction instrumented integrity internal introspection invalid invited it item
 job joined journal json judgement kept keyed kill kind lag large layout lazy leaf lean leased ledger left lender
 limit limited limiter line link linked list listed listen listing lite llm loaded lock locked log long loop lost mail
 maker many markdown marked matching mcp memory message messaging meta metric migration mismatch misread missing
 mistake mode model month move moved much named naming near nearby need neighbourhood new newcomer newer newest no
 nobody node not note noted nothing notice object occupied old older once open opened opening option order origin other
 our out outcome output outside owned pace pack pair param part party pas pattern pending people periodic permission
 phrase piece place plain plan planned point pong popped port position postal preference preparation prepared preset
 preview probe problem proces program progres prompt proof proxie proxy pushed pusher query question queued quota
 ranked raw reached reader readership reading ready real reason rebuilt recent recipient record recorded recording
 recovered redactor ref refined refiner refresher refusal refused registered relation released remembered remote
 renamed renew renewed repack repairer replayed reply report reporter repository requested required reserve
 reserved reserver resolver resolving response restorer result retry rewrite root round row rpc rule run running sample
 scan scanner scene scope screen scripted sealed search secret section seen selector self send sender sent serve served
 server service set setting setup share shared sharing shown sighting sign signature silence size skipped somebody
 source span spec spending spent spool staged stalenes start started state statement statu step stranger subject such
 suggested suggestion summarized summary supervisor supplie surrounding sweep syncing table taken target tell template
 text the there time to too tracer translation tx type unavailable undecodable undo unfit uninstalled unknown unqueued
 unreachable unread unreadable unsafe unsaid unverified unwritable upstream uri usage use used value verifier verify
 verifying via view waiting wanted watch watchable watched way welcome why with without word worker workflow workload
 workspace writable written wrong yet yielding
    """.split()
)
"""Without the `s` of several. A word that means something of its own here belongs in the glossary instead."""


def _words_of_the_glossary() -> set[str]:
    text = (ROOT / "docs" / "concepts" / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"(?m)^\| \*\*(.+?)\*\*", text.lower())
    return {_single(word) for entry in entries for word in re.findall(r"[a-z]+", entry)}


def _single(word: str) -> str:
    return word.lower().removesuffix("s")


def _words(source: Path) -> set[str]:
    return {_single(word) for name in public_class_names(source) for word in _WORD.findall(name)}


def _unexplained(source: Path, known: AbstractSet[str]) -> dict[str, list[str]]:
    """Words that are not known, each with the classes that have it."""
    names = sorted(public_class_names(source))
    return {
        word: [name for name in names if word in map(_single, _WORD.findall(name))] for word in _words(source) - known
    }


def test_every_word_of_a_class_name_is_in_the_glossary_or_plain() -> None:
    assert _unexplained(ROOT / PACKAGE, PLAIN | _words_of_the_glossary()) == {}, (
        "say it with a word of docs/concepts/glossary.md, or explain it there; PLAIN is for words of everyday English"
    )


def test_no_plain_word_is_unused_or_explained_after_all() -> None:
    assert PLAIN - (_words(ROOT / PACKAGE) - _words_of_the_glossary()) == set()


def test_a_word_that_nobody_explained_is_found(tmp_path: Path) -> None:
    (tmp_path / "mail.py").write_text("class HTTPMailFrobnicators: ...\nclass _Gizmo: ...\n")

    assert _unexplained(tmp_path, {"http", "mail"}) == {"frobnicator": ["HTTPMailFrobnicators"]}
