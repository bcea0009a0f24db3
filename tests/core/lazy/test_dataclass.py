"""A class whose methods are made later is to whoever uses it what the standard library would have made at once."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from mcp_agent_mail.core.lazy.dataclass import dataclass

T = TypeVar("T")
Make = Callable[..., Any]


def letter(make: Make) -> Any:
    @make(frozen=True, slots=True, kw_only=True)
    class Letter:
        subject: str
        body: str = "nothing"
        to: list[str] = dataclasses.field(default_factory=list)
        token: str = dataclasses.field(default="", repr=False)
        seen: int = dataclasses.field(default=0, compare=False)
        known: int = dataclasses.field(init=False, default=7)

        @property
        def length(self) -> int:
            return len(self.body)

    return Letter


def tally(make: Make) -> Any:
    @make(slots=True)
    class Tally:
        """Counts."""

        count: int
        most: int = 3

        def __post_init__(self) -> None:
            self.count += 1

    return Tally


def with_makers(make: Make) -> Any:
    @make(frozen=True, slots=True)
    class Made:
        given: int
        own: list[int] = dataclasses.field(init=False, default_factory=lambda: [1])
        known: int = dataclasses.field(init=False, default=7)

    return Made


def by_identity(make: Make) -> Any:
    @make(slots=True, kw_only=True, eq=False)
    class Place:
        number: int = 1

    return Place


def own_methods(make: Make) -> Any:
    @make(frozen=True, slots=True, kw_only=True)
    class Own:
        number: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.number % 2 == other.number % 2

        def __hash__(self) -> int:
            return 5

        def __setstate__(self, state: Any) -> None:
            object.__setattr__(self, "number", 7)

    return Own


def generic(make: Make) -> Any:
    @make(frozen=True, slots=True)
    class Answer(Generic[T]):
        value: T

    return Answer


def in_turn(make: Make) -> Any:
    @make(frozen=True, kw_only=True)
    class First:
        number: int

    @make(frozen=True, kw_only=True)
    class Second(First):
        more: str = "more"

    return Second


CLASSES = [letter, tally, with_makers, by_identity, own_methods, generic, in_turn]
BOTH = (dataclasses.dataclass, dataclass)
CALLS: list[tuple[Callable[[Make], Any], tuple[Any, ...], dict[str, Any]]] = [
    (letter, (), {"subject": "Hello"}),
    (letter, (), {"subject": "Hello", "to": ["BlueLake"], "token": "t", "seen": 4}),
    (tally, (1,), {}),
    (tally, (1, 2), {}),
    (with_makers, (1,), {}),
    (by_identity, (), {"number": 3}),
    (own_methods, (), {"number": 3}),
    (generic, ("x",), {}),
    (in_turn, (), {"number": 1}),
]


def outcome(call: Callable[[], Any]) -> Any:
    """What it gives, or the kind of its refusal and its words."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001  # whatever the standard library says
        return type(error), str(error)


