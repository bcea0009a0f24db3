"""The how-to about agents in CI: the operator's lines, then a job's, with its secrets where CI has them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader
from tests.served import Connection

PAGE = ROOT / "docs" / "how-to" / "agents-in-ci.md"
PROJECT = "/srv/code/app"
MADE = ("ci-token", "first-token", "issued", "join-code", "registered")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def issued(reader: Reader, wish: str) -> str:
    return reader.types(f"am token create {wish} --json 2> log | jq -er .token").strip()


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    ((_, settings),) = blocks_of(PAGE, "ini")
    with Reader(tmp_path) as reader:
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        reader.types("make link")
        (reader.cwd / ".env").write_text(settings)
        (reader.cwd / ".env").chmod(0o600)
        reader.types("make serve")
        reader.types(f"am projects ensure {PROJECT}")
        with Connection(reader.port, bearer(issued(reader, "--role writer"))) as connection:
            reader.types(f"am projects invite {PROJECT} --json | jq -r .join_code > lake")
            code = (reader.cwd / "lake").read_text().strip()
            lake = {"project_key": PROJECT, "name": "BlueLake", "program": "test", "model": "test"}
            connection.call("register_agent", **lake, registration_token=code)
        proven = issued(reader, f"--agent BlueLake --project {PROJECT}")

        register, function, tell, deploy, read = [text for _, text in blocks_of(PAGE, "sh")]
        reader._environment |= {"MAIL_URL": f"http://127.0.0.1:{reader.port}", "CI_JOB": "7"}
        reader.types(register)
        left = sorted(path.name for path in reader.cwd.iterdir() if path.name in MADE)
        token = (reader.cwd / "ci-token").read_text().strip()
        reader._environment["MAIL_TOKEN"] = token
        twice = reader.types("! bash register.sh")
        listed = reader.types("am token list --json 2> log | jq -r '.[] | .note'").splitlines()
        reader.types(function)
        told = [json.loads(reader.types(tell)) for _ in range(2)]
        with Connection(reader.port, bearer(proven)) as agent:
            mine = {"project_key": PROJECT, "agent_name": "BlueLake"}
            inbox = agent.call("fetch_inbox", **mine)
            asked = {"project_key": PROJECT, "sender_name": "BlueLake", "to": ["SwiftCrane"]}
            agent.call("send_message", **asked, subject="Again, please", body_md="The runner was gone.")
            deployed = reader.types(deploy)
            first, again = reader.types(read), reader.types(read)
            agent.call("file_reservation_paths", **mine, paths=["deploy/production"])
            kept_away = deploy.split("echo")[0].replace("wait_seconds: 30", "wait_seconds: 0")
            refused = reader.types(kept_away.replace("\njq", "\n! jq"))
        reader._environment["MAIL_TOKEN"] = "amk_none"
        locked_out = reader.types("if ( . ./mail.sh; mail GET agents | jq . ); then exit 1; fi")

    assert [mail["subject"] for mail in inbox] == ["Build 7 failed"]
    assert told[0] == told[1] == {"id": inbox[0]["id"], "subject": "Build 7 failed"}
    assert deployed.splitlines() == ["true", "deploying", '{"released":1}']
    assert json.loads(first) | {"id": 0} == {"id": 0, "from": "BlueLake", "subject": "Again, please"}
    assert again == ""
    assert refused.split() == ["false"]
    assert left == ["ci-token", "issued"]
    assert "PERMISSION_DENIED" in twice or "CONFLICT" in twice, twice
    assert (reader.cwd / "ci-token").read_text().strip() == token
    assert "SwiftCrane in CI" in listed
    assert "detail" in locked_out
