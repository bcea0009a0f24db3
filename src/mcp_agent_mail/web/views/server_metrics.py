"""How the server fares, as rows, findings and charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.keeper import KeeperFigures
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.health.results import Health
from mcp_agent_mail.features.oversight.server_history import PeriodicFigures, ServerFigures
from mcp_agent_mail.web.render.figure_lines import FigurePoint

DAY_S = 24 * 3_600
STEP_S = 10 * 60
"""Minutes are drawn so many seconds together."""
_MILLISECONDS = 1_000
_KEPT_TOP = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFinding:
    """Something that is not well: what, and what to do about it."""

    words: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """One of several on the same axis of time, the last 24 hours. `last` is the newest minute's value, `most` the
    highest drawn.
    """

    title: str
    last: str
    most: str
    top: float
    tone: str
    points: Sequence[FigurePoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """Since the start; durations in milliseconds."""

    name: str
    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFact:
    """`word` says how it fares."""

    name: str
    word: str
    is_well: bool
    restarts: int
    error: str | None


def findings_of(health: Health) -> list[HealthFinding]:
    """What the check of health found, without a look at every row and file."""
    found = []
    if health.store_problem is not None:
        found.append(HealthFinding(words=health.store_problem, hint="Mail is not taken until this is over."))
    elif health.schema_version is None:
        found.append(HealthFinding(words="The store cannot be read or written.", hint="See the server's log."))
    if health.archive_error is not None:
        found.append(HealthFinding(words=health.archive_error, hint="Mail is safe; its archive is behind."))
    if health.archive_care.last_error is not None:
        found.append(HealthFinding(words=health.archive_care.last_error, hint="Archives are not packed meanwhile."))
    work = health.archive_care.workload
    if work is not None and work.hung:
        found.append(HealthFinding(words=f"{work.hung} archives do not answer.", hint="Look at the disk they lie on."))
    found += [
        HealthFinding(words=f"{one.task}: {one.error}", hint="It is tried again by itself.") for one in health.failing
    ]
    return found


def tool_rows(figures: ServerFigures) -> list[CallRow]:
    """The most called first."""
    return [
        CallRow(
            name=name,
            calls=one.calls,
            errors=one.errors,
            p50_ms=_in_ms(one.quantile_s(0.5)),
            p95_ms=_in_ms(one.quantile_s(0.95)),
        )
        for name, one in figures.tools
    ]


def worker_facts(keepers: Sequence[KeeperFigures]) -> list[WorkerFact]:
    """By name."""
    return sorted((_worker_fact(one) for one in keepers), key=lambda one: one.name)


def _worker_fact(one: KeeperFigures) -> WorkerFact:
    word = "failing" if one.error is not None else "at work" if one.is_running else "at rest"
    return WorkerFact(name=one.task, word=word, is_well=one.error is None, restarts=one.restarts, error=one.error)


def day_charts(figures: ServerFigures, now: Micros) -> list[FigureLine]:
    """Calls, errors, p95 and the archive's lag of the last 24 hours."""
    steps, last = _steps(figures.minutes, now), figures.minutes[-1:]
    return [
        _chart("Calls a minute", "accent", steps, last, lambda some: _mean([one.calls for one in some]), _number),
        _chart("Errors a minute", "bad", steps, last, lambda some: _mean([one.errors for one in some]), _number),
        _chart("p95 of calls", "held", steps, last, _worst_p95_ms, lambda value: f"{_number(value)} ms"),
        _chart("Archive lag", "warm", steps, last, _worst_lag_s, lambda value: f"{_number(value)} s"),
    ]


_Step = tuple[float, Sequence[PeriodicFigures]]


def _steps(minutes: Sequence[PeriodicFigures], now: Micros) -> list[_Step]:
    """Each STEP_S of the day: where it lies on the axis, and its minutes, if it has any."""
    begin = now - DAY_S * SECOND
    places = DAY_S // STEP_S
    found: list[list[PeriodicFigures]] = [[] for _ in range(places)]
    for one in minutes:
        place = (one.at - begin) // (STEP_S * SECOND)
        if 0 <= place < places:
            found[place].append(one)
        elif place == places:
            found[-1].append(one)
    return [((place + 1) / places, some) for place, some in enumerate(found)]


def _chart(
    title: str,
    tone: str,
    steps: Sequence[_Step],
    last: Sequence[PeriodicFigures],
    value_of: Callable[[Sequence[PeriodicFigures]], float | None],
    written: Callable[[float], str],
) -> FigureLine:
    points = [FigurePoint(share=share, value=value_of(some) if some else None) for share, some in steps]
    values = [one.value for one in points if one.value is not None]
    most = max(values, default=0.0)
    newest = value_of(last) if last else None
    kept = [one for _, some in steps for one in some]
    each = [value for one in kept if (value := value_of([one])) is not None]
    return FigureLine(
        title=title,
        last="-" if newest is None else written(newest),
        most=written(max(each, default=0.0)),
        top=max(most, _KEPT_TOP),
        tone=tone,
        points=points,
    )


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)


def _worst_lag_s(some: Sequence[PeriodicFigures]) -> float:
    return max(one.lag_s for one in some)


def _worst_p95_ms(some: Sequence[PeriodicFigures]) -> float | None:
    return max((one.p95_s * _MILLISECONDS for one in some if one.p95_s is not None), default=None)


def _in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * _MILLISECONDS


def _number(value: float) -> str:
    """`0`, `0.4`, `12`, `1,204`."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
