"""Facts without words of anybody's: settings, and what server, store and doctor say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_agent_mail.cli.debug.known_words import UNTOLD, KnownWords
from mcp_agent_mail.core.settings.kinds import MASK, Secret
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.core.settings.server import LoadedSettings
from mcp_agent_mail.core.settings.sources import COMMAND_LINE, DEFAULT, ENVIRONMENT, Mistake
from mcp_agent_mail.features.doctor.check import CheckResult

_SET = "(set)"
_MOST_ITEMS = 50
_DEEPEST = 6

# Plain JSON.
Json = Any


def setting_facts(loaded: LoadedSettings) -> Json:
    """Each setting that is not at its default: numbers, switches and words that the program offers; of all others that
    they are set. Secrets are `***`.
    """
    given = {}
    for row in ROWS:
        source = loaded.sources.get(row.name)
        if source is not None and source.place != DEFAULT:
            value = _shown(getattr(loaded.settings, row.attribute, None), row.kind.label.split("/"))
            place = source.place if source.place in (COMMAND_LINE, ENVIRONMENT) else "file"
            given[row.name] = {"value": value, "from": place}
    names = {row.name for row in ROWS}
    notices = [one.name if one.name in names else UNTOLD for one in loaded.notices]
    return {"not_default": given, "notices_about": notices[:_MOST_ITEMS]}


def mistake_facts(mistakes: Iterable[Mistake]) -> Json:
    """Of settings that cannot be used the names alone."""
    names = {row.name for row in ROWS}
    return {"cannot_be_used": [one.name if one.name in names else UNTOLD for one in mistakes][:_MOST_ITEMS]}


def _shown(value: object, offered: list[str]) -> Json:
    if isinstance(value, Secret):
        return MASK
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and value in offered:
        return value
    return f"({len(value)} items)" if isinstance(value, tuple) else _SET


def state_facts(value: Json, known: KnownWords, *, depth: int = 0) -> Json:
    """An answer with its numbers, its switches and the program's own words; keys that are none of ours are counted."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return known.word(value) if known.word(value) != UNTOLD else known.told(value)
    if depth >= _DEEPEST:
        return UNTOLD
    if isinstance(value, dict):
        ours = {key: one for key, one in value.items() if isinstance(key, str) and known.word(key) == key}
        told = {key: state_facts(one, known, depth=depth + 1) for key, one in list(ours.items())[:_MOST_ITEMS]}
        return {**told, **({"keys_not_told": len(value) - len(told)} if len(told) < len(value) else {})}
    if isinstance(value, list | tuple):
        return [state_facts(one, known, depth=depth + 1) for one in list(value)[:_MOST_ITEMS]]
    return UNTOLD


def doctor_facts(results: Iterable[CheckResult], known: KnownWords) -> Json:
    """The verdict, and of each kind of finding how often it was made and how its next step begins."""
    checks: dict[str, int] = {}
    findings: dict[tuple[str, str, str], int] = {}
    for result in results:
        name = _check_name(result.check, known)
        checks[name] = checks.get(name, 0) + 1
        for one in result.findings:
            kind = (_check_name(one.check, known), state_facts(one.problem, known), known.told(one.next_step))
            findings[kind] = findings.get(kind, 0) + 1
    return {
        "verdict": "findings" if findings else "well",
        "checks": checks,
        "findings": [
            {"check": check, "problem": problem, "next_step": step, "count": count}
            for (check, problem, step), count in list(findings.items())[:_MOST_ITEMS]
        ],
    }


def _check_name(check: str, known: KnownWords) -> str:
    """Of one that is named after what it looked at, its kind: `archive (not told)`."""
    kind, _, of = check.partition(" ")
    if known.word(check) != UNTOLD or not of or known.word(kind) == UNTOLD:
        return known.word(check)
    return f"{kind} {UNTOLD}"
