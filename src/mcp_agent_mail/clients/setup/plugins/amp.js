// {mark}.
// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// Mail of other agents for Amp. Whatever goes wrong here, Amp goes on without mail.

const AM = "{am}"
const CLIENT = "amp"
const WITHIN_MS = 5000
const MAX_THREADS = 200
const MAX_BYTES = 65536

// Threads that were told what a start says, and those that we have let go on.
const begun = new Set()
const continued = new Set()

function note(threads, id) {
  threads.delete(id)
  threads.add(id)
  if (threads.size > MAX_THREADS) threads.delete(threads.values().next().value)
}

// Runs `am hook amp EVENT`. Its answer is one of {}, {text}, {continue}, {refuse}.
async function ask(event, id, more) {
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
      child.stdin.end(JSON.stringify({ session: id, cwd: process.cwd(), continued: continued.has(id), ...more }))
    })
  } catch {
    return {}
  }
}

function threadOf(event, ctx) {
  return String(event?.thread?.id ?? ctx?.thread?.id ?? "")
}

export default function (amp) {
  amp.on("agent.start", async (event, ctx) => {
    const id = threadOf(event, ctx)
    // The turn that our own words began was told all there is.
    if (!id || continued.has(id)) return {}
    const found = []
    if (!begun.has(id)) {
      note(begun, id)
      found.push((await ask("session.start", id, { source: "startup" })).text)
    }
    found.push((await ask("turn", id)).text)
    const content = found.filter(Boolean).join("\n\n")
    return content ? { message: { content, display: false } } : {}
  })
  amp.on("tool.call", async (event, ctx) => {
    const id = threadOf(event, ctx)
    const refused = id && (await ask("tool.before", id, { tool: event.tool, input: event.input })).refuse
    return refused ? { action: "reject-and-continue", message: refused } : { action: "allow" }
  })
  amp.on("tool.result", async (event, ctx) => {
    const id = threadOf(event, ctx)
    const takesText = typeof event.output === "string" || Array.isArray(event.output)
    // Mail is asked for only where there is a place to put it.
    if (!id || !takesText) return undefined
    const result = JSON.stringify(event.output).length > MAX_BYTES ? "" : event.output
    const text = (await ask("tool.after", id, { tool: event.tool, input: event.input, result })).text
    if (!text) return undefined
    const output = Array.isArray(event.output)
      ? [...event.output, { type: "text", text }]
      : `${event.output}\n\n${text}`
    return { status: event.status, output }
  })
  amp.on("agent.end", async (event, ctx) => {
    const id = threadOf(event, ctx)
    if (!id) return undefined
    const text = event.status === "done" ? (await ask("idle", id)).continue : undefined
    continued.delete(id)
    if (!text) return undefined
    note(continued, id)
    return { action: "continue", userMessage: text }
  })
}
