from __future__ import annotations

from dataclasses import dataclass, field

from mcp_agent_mail.workspace.ttl_cache import Memory

KEEP_S = 10.0


@dataclass
class Finder:
    """Finds a number that is new each time, at the time that the watch shows."""

    seconds: float = 0.0
    takes_s: float = 0.0
    asked: list[int] = field(default_factory=list)

    def __call__(self) -> float:
        return self.seconds

    def find(self) -> int:
        self.seconds += self.takes_s
        self.asked.append(len(self.asked))
        return self.asked[-1]


def memory(finder: Finder, *, at_most: int = 10) -> Memory[int]:
    return Memory(finder, keep_s=KEEP_S, at_most=at_most)


def test_an_answer_is_remembered_until_its_time_is_over() -> None:
    finder = Finder()
    answers = memory(finder)
    first = answers.get("a", finder.find)
    finder.seconds = KEEP_S

    still = answers.get("a", finder.find)
    finder.seconds += 0.1
    later = answers.get("a", finder.find)

    assert (first, still, later) == (0, 0, 1)


def test_an_answer_is_as_old_as_when_it_was_begun_to_be_looked_for() -> None:
    finder = Finder(takes_s=KEEP_S + 1)
    answers = memory(finder)
    answers.get("a", finder.find)

    assert answers.get("a", finder.find) == 1


def test_each_question_has_its_own_answer() -> None:
    finder = Finder()
    answers = memory(finder)

    assert [answers.get(question, finder.find) for question in ("a", "b", "a")] == [0, 1, 0]


def test_asked_anew_the_answer_is_found_and_remembered() -> None:
    finder = Finder()
    answers = memory(finder)
    answers.get("a", finder.find)

    assert answers.get("a", finder.find, anew=True) == 1
    assert answers.get("a", finder.find) == 1


def test_beyond_the_bound_the_oldest_answers_are_dropped() -> None:
    finder = Finder()
    answers = memory(finder, at_most=2)
    for question in ("a", "b"):
        answers.get(question, finder.find)
    answers.get("a", finder.find, anew=True)
    answers.get("c", finder.find)

    assert [answers.get(question, finder.find) for question in ("a", "c", "b")] == [2, 3, 4]
