// {mark}.
// Mail of other agents for OpenCode, 1.x (`server`) and 2.x (`setup`): one file serves both, so it imports neither SDK.
// Whatever goes wrong here, OpenCode goes on without mail.

const AM = "{am}"
const CLIENT = "opencode"
const WITHIN_MS = 5000
const MAX_SESSIONS = 200
const MAX_BYTES = 65536
const MAX_WATCHERS = 8
const WOKEN = 2

// What is known of a session: whether it began, is a sub-agent's, was continued by us, and what its turn was told.
const sessions = new Map()

function stateOf(id) {
  const state = sessions.get(id) ?? { begun: false, parent: null, continued: false, texts: [] }
  sessions.delete(id)
  sessions.set(id, state)
  if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value)
  return state
}

// Runs `am hook opencode EVENT`. Its answer is one of {}, {text}, {continue}, {refuse}.
async function ask(event, payload) {
  try {
    const { spawn } = await import("node:child_process")
    return await new Promise((done) => {
      const child = spawn(AM, ["hook", CLIENT, event], { stdio: ["pipe", "pipe", "ignore"] })
      let said = ""
      const timer = setTimeout(() => child.kill(), WITHIN_MS)
      const end = () => {
        clearTimeout(timer)
        try {
          done(JSON.parse(said) ?? {})
        } catch {
          done({})
        }
      }
      child.on("error", end)
      child.on("close", end)
      child.stdout.on("data", (piece) => {
        if (said.length < MAX_BYTES) said += piece
      })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    })
  } catch {
    return {}
  }
}

// By session, the process that waits beside it while it is idle.
const watchers = new Map()

// Runs `am hook opencode idle --wake` beside an idle session: when it ends with 2, `wake` gets what it wrote to stderr.
// It ends by itself when a turn begins, when a later one watches the session, and when this process has gone.
async function watch(id, cwd, wake) {
  if (stateOf(id).parent) return
  const { spawn } = await import("node:child_process")
  const child = spawn(AM, ["hook", CLIENT, "idle", "--wake"], { stdio: ["pipe", "ignore", "pipe"] })
  let said = ""
  child.on("error", () => {})
  child.on("close", (code) => {
    if (watchers.get(id) === child) watchers.delete(id)
    // Of one that we ended ourselves, words that were out already count: nobody else will say them.
    if (said.trim() && (code === WOKEN || child.killed)) Promise.resolve(said.trim()).then(wake).catch(() => {})
  })
  child.stderr.on("data", (piece) => {
    if (said.length < MAX_BYTES) said += piece
  })
  child.stdin.on("error", () => {})
  child.stdin.end(JSON.stringify(payloadOf(id, cwd)))
  // OpenCode ends when it wants to.
  child.unref()
  child.stderr.unref?.()
  watchers.delete(id)
  watchers.set(id, child)
  if (watchers.size > MAX_WATCHERS) {
    const [oldest, process] = watchers.entries().next().value
    watchers.delete(oldest)
    process.kill()
  }
}

function payloadOf(id, cwd, more) {
  const state = stateOf(id)
  const payload = { session: id, cwd, continued: state.continued, ...more }
  if (state.parent) payload.parent = state.parent
  return payload
}

// What the model is to be told as a turn begins: first what a start says, where nothing has been said in this session.
async function turn(id, cwd) {
  const state = stateOf(id)
  const found = []
  if (!state.begun) {
    state.begun = true
    found.push((await ask("session.start", payloadOf(id, cwd, { source: "startup" }))).text)
  }
  found.push((await ask("turn", payloadOf(id, cwd))).text)
  state.continued = false
  return found.filter(Boolean)
}

// A result is only looked at for our own server's answers, which are short.
function bounded(result) {
  const text = typeof result === "string" ? result : JSON.stringify(result ?? "")
  return text.length > MAX_BYTES ? "" : result
}

async function refusal(id, cwd, tool, input) {
  return (await ask("tool.before", payloadOf(id, cwd, { tool, input }))).refuse
}

// --- 1.x: a function that returns handlers -------------------------------------------------------------------------

