"""Twenty answers of `am robot` with their tokens, into `tests/golden/robot_answers.json` and the page about it:
`make tokens`.

What differs from run to run (ages, times left, the version) is written alike. Of what was cut, by the byte, only the
beginning is kept.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cli.command_line import environment
from tests.served import Connection, Served
from tests.server.token_counts import encoding

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "robot_answers.json"
PAGE = ROOT / "docs" / "how-to" / "use-from-a-shell.md"
BEGIN, END = "<!-- answers: begin -->", "<!-- answers: end -->"
PROJECT = "/code/shop"
MANY = 60
_LONG = 1_000
_KEPT = 400

# Who asks, and what.
QUESTIONS: tuple[tuple[str, str], ...] = (
    ("BlueLake", "status"),
    ("BlueLake", "whoami"),
    ("BlueLake", "inbox"),
    ("BlueLake", "inbox --all"),
    ("BlueLake", "inbox --urgent"),
    ("BlueLake", "inbox --bodies"),
    ("BlueLake", "inbox --limit 1"),
    ("BlueLake", "inbox --format toon"),
    ("GreenField", "inbox"),
    ("GreenField", "inbox --format toon"),
    ("BlueLake", "thread parser"),
    ("BlueLake", "thread parser --heads"),
    ("BlueLake", "thread 1"),
    ("BlueLake", "thread release-notes"),
    ("BlueLake", "search parser"),
    ("BlueLake", "search nothing-of-this"),
    ("BlueLake", "reservations"),
    ("BlueLake", "reservations --mine"),
    ("BlueLake", "thread no-such-thread"),
    ("BlueLake", "inbox --unread"),
)
_ALIKE = (
    (re.compile(r'"age_s":\d+'), '"age_s":60'),
    (re.compile(r'"expires_in_s":\d+'), '"expires_in_s":3540'),
    (re.compile(r'"pending_events":\d+'), '"pending_events":0'),
    (re.compile(r'"version":"[^"]+"'), '"version":"1.0.0"'),
)


def write_story(connection: Connection) -> dict[str, str]:
    """The mail and the leases that are asked about; gives the agents' tokens."""
    connection.call("ensure_project", human_key=PROJECT)
    tokens = {}
    for name in ("BlueLake", "RedStone", "GreenField"):
        profile = {"name": name, "program": "claude-code", "model": "opus", "task_description": f"{name}'s part"}
        tokens[name] = connection.call("register_agent", project_key=PROJECT, **profile)["registration_token"]

    def send(sender: str, to: str, subject: str, body: str, **more: Any) -> int:
        given = {"sender_name": sender, "to": [to], "subject": subject, "body_md": body, **more}
        sent = connection.call("send_message", project_key=PROJECT, **given)
        return int(sent["deliveries"][0]["payload"]["id"])

    first = send("RedStone", "BlueLake", "Who takes the parser?", "I have the lexer. Yours?", thread_id="parser")
    connection.call("mark_message_read", project_key=PROJECT, agent_name="BlueLake", message_id=first)
    send("BlueLake", "RedStone", "Re: Who takes the parser?", "Mine, by noon.", thread_id="parser", reply_to=first)
    more = {"thread_id": "parser", "importance": "urgent", "ack_required": True}
    send("RedStone", "BlueLake", "Parser: tests fail on main", "`test_numbers` since 4f2a1c.", **more)
    send("GreenField", "BlueLake", "Release notes", "A long list of changes. " * 200, thread_id="release-notes")
    for number in range(MANY):
        send("RedStone", "GreenField", f"Build {number} is green", "All of it.")
    for name, path in (("RedStone", "src/lexer/**"), ("BlueLake", "src/parser/**")):
        lease = {"agent_name": name, "paths": [path], "reason": "parser"}
        connection.call("file_reservation_paths", project_key=PROJECT, **lease)
    return tokens


def answers(folder: Path) -> list[str]:
    """The answer to each question, as it came."""
    with Served(folder / "store", HOME=str(folder)) as server:
        with server.connect() as connection:
            tokens = write_story(connection)
        return [_ask(server, folder, agent, tokens[agent], question) for agent, question in QUESTIONS]


def _ask(server: Served, folder: Path, agent: str, token: str, question: str) -> str:
    settings = {"STORAGE_ROOT": str(server.root), "AGENT_MAIL_PROJECT": PROJECT, "HTTP_PORT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "robot", *question.split()],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder, **settings, AGENT_NAME=agent, AGENT_MAIL_AGENT_TOKEN=token),
    )
    assert not done.stderr, done.stderr
    return done.stdout


def alike(text: str) -> str:
    """What of an answer is the same in each run."""
    for pattern, one in _ALIKE:
        text = pattern.sub(one, text)
    # Rows of TOON: only an age is a number that follows another cell.
    text = re.sub(r"(?m)^  .*$", lambda row: re.sub(r",\d{1,4}(?=,|$)", ",60", row[0]), text)
    return text if len(text) < _LONG else f"{text[:_KEPT]}…"


def table(rows: list[dict[str, Any]]) -> str:
    """The answers' sizes, a row each."""
    lines = ["| question | bytes | tokens |", "|---|---|---|"]
    lines += [f"| `am robot {row['question']}`{row['note']} | {row['bytes']} | {row['tokens']} |" for row in rows]
    return "\n".join(lines)


def page_with(page: str, rows: list[dict[str, Any]]) -> str:
    """The page with this table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{rest.partition(END)[2]}"


def recorded() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return rows


def main() -> None:
    encode = encoding().encode
    with tempfile.TemporaryDirectory() as folder:
        found = answers(Path(folder))
    rows = [
        {
            "question": question,
            "note": f", {MANY} unread" if agent == "GreenField" else "",
            "bytes": len(text.encode()),
            "tokens": len(encode(text)),
            "answer": alike(text),
        }
        for (agent, question), text in zip(QUESTIONS, found, strict=True)
    ]
    GOLDEN.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    for row in rows:
        sys.stdout.write(f"{row['tokens']:5} tokens {row['bytes']:5} bytes  am robot {row['question']}\n")
    sys.stdout.write(f"{sum(len(encode(text)) for text in found):5} tokens in all\n")


if __name__ == "__main__":
    main()
