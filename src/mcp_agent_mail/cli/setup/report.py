"""What `am setup` says: diffs, what was left alone and why, proofs, what a person has to do, how clients stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mcp_agent_mail.cli.output import print_fields, print_gap, print_json, print_text
from mcp_agent_mail.clients.setup.plan import LeftAlone, Plan
from mcp_agent_mail.clients.setup.proof import ProofOutcome, ProofStep
from mcp_agent_mail.clients.setup.status import ClientState, FileState, hint_for
from mcp_agent_mail.core.lazy.dataclass import dataclass

# Plain JSON, as `--json` prints it.
Row = dict[str, Any]

_NOBODY = "No agent command line was found here. Name one: am setup --client claude"


_NEXT = (
    "Start your clients anew: a session that runs already may not read what was written.",
    "Give each agent its name as you start it (AGENT_NAME=BlueLake claude), or let it register: else it gets no mail.",
    "Tell your agents how, in each project: am docs insert writes it into AGENTS.md and its like.",
)
"""What a person does once all of it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupReport:
    """What came of a setup. `person`: by client, what only a person can do."""

    plan: Plan
    proofs: Mapping[str, Sequence[ProofStep]]
    person: Mapping[str, Sequence[str]]
    notes: Sequence[str]

    @property
    def is_done(self) -> bool:
        """Nothing was left alone, and nothing failed to be proven."""
        failed = any(step.outcome is ProofOutcome.FAILED for steps in self.proofs.values() for step in steps)
        return not failed and not self.plan.left_alone


def say_nobody(*, as_json: bool) -> None:
    """No client was found, and what to do about it."""
    if as_json:
        print_json({"clients": [], "note": _NOBODY})
    else:
        print_text(_NOBODY)


def tell_diffs(plan: Plan) -> None:
    for change in plan.changes:
        # The diff's own line ends would be written out; a carriage return says nothing to a reader.
        print_text(change.diff().replace("\r\n", "\n").removesuffix("\n"))


def tell_plan(plan: Plan, *, as_json: bool, is_dry: bool, notes: Sequence[str] = (), command: str = "am setup") -> None:
    """What is to be changed, or was; then the notes. `command` is what is run again where something was left alone."""
    if as_json:
        print_json({**_plan_row(plan, command), "notes": list(notes)})
        return
    if is_dry:
        tell_diffs(plan)
    print_fields([*_plan_lines(plan, "would change" if is_dry else "changed", command)])
    if not plan.changes and not plan.left_alone:
        print_text("Nothing to do.")
    print_fields([("note", note) for note in notes])


def tell_outcome(outcome: SetupReport, *, as_json: bool) -> None:
    """What was changed and left alone, then each client's proof with what is left for a person. Diffs were shown
    before; in JSON they are part of it.
    """
    if as_json:
        print_json(_outcome_row(outcome))
        return
    print_fields(_plan_lines(outcome.plan, "changed", "am setup"))
    for client, steps in outcome.proofs.items():
        print_fields([(client, f"{step.name} {step.outcome.value}: {step.note}") for step in steps])
        print_fields([(client, f"to do: {step}") for step in outcome.person[client]])
    print_fields([("note", note) for note in outcome.notes])
    if outcome.is_done:
        print_fields([("next", step) for step in _NEXT])


def tell_states(states: Sequence[ClientState]) -> None:
    """Client by client; each line that has drifted is named."""
    for state in states:
        print_fields(
            [
                ("client", f"{state.title} ({state.client}), contract of {state.version}"),
                ("state", state.state.value),
                *((file.part.value, _file_line(file)) for file in state.files),
                ("trust", state.trust),
                ("contract", ", ".join(f"{count} {mark}" for mark, count in state.marks.items() if count)),
                ("cannot", ", ".join(state.cannot)),
                (_woken_or_not(state), state.woken.in_words()),
                ("advisory", state.advisory),
                *(("to do", step) for step in state.person),
                ("next", state.next_step),
            ]
        )
        print_gap()


def _woken_or_not(state: ClientState) -> str:
    return "would be woken" if state.woken.way is not None and not state.woken.is_installed else "woken"


def as_row(state: ClientState) -> Row:
    """One client of `--status --json`."""
    return {
        "client": state.client,
        "title": state.title,
        "version": state.version,
        "state": state.state.value,
        "files": [
            {
                "path": str(file.path),
                "part": file.part.value,
                "state": file.state.value,
                "reason": file.reason,
                "hint": file.hint,
                "line": file.line,
                "differences": [{"what": one.what, "line": one.line} for one in file.differences],
            }
            for file in state.files
        ],
        "marks": dict(state.marks),
        "cannot": list(state.cannot),
        "advisory": state.advisory,
        "wake": asdict(state.woken),
        "trust": state.trust,
        "person": list(state.person),
        "next": state.next_step,
    }


def _file_line(file: FileState) -> str:
    if file.reason is not None:
        return f"{_place(str(file.path), file.line)} {file.state.value}: {file.reason}. {file.hint}"
    drifted = [f"line {one.line} {one.what}" for one in file.differences if one.line is not None]
    missing = [f"no {one.what}" for one in file.differences if one.line is None]
    more = f": {', '.join([*drifted, *missing])}" if file.differences else ""
    return f"{file.path} {file.state.value}{more}"


def _outcome_row(outcome: SetupReport) -> Row:
    return {
        **_plan_row(outcome.plan, "am setup"),
        "proof": {
            client: [{"step": step.name, "outcome": step.outcome.value, "note": step.note} for step in steps]
            for client, steps in outcome.proofs.items()
        },
        "person": {client: list(steps) for client, steps in outcome.person.items()},
        "notes": list(outcome.notes),
    }


def _plan_row(plan: Plan, command: str) -> Row:
    return {
        "changed": [
            {"path": str(change.target.path), "clients": change.clients, "diff": change.diff()}
            for change in plan.changes
        ],
        "left_alone": [
            {
                "path": str(left.path),
                "clients": list(left.clients),
                "line": left.line,
                "reason": left.reason,
                "hint": left.hint or hint_for(left.line, command),
            }
            for left in plan.left_alone
        ],
        "settled": [str(path) for path in plan.settled],
    }


def _plan_lines(plan: Plan, verb: str, command: str) -> list[tuple[str, object]]:
    return [
        *((verb, f"{change.target.path} ({', '.join(change.clients)})") for change in plan.changes),
        *(("left alone", _left_line(left, command)) for left in plan.left_alone),
        ("unchanged", f"{len(plan.settled)} files" if plan.settled else None),
    ]


def _left_line(left: LeftAlone, command: str) -> str:
    return f"{_place(str(left.path), left.line)}: {left.reason}. {left.hint or hint_for(left.line, command)}"


def _place(path: str, line: int | None) -> str:
    return path if line is None else f"{path}:{line}"
