// Heard once per browser: the tab that holds the lock tells the others. When it is closed, the next goes on behind
// the last event that all have heard.
const NAME = "agent-mail-events";
const KINDS = ["all", "mail", "receipt", "contact", "lease", "held", "agent"];
// The server gives a sign of life each 15 seconds.
const SILENT_MS = 40000;
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 30000;

// `tell` is given the kind of what happened; `lost`: the stream is.
export function listen(tell) {
  const others = navigator.locks && new BroadcastChannel(NAME);
  let last = document.body.dataset.after;
  let pause = FIRST_PAUSE_MS;
  const hear = ({ id, kind }) => {
    last = id;
    tell(kind);
  };
  const share = (kind, id) => {
    hear({ id, kind });
    others?.postMessage({ id, kind });
  };
  const open = () => {
    const source = new EventSource(`/mail/events?after=${encodeURIComponent(last)}`);
    let silence;
    const openAgain = (after) => {
      clearTimeout(silence);
      source.close();
      setTimeout(open, after);
    };
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => { share("lost", last); openAgain(0); }, SILENT_MS);
    };
    alive();
    source.addEventListener("begin", () => { pause = FIRST_PAUSE_MS; });
    source.addEventListener("beat", alive);
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => { alive(); share(kind, event.lastEventId); });
    }
    source.addEventListener("error", () => {
      share("lost", last);
      // A stream that was cut comes back by itself.
      if (source.readyState !== EventSource.CLOSED) return;
      openAgain(pause * (0.75 + Math.random() / 2));
      pause = Math.min(pause * 2, LAST_PAUSE_MS);
    });
  };
  others?.addEventListener("message", (event) => hear(event.data));
  // Kept until the tab is closed.
  if (others) navigator.locks.request(NAME, () => new Promise(open));
  else open();
}
