"""The plugins beside hosts that call them as OpenCode 1.x, 2.x and Amp do: what they ask, and where it goes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import read_contract
from mcp_agent_mail.clients.setup.contract_wishes import plugin_text
from tests.clients.setup.conftest import Ground

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="SKIPPED: node runs the plugins")

ANSWERS = {
    "session.start": {"text": "you are BlueLake"},
    "turn": {"text": "two messages"},
    "tool.before": {"refuse": "held by RedStone"},
    "tool.after": {"text": "an urgent one"},
    "idle": {"continue": "one more"},
}

V1 = """
const told = []
const client = { session: { promptAsync: async (call) => told.push(call) } }
const plugin = (await import(process.argv[2])).default
const hooks = await plugin.server({ client, directory: "/code/app" })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "s1", parentID: "s0" } } } })
const output = { message: { id: "m1" }, parts: [] }
await hooks["chat.message"]({ sessionID: "s1" }, output)
let refused = ""
try {
  await hooks["tool.execute.before"]({ sessionID: "s1", tool: "edit" }, { args: { filePath: "/code/app/a.py" } })
} catch (error) { refused = error.message }
const result = { output: "done" }
await hooks["tool.execute.after"]({ sessionID: "s1", tool: "bash", args: {} }, result)
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
// The message that we sent ourselves was told all there is.
const own = { message: { id: "m2" }, parts: [] }
await hooks["chat.message"]({ sessionID: "s1" }, own)
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s1" } } })
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "s1" } } } })
console.log(JSON.stringify({ id: plugin.id, texts: output.parts.map((part) => part.text), own: own.parts, refused,
  result: result.output, told }))
"""

V2 = """
const hooks = {}
const told = []
const waiting = []
let wake = () => {}
// Over once the plugin asks for the next one.
const emit = (type, data) => new Promise((done) => { waiting.push([{ type, data }, done]); wake() })
const ctx = {
  location: { directory: "/code/app" },
  session: { hook: async (name, run) => { hooks[name] = run }, synthetic: async (call) => told.push(call) },
  tool: { hook: async (name, run) => { hooks[name] = run } },
  event: { subscribe: async function* () {
    for (;;) {
      if (!waiting.length) await new Promise((done) => { wake = done })
      const [event, done] = waiting.shift()
      yield event
      done()
    }
  } },
}
const plugin = (await import(process.argv[2])).default
await plugin.setup(ctx)
await hooks["prompt"]({ sessionID: "s1", prompt: { text: "go" } })
const first = { sessionID: "s1", system: [] }
hooks["context"](first)
let refused = ""
try { await hooks["execute.before"]({ sessionID: "s1", tool: "edit", input: { filePath: "a" } }) }
catch (error) { refused = error.message }
await hooks["execute.after"]({ sessionID: "s1", tool: "bash", input: {}, result: "done" })
const second = { sessionID: "s1", system: [] }
hooks["context"](second)
await emit("session.execution.succeeded", { sessionID: "s1" })
const third = { sessionID: "s1", system: [] }
hooks["context"](third)
console.log(JSON.stringify({ first: first.system, second: second.system, third: third.system, refused, told }))
process.exit(0)
"""

AMP = """
const hooks = {}
const plugin = (await import(process.argv[2])).default
plugin({ on: (name, run) => { hooks[name] = run } })
const thread = { id: "T-1" }
const start = await hooks["agent.start"]({ thread, message: "go" })
const call = await hooks["tool.call"]({ thread, tool: "edit_file", input: { path: "a" } })
const text = await hooks["tool.result"]({ thread, tool: "Bash", input: {}, output: "done", status: "done" })
const list = await hooks["tool.result"]({ thread, tool: "Bash", input: {}, output: [], status: "done" })
const none = await hooks["tool.result"]({ thread, tool: "Bash", input: {}, output: { a: 1 }, status: "done" })
const end = await hooks["agent.end"]({ thread, status: "done" })
const own = await hooks["agent.start"]({ thread, message: "one more" })
console.log(JSON.stringify({ start, call, text, list, none: none ?? null, end, own }))
"""


WAKE_V1 = """
let woken
const mail = new Promise((done) => { woken = done })
const late = setTimeout(() => woken(null), 30000)
const client = { session: { promptAsync: async (call) => woken(call) } }
const plugin = (await import(process.argv[2])).default
const hooks = await plugin.server({ client, directory: "/code/app" })
const created = { type: "session.created", properties: { info: { id: "s2", parentID: "s0" } } }
await hooks.event({ event: created })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s2" } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
const told = await mail
clearTimeout(late)
const output = { message: { id: "m1" }, parts: [] }
await hooks["chat.message"]({ sessionID: "s1" }, output)
console.log(JSON.stringify({ told, next: output.parts.map((part) => part.text) }))
"""

WAKE_V2 = """
let woken
const mail = new Promise((done) => { woken = done })
const late = setTimeout(() => woken(null), 30000)
const ctx = {
  location: { directory: "/code/app" },
  session: { hook: async () => {}, synthetic: async (call) => woken(call) },
  tool: { hook: async () => {} },
  event: { subscribe: async function* () {
    yield { type: "session.created", data: { sessionID: "s2", parentID: "s0" } }
    yield { type: "session.execution.succeeded", data: { sessionID: "s2" } }
    yield { type: "session.execution.succeeded", data: { sessionID: "s1" } }
  } },
}
const plugin = (await import(process.argv[2])).default
await plugin.setup(ctx)
const told = await mail
clearTimeout(late)
console.log(JSON.stringify({ told }))
"""

MANY_V1 = """
const { readdirSync } = await import("node:fs")
const told = []
const client = { session: { promptAsync: async (call) => told.push(call.path.id) } }
const plugin = (await import(process.argv[2])).default
const hooks = await plugin.server({ client, directory: "/code/app" })
const late = Date.now() + 30000
const started = () => readdirSync(process.argv[3])
const alive = () => started().filter((name) => {
  try { process.kill(Number(name), 0); return true } catch { return false }
})
const until = async (is) => { while (!is() && Date.now() < late) await new Promise((done) => setTimeout(done, 10)) }
for (let at = 0; at < 12; at++) {
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: `s${at}` } } })
  await until(() => started().length > at)
}
await until(() => told.length >= 4)
const left = alive()
for (const name of left) process.kill(Number(name))
console.log(JSON.stringify({ left: left.length, started: started().length, told: told.sort() }))
"""

_WATCHES = """
if [ "$4" = --wake ]; then
  cat > "{at}/watched"
  [ -e "{at}/pids" ] && cat "{at}/mail" >&2 && : > "{at}/pids/$$" && exec sleep 60
  cat "{at}/mail" >&2 2>/dev/null && exit 2
  exit 0
