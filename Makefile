# Needs Python >= 3.11, git and make, and a package index for the first run. Uses uv where it is on PATH, else pip.
# The first run makes .venv and installs exactly what requirements/*.txt lock, hash by hash; later runs start at once.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# Set PYTHON=/path/to/python to choose the interpreter of .venv.
PYTHON ?=
# Where `make link` puts the command; a folder that stands in PATH.
LINK_DIR ?= $(HOME)/.local/bin
# Arguments of `am serve`, e.g. make serve ARGS='--port 9000'.
ARGS ?=
# Processes that pytest uses: a third of the time of the tests is waiting, so one more than a small machine has cores.
WORKERS ?= 3
# Seconds after which a test of `make test` counts as hanging: far more than the slowest takes on a busy machine.
HANGS_AFTER ?= 300
# Where `make real-clients` keeps the programs it installs, for the next time.
REAL_CLIENTS ?= $(VENV)/real-clients

# The stamps say what .venv holds. Each is made last, so a failed install leaves none.
MAIN := $(VENV)/.installed-main
DEV := $(VENV)/.installed-dev
TESTERS := $(VENV)/.installed-testers
BROWSER := $(VENV)/.installed-browser
NPM := $(VENV)/.installed-npm
TOKENS := $(VENV)/.installed-tokens
EXTRAS := $(VENV)/.installed-extras
HOOKS := $(VENV)/.installed-hooks

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: serve
serve: $(MAIN) ## Install what is locked, then serve on 127.0.0.1:8765, with this folder's .env if it has one
	@exec $(BIN)/am serve $(if $(wildcard .env),--env-file .env) $(ARGS)

LINK = $(LINK_DIR)/am
TARGET = $(CURDIR)/$(BIN)/am

.PHONY: link
link: $(MAIN) ## Put `am` on your PATH: a link in ~/.local/bin (LINK_DIR). What is there and not ours is left alone
	@if [ "$$(readlink "$(LINK)" || true)" = "$(TARGET)" ]; then echo "$(LINK) is there already."; \
	elif [ -e "$(LINK)" ] || [ -L "$(LINK)" ]; then \
		echo "$(LINK) is not ours and stays: $$(ls -ld "$(LINK)")" >&2; \
		echo "Take it away yourself, or choose a folder: make link LINK_DIR=..." >&2; exit 1; \
	else mkdir -p "$(LINK_DIR)"; ln -s "$(TARGET)" "$(LINK)"; echo "$(LINK) -> $(TARGET)"; fi
	@case ":$$PATH:" in *:"$(LINK_DIR)":*) ;; *) echo "$(LINK_DIR) is not in your PATH yet: add it in your shell's profile." >&2 ;; esac

.PHONY: unlink
unlink: ## Take away what `make link` put there, and nothing else
	@if [ "$$(readlink "$(LINK)" || true)" = "$(TARGET)" ]; then rm "$(LINK)"; echo "$(LINK) is gone."; \
	elif [ -e "$(LINK)" ] || [ -L "$(LINK)" ]; then echo "$(LINK) is not ours and stays." >&2; exit 1; \
	else echo "There is no $(LINK)."; fi

.PHONY: test
test: lint types pytest ## Every check that belongs to a change

.PHONY: check-all
check-all: test long cover testers both-paths llm hooks homes browser deploy packages extras attack auth fuzz hostile faults patterns contest pages rebuild restore crash ladder hook-faults doors-histories imports postal-burst real-clients ## `make test`, the long tests, what is covered, the protocol testers, MCP without its fast path, the guard beside real hook programs, the pages in a browser, what lies in deploy/, the packages, the extras, the attacks, who comes in, a million inputs, hostile attachments, the slow faults, every shell line of the pages, the rebuilt histories, what is restored, the crash rounds, the ladder of delivery, the rounds of hooks, the histories of doors, the large import, the burst at postal, and the real agent CLIs where there is npm

.PHONY: lint
lint: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: types
types: $(DEV)
	@$(BIN)/mypy

.PHONY: pytest
pytest: $(DEV) ## Every test but the slow and the long ones; prints the ten that took longest
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal --timeout $(HANGS_AFTER) --durations=10 $(ARGS)