async function server({ client, directory }) {
  const cwd = directory
  const send = (id, text) =>
    client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text, synthetic: true }] } })
  const onEvent = {
    "session.created": async (properties) => {
      stateOf(properties.info.id).parent = properties.info.parentID ?? null
    },
    "session.compacted": async (properties) => {
      await ask("compact", payloadOf(properties.sessionID, cwd))
    },
    "session.deleted": async (properties) => {
      await ask("session.end", payloadOf(properties.info.id, cwd))
      sessions.delete(properties.info.id)
    },
    "session.idle": async (properties) => {
      const id = properties.sessionID
      const text = (await ask("idle", payloadOf(id, cwd))).continue
      stateOf(id).continued = Boolean(text)
      // A turn that mail began is a turn like any other: it is told what has come meanwhile.
      if (text) await send(id, text)
      else await watch(id, cwd, (mail) => send(id, mail))
    },
  }
  return {
    event: async ({ event }) => {
      try {
        await onEvent[event.type]?.(event.properties)
      } catch {}
    },
    "chat.message": async (input, output) => {
      try {
        if (stateOf(input.sessionID).continued) return
        for (const text of await turn(input.sessionID, cwd)) {
          output.parts.push({
            id: `prt_${crypto.randomUUID().replaceAll("-", "")}`,
            sessionID: input.sessionID,
            messageID: output.message.id,
            type: "text",
            text,
            synthetic: true,
          })
        }
      } catch {}
    },
    "tool.execute.before": async (input, output) => {
      const refused = await refusal(input.sessionID, cwd, input.tool, output.args)
      if (refused) throw new Error(refused)
    },
    "tool.execute.after": async (input, output) => {
      try {
        if (typeof output.output !== "string") return
        const said = { tool: input.tool, input: input.args, result: bounded(output.output) }
        const text = (await ask("tool.after", payloadOf(input.sessionID, cwd, said))).text
        if (text) output.output += `\n\n${text}`
      } catch {}
    },
  }
}

// --- 2.x: hooks are registered on a context ------------------------------------------------------------------------

async function setup(ctx) {
  const cwd = ctx.location?.directory ?? process.cwd()
  const send = (sessionID, text) => ctx.session.synthetic({ sessionID, text })
  await ctx.session.hook("prompt", async (event) => {
    try {
      const state = stateOf(event.sessionID)
      if (!state.continued) state.texts = await turn(event.sessionID, cwd)
    } catch {}
  })
  // What is put here holds for one call of the model: it is put again until the turn is over.
  await ctx.session.hook("context", (event) => {
    for (const text of stateOf(event.sessionID).texts) event.system.push({ type: "text", text })
  })
  await ctx.tool.hook("execute.before", async (event) => {
    const refused = await refusal(event.sessionID, cwd, event.tool, event.input)
    if (refused) throw new Error(refused)
  })
  await ctx.tool.hook("execute.after", async (event) => {
    try {
      const said = { tool: event.tool, input: event.input, result: bounded(event.result) }
      const text = (await ask("tool.after", payloadOf(event.sessionID, cwd, said))).text
      if (text) stateOf(event.sessionID).texts.push(text)
    } catch {}
  })
  const onEvent = {
    "session.created": async (data) => {
      stateOf(data.sessionID).parent = data.parentID ?? null
    },
    "session.compaction.ended": async (data) => {
      await ask("compact", payloadOf(data.sessionID, cwd))
    },
    "session.deleted": async (data) => {
      await ask("session.end", payloadOf(data.sessionID, cwd))
      sessions.delete(data.sessionID)
    },
    "session.execution.succeeded": async (data) => {
      const state = stateOf(data.sessionID)
      state.texts = []
      const text = (await ask("idle", payloadOf(data.sessionID, cwd))).continue
      state.continued = Boolean(text)
      if (text) await send(data.sessionID, text)
      else await watch(data.sessionID, cwd, (mail) => send(data.sessionID, mail))
    },
  }
  const follow = async () => {
    for await (const event of ctx.event.subscribe()) {
      try {
        await onEvent[event.type]?.(event.data ?? event.properties ?? {})
      } catch {}
    }
  }
  follow().catch(() => {})
}

export default { id: "agent-mail", server, setup }
