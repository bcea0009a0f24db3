// Every page works without this file. What it imports binds itself.
import "./drafts.js";
import "./keys.js";
import "./live.js";
import "./search.js";
