// What happens, heard once per browser: the tab that holds the lock has the stream and tells the others. When it is
// closed, the next one goes on behind the last event that all have heard.
const NAME = "agent-mail-events";
const KINDS = ["all", "mail", "receipt", "contact", "lease", "held", "agent"];
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 30000;

export function listen(tell) {
  const others = "BroadcastChannel" in self ? new BroadcastChannel(NAME) : null;
  let last = "";
  const hear = ({ id, kind }) => {
    last = id;
    tell(kind);
  };
  others?.addEventListener("message", (event) => hear(event.data));
  const follow = () => stream(() => last, (id) => { last = id; }, (told) => {
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

function stream(lastId, begin, hear) {
  let pause = FIRST_PAUSE_MS;
  const open = () => {
    const source = new EventSource(`/mail/events${lastId() ? `?after=${encodeURIComponent(lastId())}` : ""}`);
    source.addEventListener("open", () => { pause = FIRST_PAUSE_MS; });
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => hear({ id: event.lastEventId, kind }));
    }
    source.addEventListener("begin", (event) => { if (!lastId()) begin(event.lastEventId); });
    source.addEventListener("error", () => {
      // What was cut comes back by itself; what was refused, or finds no server, does not.
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(open, pause * (0.75 + Math.random() / 2));
      pause = Math.min(pause * 2, LAST_PAUSE_MS);
    });
  };
  open();
}
