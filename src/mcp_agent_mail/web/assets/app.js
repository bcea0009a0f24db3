// Everything works without this file. It reads messages beside the list, and moves by keys.
import { bindActs } from "./acts.js";
import { bindDrafts } from "./drafts.js";
import { bindKeys } from "./keys.js";
import { bindReader } from "./reader.js";

bindReader();
bindKeys();
bindActs();
bindDrafts();
