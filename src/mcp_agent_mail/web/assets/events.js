// What happens, heard once per browser: the tab that holds the lock has the stream and tells the others. When it is
// closed, the next one goes on behind the last event that all have heard.
const NAME = "agent-mail-events";
const KINDS = ["all", "mail", "receipt", "contact", "lease", "held", "agent"];
// The server gives a sign of life each 15 seconds: a stream that is silent for longer has died without a word.
const SILENT_MS = 40000;
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 30000;

export function listen(tell) {
  const others = "BroadcastChannel" in self ? new BroadcastChannel(NAME) : null;
  let last = document.body.dataset.after;
  const hear = ({ id, kind }) => {
    last = id;
    tell(kind);
  };
  others?.addEventListener("message", (event) => hear(event.data));
  const follow = () => stream(() => last, (told) => {
    hear(told);
    others?.postMessage(told);
  });
  if (!navigator.locks || !others) {
    follow();
    return;
  }
  // The lock is kept until the tab is closed: what is promised never comes.
  navigator.locks.request(NAME, () => { follow(); return new Promise(() => {}); });
}

function stream(lastId, hear) {
  let pause = FIRST_PAUSE_MS;
  const open = () => {
    const source = new EventSource(`/mail/events?after=${encodeURIComponent(lastId())}`);
    let silence;
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => { source.close(); open(); }, SILENT_MS);
    };
    alive();
    source.addEventListener("begin", () => { pause = FIRST_PAUSE_MS; });
    source.addEventListener("beat", alive);
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => { alive(); hear({ id: event.lastEventId, kind }); });
    }
    source.addEventListener("error", () => {
      // What was cut comes back by itself; what was refused, or finds no server, does not.
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(silence);
      setTimeout(open, pause * (0.75 + Math.random() / 2));
      pause = Math.min(pause * 2, LAST_PAUSE_MS);
    });
  };
  open();
}