.PHONY: long
long: $(DEV) ## What takes more than two seconds each: hundreds of starts of servers and commands
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal --timeout $(HANGS_AFTER) --durations=10 -m long $(ARGS)

.PHONY: cover
cover: $(DEV) ## The same tests, measured: prints lines and branches they cover (takes about twice as long)
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal --timeout $(HANGS_AFTER) --cov --cov-report=term $(ARGS)

.PHONY: testers
testers: inspector conformance ## Both protocol testers (they need Node, which is installed with them)

.PHONY: inspector
inspector: $(NPM) ## The MCP inspector's command line against a running server
	@$(BIN)/python -m tests.conformance inspector $(ARGS)

.PHONY: conformance
conformance: $(NPM) ## The MCP conformance suite against a running server, both protocol eras
	@$(BIN)/python -m tests.conformance scenarios $(ARGS)

.PHONY: both-paths
both-paths: $(DEV) $(NPM) ## The tests of MCP, and its testers, with every call going through FastMCP; `make test` runs the tests past it
	@TESTS_WITHOUT_FAST_PATH=1 $(BIN)/pytest -n $(WORKERS) tests/server tests/contracts tests/facades $(ARGS)
	@TESTS_WITHOUT_FAST_PATH=1 $(BIN)/python -m tests.conformance inspector
	@TESTS_WITHOUT_FAST_PATH=1 $(BIN)/python -m tests.conformance scenarios

.PHONY: hooks
hooks: $(HOOKS) $(NPM) ## The guard beside the real husky, pre-commit framework and lefthook
	@$(BIN)/pytest -n 0 -m hooks tests/hooks $(ARGS)

.PHONY: clients
clients: $(DEV) ## What every agent CLI reads in every case, hostile mail too; prints how many cases
	@$(BIN)/pytest -n 0 -s tests/clients $(ARGS)

.PHONY: real-clients
real-clients: $(DEV) ## Real agent CLIs, installed from npm, list what `am setup` wrote; prints which did, and why one was skipped
	@if command -v npm >/dev/null; then REAL_CLIENTS="$(REAL_CLIENTS)" $(BIN)/pytest -n 0 -m real_clients tests/real_clients $(ARGS); \
	else echo "NO REAL CLIENT WAS ASKED: skipped, since there is no npm to install them with (Node and npm on PATH)" >&2; fi

.PHONY: extras
extras: $(EXTRAS) ## What optional extras do, with their real libraries
	@$(BIN)/pytest -n 0 -m extras tests/server/observability $(ARGS)

.PHONY: llm
llm: $(TOKENS) ## Summaries refined through the real LiteLLM, against a model server of the tests' own
	@$(BIN)/pytest -n 0 -m llm tests/llm $(ARGS)

.PHONY: faults
faults: $(DEV) ## Every fault of store, archive, server and stores that are brought in, the slow ones too
	@$(BIN)/pytest -n $(WORKERS) -m "slow or not slow" tests/faults tests/cli/test_doctor_check.py tests/facades/importers $(ARGS)

.PHONY: deploy
deploy: $(DEV) ## What lies in deploy/, by nginx, Caddy, promtool, systemd-analyze and hadolint where they are, and in an empty folder; says what was skipped
	@$(BIN)/pytest -n 0 -m "deploy or not deploy" tests/deploy $(ARGS)

.PHONY: browser
browser: $(BROWSER) $(NPM) ## The pages in the machine's chromium: axe, console, hosts asked, layout at three widths and both schemes, hostile mail; says loudly when there is none
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || echo "NO PAGE WILL BE OPENED: there is no chromium on PATH" >&2
	@$(BIN)/pytest -n 0 -s -m "browser or not browser" tests/browser $(ARGS)

.PHONY: packages
packages: $(DEV) ## Wheel and sdist, installed into an empty environment of each Python that is here (ARGS='--python FILE' for more), with `am demo`
	@exec $(BIN)/python -m tests.packages $(ARGS)

.PHONY: homes
homes: $(DEV) ## `am setup` on made-up homes: ten clients, twelve kinds, each with the proof by a real server; a kill at each write
	@$(BIN)/pytest -n $(WORKERS) -m "slow or not slow" tests/clients/setup tests/cli/setup $(ARGS)

.PHONY: attack
attack: $(DEV) ## What an attacker would try: hostile repositories, settings, requests, reports
	@$(BIN)/pytest -n $(WORKERS) -m "slow or not slow" tests/attack $(ARGS)

