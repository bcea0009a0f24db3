"""What a database has to be before it takes the place of a store, whatever a backup or a store's folder says of itself:
one that this program could have made, and whose clock does not run far ahead.
"""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.store.checks.derived_parts import is_derived
from mcp_agent_mail.store.checks.integrity import DatabasePart, IntegrityFault, find_faults, find_strange
from mcp_agent_mail.store.engine.sqlite.numbers import AHEAD, leaves_enough, read_numbers
from mcp_agent_mail.store.engine.sqlite.schema import changes_of, in_a_sentence

_SHOWN = 20
_DAY = 86_400 * SECOND


class RestoreUnfit(Conflict):
    """The store that was built is not what the backup says, or none that takes a place. Nothing was changed."""


def require_ours(database: Path) -> None:
    """Raise RestoreUnfit where its schema is not the one that the migrations make: nothing else of it is read then."""
    if changed := changes_of(database):
        raise RestoreUnfit(
            f"Its database has not the schema that this program makes: {in_a_sentence(changed)}",
            hint="Nothing was changed. Go back to another backup; do not use this one if you have it from somebody "
            "else.",
            data={"findings": changed[:_SHOWN]},
        )


def require_own_values(database: Path) -> None:
    """Raise RestoreUnfit where it holds a value that this program writes nowhere."""
    if strange := find_strange(database):
        raise _grave(strange)


def faults_to_mend(database: Path) -> list[IntegrityFault]:
    """What is at fault and follows from the rest. Raises RestoreUnfit where anything else is: damage, references that
    lead nowhere, values that this program writes nowhere.
    """
    faults = find_faults(database)
    if grave := [fault for fault in faults if not is_derived(fault)]:
        raise _grave(grave)
    return faults


def _grave(faults: list[IntegrityFault]) -> RestoreUnfit:
    strange = [fault.evidence for fault in faults if fault.part is DatabasePart.VALUES]
    shown = [fault.evidence for fault in faults]
    what = f"holds what this program never writes: {strange[0]}" if strange else f"is damaged: {shown[0]}"
    return RestoreUnfit(
        f"Its database {what}.",
        hint="Nothing was changed. Go back to another backup, or make the database anew from the archives: am "
        "doctor rebuild. If you have it from somebody else, do not use it.",
        data={"findings": shown[:_SHOWN]},
    )


def require_times_left(database: Path, replaced: Path, now: Micros) -> None:
    """Raise RestoreUnfit where the store delivered its newest mail later than a clock can have shown: what it delivers
    from now on gets no earlier time, and neither does the store that it replaces, once that is put back.

    The `replaced` store's own newest delivery counts as a clock's, since that may have been set back since. Where there
    is none that can be read a clock may have been AHEAD: there is no store to be kept from harm.
    """
    given, there = read_numbers(database), read_numbers(replaced)
    if given is None:
        raise _numbers_unfit("Its database does not say which numbers it has given out, and when mail was delivered.")
    most = now + AHEAD if there is None else max(now, there.latest) + _DAY
    if given.latest > most:
        raise RestoreUnfit(
            f"Its newest mail was delivered on {iso(Micros(given.latest))}, as it says, and here it is {iso(now)}.",
            hint="Nothing was changed. If the clock of this machine is wrong (date), set it right and restore again. "
            "If you have it from somebody else, do not use it.",
            data={"latest": given.latest, "now": now},
        )


def require_numbers_left(database: Path) -> None:
    """Raise RestoreUnfit where the store has given out so high numbers, as they are once they were raised, that what it
    goes on with could not be restored again.
    """
    given = read_numbers(database)
    if given is None or not leaves_enough(given):
        raise _numbers_unfit("It has used up more numbers than a store gives out: too few are left for what comes.")


def _numbers_unfit(what: str) -> RestoreUnfit:
    return RestoreUnfit(
        what,
        hint="Nothing was changed. It was damaged, or made by hand: do not use it. Go back to another backup: "
        "`am doctor backups` lists them.",
    )