@pytest.mark.parametrize(("make_class", "given", "named"), CALLS)
def test_an_object_is_shown_compared_and_hashed_the_same(
    make_class: Callable[[Make], Any], given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    eager, lazy = (make_class(make) for make in BOTH)
    one, other = lazy(*given, **named), lazy(*given, **named)
    expected, expected_other = eager(*given, **named), eager(*given, **named)

    if make_class is not by_identity:
        assert (one == other) is (expected == expected_other) is True
        assert outcome(lambda: hash(one)) == outcome(lambda: hash(expected))
    else:
        assert one != other
        assert hash(one) == hash(one)
    assert (repr(one) == repr(expected)) or make_class is by_identity
    assert dataclasses.asdict(one) == dataclasses.asdict(expected)
    assert [field.name for field in dataclasses.fields(one)] == [field.name for field in dataclasses.fields(expected)]
    assert lazy.__match_args__ == eager.__match_args__
    assert getattr(lazy, "__slots__", None) == getattr(eager, "__slots__", None)
    assert copy.deepcopy(one) == one or make_class is by_identity


def test_what_is_not_compared_makes_no_difference_and_what_is_does() -> None:
    made = letter(dataclass)

    assert made(subject="a", seen=1) == made(subject="a", seen=2)
    assert made(subject="a") != made(subject="b")
    assert made(subject="a") != object()
    assert len(dict.fromkeys((made(subject="a", to=()), made(subject="a", to=(), seen=2)), 1)) == 1


@pytest.mark.parametrize(
    ("make_class", "given", "named"),
    [
        (letter, (), {}),
        (letter, ("Hello",), {}),
        (letter, (), {"subject": "Hello", "nothing": 1}),
        (letter, (), {"subject": "Hello", "known": 1}),
        (tally, (), {}),
        (tally, (1, 2, 3), {}),
    ],
)
def test_a_wrong_call_is_refused_in_the_same_words_the_first_time_and_later(
    make_class: Callable[[Make], Any], given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    eager, lazy = (make_class(make) for make in BOTH)
    expected = outcome(lambda: eager(*given, **named))

    assert expected[0] is TypeError
    assert [outcome(lambda: lazy(*given, **named)) for _ in range(2)] == [expected] * 2


def test_a_frozen_one_changes_by_replace_alone() -> None:
    one = letter(dataclass)(subject="a")

    for name in ("subject", "nothing"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(one, name, "b")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'subject'"):
        del one.subject

    assert dataclasses.replace(one, subject="b").subject == "b"
    assert (one.subject, copy.copy(one).subject) == ("a", "a")


def test_what_may_change_has_no_hash() -> None:
    one = tally(dataclass)(1)
    one.count = 5

    assert one == type(one)(4)
    with pytest.raises(TypeError, match="unhashable type"):
        hash(one)


def test_lists_are_each_objects_own() -> None:
    made = letter(dataclass)
    one, other = made(subject="a"), made(subject="a")
    one.to.append("BlueLake")

    assert other.to == []


@pytest.mark.parametrize("make", [dataclass, dataclasses.dataclass])
def test_nothing_that_is_given_for_a_list_is_not_a_list_that_is_made(make: Make) -> None:
    assert letter(make)(subject="a", to=None).to is None


def test_a_subclass_without_the_decorator_is_made_by_its_base() -> None:
    class Longer(letter(dataclass)):  # type: ignore[misc]  # a class that a function made
        pass

    assert Longer(subject="a").length == len("nothing")


@pytest.mark.parametrize("make_class", CLASSES)
def test_nothing_is_compiled_before_it_is_used(
    make_class: Callable[[Make], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    real = dataclasses._create_fn  # type: ignore[attr-defined]  # where the standard library compiles

    def create(name: str, *given: Any, **named: Any) -> Any:
        compiled.append(name)
        return real(name, *given, **named)

    monkeypatch.setattr(dataclasses, "_create_fn", create)
    monkeypatch.setattr(inspect, "signature", lambda *_: pytest.fail("a signature was made for the documentation"))
    made = make_class(dataclass)
    promised = made.__init__

    assert compiled == []
    repr(
        made(
            *[1] * (make_class in (tally, with_makers, generic)),
            **next(named for one, _, named in CALLS if one is make_class),
        )
    )
    assert made.__init__ is not promised
    assert set(compiled) <= {"__repr__"}


def test_a_made_method_is_the_standard_librarys() -> None:
    made = letter(dataclass)
    one = made(subject="a")

    assert list(inspect.signature(made.__init__).parameters) == ["self", "subject", "body", "to", "token", "seen"]
    assert hash(dataclasses.replace(one, to=())) == hash(dataclasses.replace(one, to=()))
    assert hash(dataclasses.replace(one, to=(), seen=3)) == hash(dataclasses.replace(one, to=()))


def test_methods_of_its_own_stay() -> None:
    made = own_methods(dataclass)

    assert (made(number=1) == made(number=3), made(number=1) == made(number=2)) == (True, False)
    assert (repr(made(number=1)), hash(made(number=1))) == ("own", 5)
    assert copy.copy(made(number=1)).number == 7


def test_a_frozen_one_without_slots_and_a_subclass_refuse_too() -> None:
    class Longer(letter(dataclass)):  # type: ignore[misc]  # a class that a function made
        pass

    for one in (in_turn(dataclass)(number=1), Longer(subject="a")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.number = 2


def test_what_may_change_comes_of_nothing_frozen() -> None:
    first: Any = in_turn(dataclass)

    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):

        @dataclass(kw_only=True)
        class Third(first):  # type: ignore[misc]  # a class that a function made
            last: int = 1


def test_its_documentation_is_its_own() -> None:
    assert (tally(dataclass).__doc__, letter(dataclass).__doc__) == ("Counts.", None)


@pytest.mark.parametrize("make_class", CLASSES)
def test_it_counts_as_a_dataclass(make_class: Callable[[Make], Any]) -> None:
    assert dataclasses.is_dataclass(make_class(dataclass))


@pytest.mark.parametrize("make_class", CLASSES)
def test_what_makes_an_object_names_the_same_types(make_class: Callable[[Make], Any]) -> None:
    eager, lazy = (make_class(make) for make in BOTH)
    given, named = next((given, named) for one, given, named in CALLS if one is make_class)
    lazy(*given, **named)

    assert lazy.__init__.__annotations__ == eager.__init__.__annotations__
