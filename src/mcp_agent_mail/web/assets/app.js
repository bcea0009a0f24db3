// Every page works without this file.
import "./drafts.js";
import "./keys.js";
import "./live.js";
import "./search.js";