fi
"""
"""The watcher's part of the `am` that is made up: it wakes at once where there is `mail`, and stays where there are
`pids`.
"""


# Plain JSON.
def run(client: str, host: str, tmp_path: Path, answers: dict[str, Any] = ANSWERS) -> tuple[Any, list[Any]]:
    """What the host saw, and what the hook was asked: event and payload, in order."""
    am = tmp_path / "bin dir/am"
    am.parent.mkdir()
    for event, answer in answers.items():
        (am.parent / event).write_text(json.dumps(answer))
    am.write_text(
        f"#!/bin/sh\n{_WATCHES.format(at=tmp_path)}"
        f'printf \'%s \' "$*" >> "{tmp_path}/asked"\ncat >> "{tmp_path}/asked"\necho >> "{tmp_path}/asked"\n'
        f'cat "{am.parent}/$3" 2>/dev/null || echo "{{}}"\n'
    )
    am.chmod(0o755)
    plugin = tmp_path / "agent-mail.mjs"
    plugin.write_text(plugin_text(client, str(am)))
    host_file = tmp_path / "host.mjs"
    host_file.write_text(host)
    ended = subprocess.run(
        [str(NODE), str(host_file), plugin.as_uri(), str(tmp_path / "pids")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    asked = [line.split(" ", 3) for line in (tmp_path / "asked").read_text().splitlines()]
    assert all(words[:2] == ["hook", client] for words in asked)
    return json.loads(ended.stdout), [(words[2], json.loads(words[3])) for words in asked]


def test_opencode_1_gets_its_texts_where_they_belong(tmp_path: Path) -> None:
    seen, asked = run("opencode", V1, tmp_path)

    assert seen["id"] == "agent-mail"
    assert seen["texts"] == ["you are BlueLake", "two messages"]
    assert seen["own"] == []
    assert seen["refused"] == "held by RedStone"
    assert seen["result"] == "done\n\nan urgent one"
    assert [call["path"] for call in seen["told"]] == [{"id": "s1"}]
    assert [part["text"] for part in seen["told"][0]["body"]["parts"]] == ["one more"]
    events = [event for event, _ in asked]
    assert events == ["session.start", "turn", "tool.before", "tool.after", "idle", "compact", "session.end"]
    assert set(events) == set(read_contract("opencode")["events"])
    assert all(said["session"] == "s1" and said["cwd"] == "/code/app" and said["parent"] == "s0" for _, said in asked)
    assert dict(asked)["tool.before"]["input"] == {"filePath": "/code/app/a.py"}


def test_opencode_2_says_it_at_every_call_of_the_turn_and_no_longer(tmp_path: Path) -> None:
    seen, asked = run("opencode", V2, tmp_path)

    assert [part["text"] for part in seen["first"]] == ["you are BlueLake", "two messages"]
    assert [part["text"] for part in seen["second"]] == ["you are BlueLake", "two messages", "an urgent one"]
    assert seen["third"] == []
    assert seen["refused"] == "held by RedStone"
    assert seen["told"] == [{"sessionID": "s1", "text": "one more"}]
    assert [event for event, _ in asked] == ["session.start", "turn", "tool.before", "tool.after", "idle"]


def test_amp_gets_its_texts_where_they_belong(tmp_path: Path) -> None:
    seen, asked = run("amp", AMP, tmp_path)

    assert seen["start"] == {"message": {"content": "you are BlueLake\n\ntwo messages", "display": False}}
    assert seen["call"] == {"action": "reject-and-continue", "message": "held by RedStone"}
    assert seen["text"] == {"status": "done", "output": "done\n\nan urgent one"}
    assert seen["list"] == {"status": "done", "output": [{"type": "text", "text": "an urgent one"}]}
    # No place for text: mail is not even asked for.
    assert seen["none"] is None
    assert seen["end"] == {"action": "continue", "userMessage": "one more"}
    assert seen["own"] == {}
    assert [event for event, _ in asked] == [
        "session.start",
        "turn",
        "tool.before",
        "tool.after",
        "tool.after",
        "idle",
    ]


@pytest.mark.parametrize(
    ("client", "host"), [("opencode", V1), ("opencode", V2), ("amp", AMP)], ids=["v1", "v2", "amp"]
)
def test_a_hook_that_has_nothing_to_say_changes_nothing(client: str, host: str, tmp_path: Path) -> None:
    seen, _ = run(client, host, tmp_path, {})

    assert seen.get("refused", "") == ""
    assert not seen.get("told")
    assert seen.get("call", {"action": "allow"}) == {"action": "allow"}
    assert seen.get("texts", []) == seen.get("first", []) == []


@pytest.mark.parametrize(("host", "is_1"), [(WAKE_V1, True), (WAKE_V2, False)], ids=["v1", "v2"])
def test_mail_wakes_an_idle_session_of_opencode(host: str, is_1: bool, tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("Agent mail: one\n> subject: Plan\n")

    seen, asked = run("opencode", host, tmp_path, {"turn": {"text": "and another"}})

    text = "Agent mail: one\n> subject: Plan"
    by_1 = {"path": {"id": "s1"}, "body": {"parts": [{"type": "text", "text": text, "synthetic": True}]}}
    assert seen["told"] == (by_1 if is_1 else {"sessionID": "s1", "text": text})
    # What has come since then is told as in every turn.
    assert seen.get("next") == (["and another"] if is_1 else None)
    # Beside a sub-agent nobody watches.
    assert json.loads((tmp_path / "watched").read_text()) == {"session": "s1", "cwd": "/code/app", "continued": False}
    assert [event for event, _ in asked][:2] == ["idle", "idle"]


def test_a_turn_that_goes_on_is_not_watched(tmp_path: Path) -> None:
    run("opencode", V1, tmp_path)

    assert not (tmp_path / "watched").exists()


def test_so_many_watchers_at_most_wait_and_the_latest_stay(tmp_path: Path) -> None:
    """Nor is lost what those had said that were ended for them."""
    (tmp_path / "pids").mkdir()
    (tmp_path / "mail").write_text("Agent mail: one\n")

    seen, _ = run("opencode", MANY_V1, tmp_path, {})

    assert seen == {"left": 8, "started": 12, "told": ["s0", "s1", "s2", "s3"]}


def test_the_plugin_watches_at_the_event_of_the_contract() -> None:
    event = read_contract("opencode")["wake"]["event"]

    assert f'spawn(AM, ["hook", CLIENT, "{event}", "--wake"]' in plugin_text("opencode", "am")


def test_mail_of_a_real_server_wakes_an_idle_session_of_opencode(ground: Ground, tmp_path: Path) -> None:
    """Normal mail, which no hook at the end of a turn tells."""
    project = tmp_path / "app"
    project.mkdir()
    with ground.server.connect() as connection:
        connection.call("ensure_project", human_key=str(project))
        for name in ("BlueLake", "RedStone"):
            connection.call("register_agent", project_key=str(project), name=name, program="tests", model="none")
        message = {"subject": "Plan", "body_md": "Shall we?", "to": ["BlueLake"], "sender_name": "RedStone"}
        connection.call("send_message", project_key=str(project), **message)
    plugin, host = tmp_path / "agent-mail.mjs", tmp_path / "host.mjs"
    plugin.write_text(plugin_text("opencode", str(ground.am)))
    host.write_text(WAKE_V1)

    ended = subprocess.run(
        [str(NODE), str(host), plugin.as_uri()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={
            **ground.environment(),
            "AGENT_NAME": "BlueLake",
            "AGENT_MAIL_PROJECT": str(project),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        },
    )

    assert ended.returncode == 0, ended.stderr
    (part,) = json.loads(ended.stdout)["told"]["body"]["parts"]
    assert "> subject: Plan\n> text: Shall we?" in part["text"]
    # The turn that it began has nothing more to tell of that message.
    assert "Plan" not in "".join(json.loads(ended.stdout)["next"])
