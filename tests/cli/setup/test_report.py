from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.cli.setup import report
from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.plan import Plan, make_plan
from mcp_agent_mail.clients.setup.proof import ProofOutcome, ProofStep
from mcp_agent_mail.clients.setup.status import look_at_client
from tests.clients.setup.homes import KINDS, made_up

FOREIGN, CRLF = KINDS[2], KINDS[5]


def plan_of(tmp_path: Path, name: str = "cursor") -> Plan:
    wanted = made_up(tmp_path / "home", name, CRLF)
    wanted[0].path.write_text("{\n]")
    return make_plan(wanted, project=None)


def test_a_plan_is_told_with_its_diff_and_what_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(tmp_path)

    report.tell_plan(plan, as_json=False, is_dry=True)

    said = capsys.readouterr().out
    assert f"+++ {plan.changes[0].target.path}\n" in said
    assert "\\r" not in said
    assert f"would change\t{plan.changes[0].target.path} (cursor)\n" in said
    hint = "Mend the line and run am setup again."
    assert f"left alone\t{plan.left_alone[0].path}:2: a name in double quotes is missing. {hint}\n" in said


def test_the_same_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(tmp_path)
    outcome = report.SetupReport(
        plan=plan,
        proofs={"cursor": [ProofStep(name="hook", outcome=ProofOutcome.FAILED, note="no")]},
        person={"cursor": ["Restart it."]},
        notes=["Look."],
    )

    report.tell_outcome(outcome, as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert [(left["line"], left["clients"]) for left in told["left_alone"]] == [(2, ["cursor"])]
    assert [left["hint"] for left in told["left_alone"]] == ["Mend the line and run am setup again."]
    assert told["proof"] == {"cursor": [{"step": "hook", "outcome": "failed", "note": "no"}]}
    assert (told["person"], told["notes"]) == ({"cursor": ["Restart it."]}, ["Look."])


def test_people_read_proofs_and_what_is_left_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = report.SetupReport(
        plan=plan_of(tmp_path),
        proofs={"cursor": [ProofStep(name="hook", outcome=ProofOutcome.PROVEN, note="a message came out of stop")]},
        person={"cursor": ["Restart it."]},
        notes=["Look."],
    )

    report.tell_outcome(outcome, as_json=False)

    assert capsys.readouterr().out.splitlines()[-3:] == [
        "cursor\thook proven: a message came out of stop",
        "cursor\tto do: Restart it.",
        "note\tLook.",
    ]


def test_a_state_is_told_file_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = made_up(tmp_path / "home", "claude", FOREIGN)
    wanted[0].path.write_text('{"mcpServers": {"agent-mail": {}}}')
    wanted[1].path.write_text("{")

    report.tell_states([look_at_client("claude", wanted, has_token=False, project=None)])

    said = capsys.readouterr().out
    assert "state\tunreadable\n" in said
    assert f"mcp\t{wanted[0].path} drifted: line 1 mcpServers.agent-mail.type," in said
    assert f"hooks\t{wanted[1].path}:1 unreadable: " in said
    assert "documented" in said
    assert "would be woken\tby a watcher beside each idle session" in said
    assert "next\tMend what cannot be read, and run am setup --client claude.\n" in said


def test_after_all_went_well_it_is_said_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    proven = ProofStep(name="hook", outcome=ProofOutcome.PROVEN, note="yes")
    well = report.SetupReport(plan=Plan(), proofs={"cursor": [proven]}, person={"cursor": []}, notes=["Look."])

    report.tell_outcome(well, as_json=False)
    said = capsys.readouterr().out.splitlines()
    failed = replace(well, proofs={"cursor": [replace(proven, outcome=ProofOutcome.FAILED)]})
    report.tell_outcome(failed, as_json=False)

    assert [line.split("\t")[0] for line in said[-4:]] == ["note", "next", "next", "next"]
    assert [word for word in ("anew", "AGENT_NAME=", "register", "am docs insert") if word not in " ".join(said)] == []
    assert "next" not in capsys.readouterr().out


@pytest.mark.parametrize("client", CLIENTS)
def test_a_contracts_version_reads_on_from_the_words_before_it(
    client: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report.tell_states(
        [look_at_client(client, made_up(tmp_path / "home", client, FOREIGN), has_token=False, project=None)]
    )

    assert "contract of of" not in capsys.readouterr().out
