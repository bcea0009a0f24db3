"""How well summaries agree with the thirty labelled threads: precision and recall by field.

`python -m tests.domain.summary_marks` prints them, and with `--misses` what was missed and what was too much.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.summaries.extract import ThreadMessage, ThreadSummary, summarize

FIELDS = ("point", "decision", "question", "action", "mention", "code")


@dataclass(slots=True)
class LabelledThread:
    number: int
    letters: list[ThreadMessage] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Marks:
    hits: int = 0
    misses: list[str] = field(default_factory=list)
    extras: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.hits / max(1, self.hits + len(self.extras))

    @property
    def recall(self) -> float:
        return self.hits / max(1, self.hits + len(self.misses))


def read_threads() -> list[LabelledThread]:
    text = (Path(__file__).parent / "summary_threads.txt").read_text(encoding="utf-8")
    return [_thread(part) for part in re.split(r"^## (?=\d\d )", text, flags=re.MULTILINE)[1:]]


def _thread(part: str) -> LabelledThread:
    head, _, rest = part.partition("\n")
    said, *labels = re.split(r"^== ", rest, flags=re.MULTILINE)
    thread = LabelledThread(int(head[:2]))
    for position, mail in enumerate(re.split(r"^@@ ", said, flags=re.MULTILINE)[1:], start=1):
        sender, _, body = mail.partition("\n")
        thread.letters.append(
            ThreadMessage(
                id=MessageId(position),
                sender=sender.strip(),
                subject=head[3:],
                body_md=body.strip(),
                created_ts=Micros(position),
            )
        )
    for label in labels:
        name, _, wanted = label.strip().partition(": ")
        thread.labels.append((name, wanted) if " " not in name else (name.split()[0], _action(name, wanted)))
    return thread


def _action(name: str, wanted: str) -> str:
    _, state, owner = name.split()
    return f"[{'x' if state == 'done' else ' '}] {'' if owner == '-' else owner + ': '}{wanted}"


def found_in(summary: ThreadSummary) -> list[tuple[str, str]]:
    return [
        *(("point", text) for text in summary.key_points),
        *(("decision", text) for text in summary.decisions),
        *(("question", text) for text in summary.open_questions),
        *(("action", text) for text in summary.action_items),
        *(("mention", f"{name} {count}") for name, count in summary.mentions),
        *(("code", text) for text in summary.code_references),
    ]


def agrees(name: str, wanted: str, found: str) -> bool:
    """Actions agree in state, owner and text; the owner may stand again in the text."""
    if name in ("mention", "code"):
        return wanted == found
    if name == "action":
        return wanted[:4] == found[:4] and _owner(wanted) == _owner(found) and _text(wanted) in _text(found)
    return wanted.lower() in found.lower()


def _owner(action: str) -> str:
    match = re.match(r"\[.\] (\w+): ", action)
    return match[1] if match else ""


def _text(action: str) -> str:
    return re.sub(r"^\[.\] (?:\w+: )?", "", action).lower()


def judge(threads: Iterable[LabelledThread]) -> dict[str, Marks]:
    marks = {name: Marks() for name in FIELDS}
    for thread in threads:
        found = found_in(summarize(thread.letters))
        for name, wanted in thread.labels:
            match = next((one for one in found if one[0] == name and agrees(name, wanted, one[1])), None)
            if match is None:
                marks[name].misses.append(f"{thread.number:02} {wanted}")
            else:
                found.remove(match)
                marks[name].hits += 1
        for name, text in found:
            marks[name].extras.append(f"{thread.number:02} {text}")
    return marks


def main(arguments: Sequence[str]) -> None:
    threads = read_threads()
    parts = {
        "tuning": [one for one in threads if one.number % 2 == 0],
        "held out": [t for t in threads if t.number % 2],
    }
    for part, chosen in parts.items():
        sys.stdout.writelines(f"{line}\n" for line in _report(part, judge(chosen), misses="--misses" in arguments))


def _report(part: str, marks: dict[str, Marks], *, misses: bool) -> Iterable[str]:
    """The misses of the held-out half are never shown: whoever sees them tunes on them."""
    for name, mark in marks.items():
        yield f"{part:9} {name:9} precision {mark.precision:.2f}  recall {mark.recall:.2f}  ({mark.hits} hits)"
        if misses and part == "tuning":
            yield from (f"    missed {text}" for text in mark.misses)
            yield from (f"    extra  {text}" for text in mark.extras)


if __name__ == "__main__":
    main(sys.argv[1:])