.PHONY: auth
auth: $(DEV) ## Who comes in as what: every route and tool by every credential against a table, forged tokens, ways around them; prints the cells, and how long a wrong token takes
	@$(BIN)/python -m tests.auth.timing
	@$(BIN)/pytest -n $(WORKERS) -m "slow or not slow" tests/auth tests/server/jwt tests/attack/test_credentials.py tests/attack/test_smuggling.py tests/attack/test_escapes_in_logs.py tests/attack/test_calls_in_anothers_name.py $(ARGS)

.PHONY: fuzz
fuzz: $(DEV) ## A million inputs that nobody sends on purpose, read and sent; prints the seed and how many (ARGS='--seed N' makes them again)
	@exec $(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: hostile
hostile: $(DEV) ## Hostile images and paths against a running server: peak memory, sends beside them, bytes leaked
	@exec $(BIN)/python -m tests.attack.beside_hostile $(ARGS)

.PHONY: patterns
patterns: $(DEV) ## 180,300 pairs of reservation patterns against an enumeration of the rules
	@$(BIN)/pytest -n 0 -s -m "slow or not slow" tests/domain/test_pattern_rules.py $(ARGS)

.PHONY: pop-kills
pop-kills: $(DEV) ## A hundred kills of a server while a mailbox at a door is emptied: nothing lost, what comes twice is counted
	@$(BIN)/pytest -n 0 -s -m "crash or not crash" tests/crash/test_pop_kills.py $(ARGS)

.PHONY: contest
contest: $(DEV) ## Fifty agents fight for overlapping paths for half a minute
	@$(BIN)/pytest -n 0 -m "slow or not slow" tests/e2e/test_contest.py $(ARGS)

.PHONY: pages
pages: $(DEV) ## Every shell line of README and tutorials as it stands, the long ones too
	@$(BIN)/pytest -n 0 -m "slow or not slow" tests/pages $(ARGS)

.PHONY: rebuild
rebuild: $(DEV) ## Hundreds of random histories, each rebuilt from its archives alone and compared
	@$(BIN)/pytest -n $(WORKERS) -m "rebuild or not rebuild" tests/rebuild $(ARGS)

.PHONY: imports
imports: $(DEV) ## A large store of mcp_agent_mail with everything that bites, brought in twice; sixty imports that are killed
	@exec $(BIN)/python -m tests.imports $(ARGS)

.PHONY: restore
restore: $(DEV) ## Backups beside writers, fifty instants, damaged bytes, another user: each restored and compared
	@$(BIN)/pytest -n $(WORKERS) -m "restore or not restore" tests/restore tests/features/recovery $(ARGS)

.PHONY: crash
crash: $(DEV) ## Concurrent clients and kill -9, round after round; simulated losses of power
	@command -v cc >/dev/null || echo "NO LOSS OF POWER WILL BE SIMULATED: there is no C compiler (cc)" >&2
	@$(BIN)/pytest -n $(WORKERS) -m crash $(ARGS)

.PHONY: ladder
ladder: $(DEV) ## Ten thousand random histories of mail, cut and killed: no sender sees more than its recipients got
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "ladder or not ladder" tests/ladder $(ARGS)

.PHONY: hook-faults
hook-faults: $(DEV) ## Two thousand rounds of hooks that are killed, run twice at once, or lose their server
	@$(BIN)/python -m tests.hook_faults $(ARGS)

.PHONY: hook-talk
hook-talk: $(TOKENS) ## A conversation of three agents by the hooks of their clients: what is told when, and for how many tokens
	@$(BIN)/python -m tests.e2e.hook_talk $(ARGS)

.PHONY: bench
bench: $(DEV) ## Measure the server against a trivial one, in alternation
	@exec $(BIN)/python -m benchmarks $(ARGS)

.PHONY: before
before: $(DEV) ## This version beside the one before it: sends, the mixed load, and reading a hundred items, in alternation
	@exec $(BIN)/python -m benchmarks.before $(ARGS)

.PHONY: scale
scale: $(DEV) ## The same questions to 1,000 and 100,000 messages, in alternation
	@exec $(BIN)/python -m benchmarks.scale $(ARGS)

.PHONY: scale-million
scale-million: $(DEV) ## Inboxes, threads, searches, pages, sends, starts and doctor check of 1,000 and 1,000,000 messages; 15 minutes and 4.2 GB the first time
	@exec $(BIN)/python -m benchmarks.scale_million $(ARGS)

.PHONY: leases
leases: $(DEV) ## Reserving and releasing beside no and 10,000 live leases, in alternation with the floor
	@exec $(BIN)/python -m benchmarks.leases $(ARGS)

.PHONY: pressure
pressure: $(DEV) ## Memory and liveness while unfinished requests, endless headers, slow searches and installations press
	@exec $(BIN)/python -m benchmarks.pressure $(ARGS)

.PHONY: flood
flood: $(DEV) ## One floods a server for a minute, with idle, half-sent and unread connections: what others feel, and memory
	@exec $(BIN)/python -m benchmarks.flood $(ARGS)

.PHONY: waiters
waiters: $(DEV) ## A thousand who wait for mail: how soon they are told, what they cost, and the stop, beside the floor
	@exec $(BIN)/python -m benchmarks.waiters $(ARGS)

.PHONY: overhead
overhead: $(DEV) ## What metrics, profiles and workers cost a request, on against off, in alternation
	@exec $(BIN)/python -m benchmarks.overhead $(ARGS)

.PHONY: edge-costs
edge-costs: $(DEV) ## What rates, roles and JWTs cost a request, on against off, in ten alternating pairs
	@exec $(BIN)/python -m benchmarks.edge_costs $(ARGS)

.PHONY: page-costs
page-costs: $(BROWSER) ## What pages cost over 100,000 messages: p95, bytes, largest paint, and MCP beside a person who clicks
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || echo "NO PAINT WILL BE MEASURED: there is no chromium on PATH" >&2
	@exec $(BIN)/python -m benchmarks.pages $(ARGS)

.PHONY: share
share: $(BROWSER) ## What giving away 10,000 messages costs: export, memory, planted secrets, changed bytes, searches from a plain file server
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || echo "NO PAGE WILL BE SEARCHED: there is no chromium on PATH" >&2
	@exec $(BIN)/python -m benchmarks.share $(ARGS)

.PHONY: hook-times
hook-times: $(DEV) ## What an agent waits for at each event: the hook beside a bare Python, server up, down and hung
	@exec $(BIN)/python -m benchmarks.hook_times $(ARGS)

.PHONY: doors-histories
doors-histories: $(DEV) ## Histories of 2,000 steps over all doors, stops and kills among them: nothing lost or doubled, each rebuilt as it was
	@$(BIN)/pytest -n 0 -m "slow or not slow" tests/facades/test_histories.py $(ARGS)

.PHONY: door-times
door-times: $(DEV) ## What doors cost: letters beside our own tools, waiters, agentmail beside am, the mixed load on against off
	@exec $(BIN)/python -m benchmarks.doors $(ARGS)

.PHONY: postal-burst
postal-burst: $(DEV) ## A burst at the door postal, 8 send and 4 take for 30 s: each message is taken once
	@exec $(BIN)/python -m benchmarks.doors.burst $(ARGS)

.PHONY: soak
soak: $(DEV) ## 50,000 sends to one server, and what grows meanwhile
	@exec $(BIN)/python -m benchmarks.soak $(ARGS)

.PHONY: rest-memory
rest-memory: $(DEV) ## What memory a server keeps of a minute's load, two minutes later
	@exec $(BIN)/python -m benchmarks.rest $(ARGS)

.PHONY: tokens
tokens: $(TOKENS) ## Count the tokens of the tool list per profile and of `am robot`, after a change of either
	@$(BIN)/python -m tests.server.tool_list
	@$(BIN)/python -m tests.server.token_counts
	@$(BIN)/python -m tests.cli.robot.golden_answers

.PHONY: sessions
sessions: $(TOKENS) ## Play agents with their usual mistakes, and count turns and tokens beside those of an earlier version
	@$(BIN)/python -m tests.e2e.sessions --format md $(ARGS)

.PHONY: format
format: $(DEV) ## Let ruff repair and format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: clean
clean: ## Remove .venv, caches and builds
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Locking: one file per group, no index address in any of them ------------------------------------------------

LOCK = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header

.PHONY: lock
lock: ## Lock the dependencies of pyproject.toml anew (needs uv; UPGRADE=--upgrade takes newer versions)
	@$(LOCK) $(UPGRADE) --group build -o requirements/main.txt pyproject.toml
	@$(LOCK) $(UPGRADE) --group build --group dev -c requirements/main.txt -o requirements/dev.txt pyproject.toml
	@$(LOCK) $(UPGRADE) --group testers -o requirements/testers.txt
	@$(LOCK) $(UPGRADE) --group browser -c requirements/dev.txt -o requirements/browser.txt
	@$(LOCK) $(UPGRADE) --group hooks -c requirements/dev.txt -o requirements/hooks.txt
	@$(LOCK) $(UPGRADE) --extra otel -c requirements/dev.txt -o requirements/extras.txt pyproject.toml
	@$(LOCK) $(UPGRADE) --group tokens -c requirements/dev.txt -o requirements/tokens.txt pyproject.toml

.PHONY: lock-npm
lock-npm: $(TESTERS) ## Lock the npm packages of requirements/npm/package.json anew
	@cd requirements/npm && PATH="$(CURDIR)/$(BIN):$$PATH" npm install --loglevel=error --package-lock-only \
		--omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund

# --- Installing --------------------------------------------------------------------------------------------------

# The first Python that is new enough and really runs (a version manager's shim may exist and not run).
define make_venv
	python="$(PYTHON)"; \
	for candidate in $(if $(PYTHON),,python3.11 python3.12 python3.13 python3.14 python3 python); do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			python="$$candidate"; break; \
		fi; \
	done; \
	if [ -n "$(UV)" ]; then "$(UV)" venv --quiet --allow-existing --python "$${python:-3.11}" $(VENV); \
	elif [ -n "$$python" ]; then "$$python" -m venv $(VENV); \
	else echo "No Python 3.11 or newer found. Install one, or say where: make PYTHON=/path/to/python3.11" >&2; exit 1; fi
endef

# $(1): the requirements file. A .venv that cannot run, or has no pip where only pip is left, is made anew. The project itself comes last, without looking at dependencies or fetching anything.
# --no-deps: each file is whole, and there is nothing to resolve. pip 23 would look for `pydantic[email]` afresh and refuse the release that came out after the lock.
define install
	@if ! $(BIN)/python -c 'import $(if $(UV),sys,pip)' >/dev/null 2>&1; then rm -rf $(VENV); $(make_venv); fi
	@echo "Installing $(1) into $(VENV) with $(if $(UV),uv,pip) ..."
	@$(pip_install) --require-hashes --no-deps -r $(1)
endef

pip_install = $(if $(UV),"$(UV)" pip install --quiet --compile-bytecode --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

define install_project
	@$(pip_install) --no-deps --no-build-isolation -e .
endef

# What dev installs holds all of main, so `make serve` after `make test` installs nothing.
$(MAIN): requirements/main.txt pyproject.toml
	$(call install,requirements/main.txt)
	$(install_project)
	@touch $@

$(DEV): requirements/dev.txt pyproject.toml
	$(call install,requirements/dev.txt)
	$(install_project)
	@touch $(MAIN) $@

$(TESTERS): requirements/testers.txt $(DEV)
	$(call install,requirements/testers.txt)
	@touch $@

$(HOOKS): requirements/hooks.txt $(DEV)
	$(call install,requirements/hooks.txt)
	@touch $@

$(BROWSER): requirements/browser.txt $(DEV)
	$(call install,requirements/browser.txt)
	@touch $@

$(EXTRAS): requirements/extras.txt $(DEV)
	$(call install,requirements/extras.txt)
	@touch $@

$(TOKENS): requirements/tokens.txt $(DEV)
	$(call install,requirements/tokens.txt)
	@touch $@

# npm is the one that the testers group installs. Scripts of packages are not run: none is needed.
$(NPM): requirements/npm/package.json requirements/npm/package-lock.json $(TESTERS)
	@echo "Installing requirements/npm into $(VENV)/npm with npm ..."
	@mkdir -p $(VENV)/npm
	@cp requirements/npm/package.json requirements/npm/package-lock.json $(VENV)/npm/
	@cd $(VENV)/npm && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --loglevel=error --ignore-scripts --no-audit --no-fund
	@touch $@
