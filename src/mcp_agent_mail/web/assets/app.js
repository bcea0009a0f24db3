// Every page works without this file.
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
