"""The judged corpus: a project's mail of a year, made from topics.toml and background.toml by a seed.

Who is right about what is decided while a message is composed, and by nothing else: a message knows which
sentences went into it, and so what it is worth to somebody who asks about a matter (`GRADES`). No search
takes part in that. `python -m tests.relevance.corpus` prints what judgements.json holds.
"""

from __future__ import annotations

import hashlib
import json
import random
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GRADES = {"answer": 3, "detail": 2, "old": 1, "aside": 1, "courtesy": 1}
"""What holds now; a report of facts; what held before; a mention elsewhere; a reply that only leads to the thread."""

_SEED = 20_260
_BACKGROUND_THREADS = 170
_DIGESTS = 24
_YEAR_S = 365 * 86_400
_THREAD_S = 20 * 86_400


@dataclass(slots=True)
class Letter:
    """One message; `worth` maps matters to grades. `at_s` counts from the beginning of the year."""

    subject: str
    body: str
    thread: str
    sender: int
    at_s: int
    importance: str = "normal"
    worth: dict[str, int] = field(default_factory=dict)

    def is_worth(self, matter: str, part: str) -> None:
        self.worth[matter] = max(self.worth.get(matter, 0), GRADES[part])


def letters() -> list[Letter]:
    """All of them, oldest first; the same in every run."""
    return _Writer().write()


def topics() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = tomllib.loads((HERE / "topics.toml").read_text(encoding="utf-8"))["topic"]
    return loaded


def judgements(corpus: list[Letter]) -> dict[str, Any]:
    """Every second matter's queries are held out: what is tuned on one half never saw the words of the other."""
    digest = hashlib.sha256()
    for letter in corpus:
        digest.update(json.dumps([letter.subject, letter.body, letter.thread, letter.at_s, letter.importance]).encode())
    queries = [
        {
            "half": "tuning" if number % 2 == 0 else "held out",
            "matter": topic["name"],
            "query": query,
            "grades": {
                str(position): letter.worth[topic["name"]]
                for position, letter in enumerate(corpus)
                if topic["name"] in letter.worth
            },
        }
        for number, topic in enumerate(topics())
        for query in topic["queries"]
    ]
    return {"corpus_sha256": digest.hexdigest(), "letters": len(corpus), "queries": queries}


class _Writer:
    def __init__(self) -> None:
        self._random = random.Random(_SEED)
        self._talk = tomllib.loads((HERE / "background.toml").read_text(encoding="utf-8"))
        self._topics = topics()
        self._asides = [(topic["name"], topic["aside"]) for topic in self._topics for _ in range(3)]
        self._random.shuffle(self._asides)
        self._letters: list[Letter] = []
        self._threads = 0

    def write(self) -> list[Letter]:
        for topic in self._topics:
            self._matter(topic)
        for _ in range(_BACKGROUND_THREADS):
            self._background()
        for _ in range(_DIGESTS):
            self._digest()
        return sorted(self._letters, key=lambda letter: letter.at_s)

    def _say(self, template: str) -> str:
        pick = self._random.choice
        thing, other = self._random.sample(self._talk["things"], 2)
        return template.format(
            thing=thing,
            Thing=thing[0].upper() + thing[1:],
            other=other,
            file=pick(self._talk["files"]),
            person=pick(self._talk["people"]),
            Person=pick(self._talk["people"]),
            number=self._random.randint(2, 90),
        )

    def _talked(self, least: int, most: int) -> list[str]:
        return [self._say(self._random.choice(self._talk["says"])) for _ in range(self._random.randint(least, most))]

    def _thread(self) -> str:
        self._threads += 1
        return f"T-{self._threads}"

    def _add(self, subject: str, lines: list[str], thread: str, at_s: int) -> Letter:
        importance = self._random.choices(("normal", "high", "urgent", "low"), (86, 8, 2, 4))[0]
        sender = self._random.randrange(len(self._talk["people"]))
        letter = Letter(subject, "\n\n".join(lines), thread, sender, at_s, importance)
        self._letters.append(letter)
        return letter

    def _matter(self, topic: dict[str, Any]) -> None:
        """A thread that reports, proposes, talks and answers; for some matters the answer is in a second thread."""
        name, subject, thread = topic["name"], topic["subject"], self._thread()
        start = self._random.randrange(_YEAR_S - 2 * _THREAD_S)
        parts = [("detail", detail) for detail in topic["details"][1:]] + [("old", topic["old"])]
        self._random.shuffle(parts)
        parts = [
            ("detail", topic["details"][0]),
            *parts,
            ("courtesy", ""),
            ("answer", topic["answer"]),
            ("courtesy", ""),
        ]
        moments = sorted(self._random.randrange(_THREAD_S) for _ in parts)
        said = ""
        for number, (part, text) in enumerate(parts):
            if part == "answer" and "subject2" in topic:
                subject, thread, said = topic["subject2"], self._thread(), ""
            is_reply = bool(said)
            lines = [f"> {said}"] if is_reply and self._random.random() < 0.5 else []
            lines += [self._random.choice(self._talk["courtesies"])] if is_reply else []
            own = [text] if text else []
            lines += self._mixed(own, self._talked(0, 3))
            letter = self._add(f"Re: {subject}" if is_reply else subject, lines, thread, start + moments[number])
            letter.is_worth(name, part)
            said = text or said

    def _mixed(self, own: list[str], talk: list[str]) -> list[str]:
        lines = own + talk
        self._random.shuffle(lines)
        return lines

    def _background(self) -> None:
        thread, subject = self._thread(), self._say(self._random.choice(self._talk["subjects"]))
        start = self._random.randrange(_YEAR_S - _THREAD_S)
        count = self._random.randint(3, 15)
        moments = sorted(self._random.randrange(_THREAD_S) for _ in range(count))
        said = ""
        for number, moment in enumerate(moments):
            lines = [f"> {said}"] if said and self._random.random() < 0.4 else []
            talk = self._talked(1, 5)
            aside = self._asides.pop() if self._asides and self._random.random() < 0.08 else None
            letter_lines = lines + self._mixed([aside[1]] if aside else [], talk)
            letter = self._add(f"Re: {subject}" if number else subject, letter_lines, thread, start + moment)
            if aside:
                letter.is_worth(aside[0], "aside")
            said = talk[0]

    def _digest(self) -> None:
        """A long list of what is going on: it names many matters and says little of each."""
        named = self._random.sample(self._topics, 7)
        lines = [
            f"- {topic['subject']}: {self._random.choice(('open', 'in review', 'done', 'blocked'))}" for topic in named
        ]
        lines += [f"- {line}" for line in self._talked(5, 9)]
        self._random.shuffle(lines)
        letter = self._add("Weekly digest", ["\n".join(lines)], self._thread(), self._random.randrange(_YEAR_S))
        for topic in named:
            letter.is_worth(topic["name"], "aside")


if __name__ == "__main__":
    (HERE / "judgements.json").write_text(
        json.dumps(judgements(letters()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
