# Every target sets up what it needs from nothing, and is quick the second time. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help run demo web test check format bench soak fuzz prove grades screenshots clean
BIN := .venv/bin
# What the tests drive, besides the agents.
TEST_PROGRAMS := tmux npm chromium git zsh dash busybox rg nginx groff
# The tests that start no daemon and no agent; half of them are readings of screens.
FAST := tests/conformance tests/core tests/daemon/rules tests/docs tests/machine tests/rules tests/server tests/store tests/system

help:            ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 20

# A home that holds no database was never used.
FIRST_TIME = [ -t 0 ] && [ -t 1 ] && [ ! -e "$${YOURCALL_HOME:-$$HOME/.yourcall}/yourcall.db" ]

run: .venv/.made web ## the first time a guide; then start yourcall here, in this terminal (Ctrl-C ends it)
	@if $(FIRST_TIME); then $(BIN)/yourcall guide; else $(BIN)/yourcall up; fi

demo: .venv/.made ## answer a prompt of a scripted agent, without any agent installed
	@$(BIN)/yourcall demo

web: .venv/.made ## build the phone app (with the system's Node, or with the one from PyPI)
	@$(BIN)/python tools/build_app.py

test: .venv/.made ## everything but the long races: needs tmux, npm, chromium and some shells; fetches the real agents once
	@tools/need.sh $(TEST_PROGRAMS)
	@$(BIN)/python tools/build_app.py
	@$(BIN)/python tools/fetch_clis.py claude codex gemini copilot opencode qwen
	YOURCALL_REQUIRE_REAL=1 $(BIN)/pytest -m "not soak" -n 5 --dist worksteal

check: .venv/.made ## format, lint, types, import rules and the fast tests: under a minute
	@$(MAKE) --no-print-directory -j 3 $(if $(filter output-sync,$(.FEATURES)),-O) check-rest check-agents check-types check-style

.PHONY: check-types check-agents check-rest check-style
check-types:
	$(BIN)/basedpyright

check-agents:
	$(BIN)/pytest -q -m "not soak and not long" tests/agents

check-rest:
	$(BIN)/pytest -q -m "not soak and not long" $(FAST)

check-style:
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/lint-imports --no-cache > /dev/null || $(BIN)/lint-imports --no-cache

format: .venv/.made ## let ruff format and mend what it can, and write the generated docs anew
	$(BIN)/ruff format -q .
	$(BIN)/ruff check -q --fix .
	$(BIN)/python tools/gen_docs.py
	$(BIN)/python tools/wrap_docs.py
	$(BIN)/python tools/gen_types.py
	$(BIN)/python tools/gen_agents.py
	$(BIN)/python tools/gen_plugin.py
	$(BIN)/python tools/gen_share.py

bench: .venv/.made ## every speed and size we claim, side by side, in one table
	@tools/need.sh tmux npm
	@$(BIN)/python tools/fetch_clis.py claude codex
	$(BIN)/python -m bench

soak: .venv/.made ## the long races and the wide version matrix (half an hour)
	@tools/need.sh $(TEST_PROGRAMS) caddy sshd certutil pebble
	@$(BIN)/python tools/fetch_clis.py claude codex gemini copilot claude-agent-acp codex-acp opencode qwen kilo droid
	YOURCALL_SOAK=1 YOURCALL_REQUIRE_REAL=1 $(BIN)/pytest -m soak

fuzz: .venv/.made ## 100,000 generated commands: real shells run what a rule allows of them (COMMANDS= and SEED=)
	@tools/need.sh git zsh dash busybox rg
	nice -n 19 $(BIN)/python tests/machine/shell_walk.py $(if $(COMMANDS),--commands $(COMMANDS)) $(if $(SEED),--seed $(SEED))

prove: .venv/.made ## races and faults against the real agents, counted; goes on where the last run ended (MINUTES=10)
	@tools/need.sh tmux npm
	@$(BIN)/python tools/fetch_clis.py claude codex gemini
	nice $(BIN)/python -m prove $(if $(MINUTES),--minutes $(MINUTES))

grades: .venv/.made ## prove each agent in four versions, and write docs/reference/grades.md (an hour; AGENTS="claude codex")
	@tools/need.sh tmux npm git
	nice $(BIN)/python tools/grades.py $(AGENTS)

screenshots: .venv/.made ## take the pictures of the phone app in README and docs anew: needs tmux, npm, chromium
	@tools/need.sh tmux npm chromium
	$(BIN)/python tools/phone_pictures.py

clean:           ## remove what the other targets made here
	rm -rf .venv dist build .pytest_cache .ruff_cache .hypothesis web/node_modules src/yourcall/server/assets/app

.venv/.made: requirements.txt pyproject.toml tools/venv.sh
	@tools/venv.sh
