// Everything works without this file. It reads messages beside the list, moves by keys, and follows what happens.
import { bindMarks } from "./acts.js";
import { bindDrafts } from "./drafts.js";
import { bindKeys } from "./keys.js";
import { bindLive } from "./live.js";
import { bindReader } from "./reader.js";
import { bindSearch } from "./search.js";

bindReader();
bindKeys();
bindSearch();
bindLive();
bindMarks();
bindDrafts();
