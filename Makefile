# Two commands do all the set-up on a Debian machine with a Rust toolchain, a C linker and make:
#   make demo   builds Tidegate, runs the main job and says where the reports lie
#   make test   installs what the tests need and runs them all
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
TIDEGATE := target/release/tidegate
CONTAINER ?= podman
FUZZ_SECONDS ?= 600
MUTANTS ?= 0/10
SOAK_SECONDS ?= 3600
SOAK_OUT ?= $(CURDIR)/out/soak

.PHONY: help build deb static container queue soak demo test docs lint bench bench-gate fuzz mutants validate validate-gateway validate-witness validate-linux validate-suite validate-spoofed validate-adversary validate-attacks validate-advise unseen tuned choosing speed papers cost tide clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## The release binary, target/release/tidegate
	cargo build --release --locked -p tidegate-cli

deb: build ## The Debian package, out/tidegate_VERSION_ARCHITECTURE.deb
	packaging/deb/build.sh $(TIDEGATE) out

MUSL := $(shell uname -m)-unknown-linux-musl

static: ## The command as one static file for any Linux, with its pages: out/static/tidegate-….tar.gz
	@command -v musl-gcc >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends musl-tools; }
	rustup target add $(MUSL)
	cargo build --release --locked -p tidegate-cli --target $(MUSL)
	rm -rf out/static
	packaging/static.sh target/$(MUSL)/release/tidegate out/static

container: static ## The static command as the container tidegate:latest (CONTAINER=podman)
	$(CONTAINER) build -f packaging/Containerfile -t tidegate out/static/tidegate-*-linux

c: ## The C library, its header and its pkg-config file: out/c (docs/embed/c.md)
	cargo build --release --locked -p tidegate-c
	packaging/c.sh target/release out/c

CBINDGEN := 0.29.2

cbindgen:
	@[ "$$(target/cbindgen/bin/cbindgen --version 2>/dev/null)" = "cbindgen $(CBINDGEN)" ] || \
	  cargo install --quiet --locked --debug cbindgen --version $(CBINDGEN) --root target/cbindgen

c-header: cbindgen ## The header of the C library, anew from its sources (it is committed)
	cd crates/tidegate-c && ../../target/cbindgen/bin/cbindgen --quiet --output include/tidegate.h

bench-c: c ## What C costs above Rust: flood.c and flood.rs in turn; an idle machine
	cargo build --release --locked -p tidegate-c --example flood
	cc -O2 -Iout/c/include -o out/c/flood crates/tidegate-c/examples/flood.c out/c/lib/libtidegate_c.a -lpthread -lm -ldl
	crates/tidegate-c/flood.py out/c/flood target/release/examples/flood

.PHONY: c cbindgen c-header bench-c

demo: build ## A flood against TCP through four queues, simulated and replayed, with reports
	rm -rf out/demo out/demo-replay
	$(TIDEGATE) compare flood --out out/demo
	$(TIDEGATE) replay captures/flood.pcapng --rate "10 Mbit/s" --queue drop_tail --queue red --queue blue --queue sfb --out out/demo-replay
	@printf '\nOpen these in a browser:\n  %s\n  %s\n' "$(CURDIR)/out/demo/report.html" "$(CURDIR)/out/demo-replay/report.html"

test: ## Format, lints, supply chain and every test
	@# While one fetches another compiles.
	$(MAKE) --no-print-directory --jobs 3 test-deps cbindgen lint deny
	cargo check --locked -p tidegate-wasm
	@# Nothing is linked, so the fuzzer itself need not be compiled.
	CUSTOM_LIBFUZZER_PATH=/dev/null cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir target
	tools/tests.sh

package: ## The published crates, packed and built as a user gets them, and used in a crate of its own
	tools/package.sh

publish-check: package ## What `cargo publish` would do, all but the upload; asks the registry
	cargo publish --dry-run --locked --target-dir target/packed -p tidegate -p tidegate-packet -p tidegate-sim

SEMVER := 0.51.0
# The last release; before there is one, the state whose public face is to be kept: nothing was published earlier.
SEMVER_BASE ?= $(shell git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || echo 1c2a10be)

semver: ## Whether the published crates keep what they promised in SEMVER_BASE (the last release); the first time it builds cargo-semver-checks
	@[ "$$(target/semver/bin/cargo-semver-checks semver-checks --version 2>/dev/null)" = "cargo-semver-checks $(SEMVER)" ] || \
	  cargo install --quiet --locked cargo-semver-checks --version $(SEMVER) --no-default-features --root target/semver
	PATH="$$PATH:target/semver/bin" cargo semver-checks --baseline-rev $(SEMVER_BASE) -p tidegate -p tidegate-packet -p tidegate-sim

.PHONY: package publish-check semver

wheel: test-deps ## The Python package, target/wheels/tidegate-VERSION-….whl
	crates/tidegate-python/tests/run.sh --tools
	target/python/tools/bin/maturin build --release --locked --out target/wheels --manifest-path crates/tidegate-python/Cargo.toml

test-python: test-deps ## The Python package in a fresh environment, and its tests
	crates/tidegate-python/tests/run.sh

test-slurm: test-deps ## Studies through a real Slurm of one node (root; not part of test)
	crates/tidegate-python/tests/run.sh --install
	crates/tidegate-python/tests/slurm/packages.sh target/slurm
	$(SUDO) timeout --kill-after=20 600 target/python/fresh/bin/python -B crates/tidegate-python/tests/slurm/run.py target/slurm

.PHONY: wheel test-python test-slurm

.PHONY: test-deps lint-deps supply-deps
lint-deps: supply-deps
	@cmp -s tools/requirements.txt target/ruff/installed || { python3 -m venv --clear target/ruff && \
	  target/ruff/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r tools/requirements.txt && \
	  cp tools/requirements.txt target/ruff/installed; }
	@rustup component add rustfmt clippy >/dev/null 2>&1 || cargo fmt --version && cargo clippy --version

supply-deps:
	@for p in git:git xz:xz-utils python3:python3; do command -v $${p%:*} >/dev/null || need="$${need-} $${p#*:}"; done; \
	  python3 -c 'import ensurepip, venv' 2>/dev/null || need="$${need-} python3-venv"; \
	  [ -z "$${need-}" ] || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends $$need; }

test-deps: supply-deps
	@command -v chromium >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; }
	@for p in ip:iproute2 sysctl:procps ethtool:ethtool iperf3:iperf3 clang:clang tcpdump:tcpdump; do command -v $${p%:*} >/dev/null || need="$${need-} $${p#*:}"; done; \
	  [ -z "$${need-}" ] || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends $$need; }
	@# Unpacked and not installed: a package of Debian's would begin a service.
	@command -v promtool >/dev/null || [ -x target/prometheus/usr/bin/promtool ] || { $(SUDO) apt-get update -qq && mkdir -p target/prometheus && \
	  (cd target/prometheus && apt-get download -qq prometheus 2>/dev/null && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb); }

test-long: ## The tests that take minutes
	cargo test --workspace --locked -- --ignored

.PHONY: test-long

queue: ## The files of a new queue, ready to fill in (NAME=coin)
	python3 templates/queue/new.py "$(NAME)"

soak: test-deps ## A gate under TCP, floods, reloads and flapping interfaces, and its account (SOAK_SECONDS=3600, SOAK_OUT=out/soak); root
	SOAK_SECONDS=$(SOAK_SECONDS) SOAK_OUT=$(SOAK_OUT) cargo test --release --locked -p tidegate-cli --test soak -- --nocapture

deny: supply-deps ## Licences, bans, sources and advisories of every crate (deny.toml, supply/)
	supply/deny.sh

ADVISORIES ?= https://github.com/RustSec/advisory-db
advisories: ## A new snapshot of the advisory database for `make deny` (ADVISORIES=address or clone)
	supply/advisories.sh $(ADVISORIES)

.PHONY: deny advisories

MDBOOK := 0.5.4

docs: ## The book, with a search and its links checked: out/docs/index.html
	@command -v python3 >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends python3; }
	@[ "$$(target/mdbook/bin/mdbook --version 2>/dev/null)" = "mdbook v$(MDBOOK)" ] || \
	  cargo install --quiet --locked mdbook --version $(MDBOOK) --no-default-features --features search --root target/mdbook
	tools/links.py
	tools/book.py target/book
	rm -rf out/docs
	target/mdbook/bin/mdbook build --dest-dir $(CURDIR)/out/docs target/book
	tools/links.py --site out/docs
	@printf '\nOpen this in a browser:\n  %s\n' "$(CURDIR)/out/docs/index.html"

lint: lint-deps ## Layout, clippy, ruff, circles of imports, lengths of lines and files, links and words of documents
	cargo fmt --all --check
	tools/circles.py
	tools/features.py
	tools/shape.py
	tools/links.py
	tools/words.py
	target/ruff/bin/ruff format --quiet --check || { echo "lay it out: target/ruff/bin/ruff format" >&2; exit 1; }
	target/ruff/bin/ruff check --quiet
	cargo clippy --workspace --all-targets --locked -- -D warnings

bench: ## ns per packet of every queue, and the simulator's speed
	cargo bench --workspace --locked

bench-gate: ## The gateway: frames a second and what one costs, how exactly they leave; root, and an idle machine
	cargo bench --locked -p tidegate-gateway --bench throughput --bench pacing

bench-shell: ## A shell's link: what it adds to a packet, how much it carries; root, and an idle machine
	cargo bench --locked -p tidegate-cli --bench shell

.PHONY: bench-shell

fuzz: ## Ten minutes for each fuzz target (FUZZ_SECONDS=600; TIDEGATE_FUZZ_QUEUE=tide: the target `queue` with that alone); needs cargo-fuzz and a nightly toolchain
	cd fuzz && for t in $$(cargo +nightly fuzz list); do cargo +nightly fuzz run $$t -- -max_total_time=$(FUZZ_SECONDS); done

mutants: ## Every tenth mutant of the queues and their parts against their tests (MUTANTS=0/1: all); needs cargo-mutants
	crates/tidegate/tests/mutants.sh $(MUTANTS)

validate: build ns2 ## The table of agreement with ns-2, whose missing runs are made first
	python3 validation/ns2/run.py >/dev/null
	python3 validation/compare.py

validate-gateway: build test-deps ## The gateway against the simulator, every queue, TCP and a flood; root, an hour on an idle machine
	python3 validation/gateway.py --rounds 2

validate-witness: build test-deps ## The kernel's reno, cubic and bbr beside the simulator's, alone and against a flood; root, forty minutes
	python3 validation/witness.py --scale .25 --rounds 2

validate-linux: build ## Linux's own queues in a User-Mode Linux kernel beside ours; the first time it builds the kernel (170 MB, six minutes of a processor)
	@for p in flex:flex bison:bison bc:bc xz:xz-utils gcc:gcc ip:iproute2 python3:python3; do command -v $${p%:*} >/dev/null || need="$${need-} $${p#*:}"; done; \
	  [ -z "$${need-}" ] || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends $$need; }
	validation/linux/build.sh
	validation/linux/tc.sh
	python3 validation/linux/run.py
	python3 validation/linux/lines.py
	python3 validation/linux.py

validate-spoofed: test-deps ## Forged sources: what users are left with behind every queue, and the memory it takes; root, a quarter of an hour
	cargo bench --locked -p tidegate-cli --bench spoofed | tee validation/spoofed.md

validate-adversary: ## Who knows the code but not the secret and aims at a user: how often he meets one, and what he does; some minutes
	cargo bench --locked -p tidegate-gateway --bench adversary > validation/adversary.md

validate-advise: build ## A capture behind drop-tail, the advice, then the advised queue on the gateway; root, seven minutes
	@for p in tcpdump:tcpdump ethtool:ethtool ip:iproute2 python3:python3; do command -v $${p%:*} >/dev/null || need="$${need-} $${p#*:}"; done; \
	  [ -z "$${need-}" ] || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends $$need; }
	python3 validation/advise.py

validate-attacks: build ## The same attackers against every queue, in the simulator and on the gate's path; two minutes
	python3 validation/attacks.py

validate-suite: build ## Cells of the protection suite on real packets beside the simulator's figures; root, half an hour
	python3 validation/protection.py

unseen: build ## validation/unseen.md, every queue in settings that no preset was tuned on, and without an attack; half an hour
	python3 validation/unseen.py

tuned: build ## validation/tuned.md, every queue in the settings that presets were tuned on; twelve minutes
	python3 validation/tuned.py

# As `tc qdisc` makes them.
LINUX := cake/linux fq_codel/linux fq_pie/paper hhf/paper codel/linux pie/paper dualpi2/linux

choosing: build ## docs/study/choosing.md and today.md, which queue for what and why not just tc, from the two suites; five minutes on two cores
	@for suite in protection rfc7928; do \
	  $(TIDEGATE) suite $$suite --out out/$$suite; \
	  $(TIDEGATE) suite $$suite --out out/$$suite-linux $(LINUX:%=--queue %); \
	done
	python3 validation/choosing.py out/protection out/rfc7928 out/protection-linux out/rfc7928-linux

papers: build ## Every published experiment at its full length, and what came out as papers/results.csv, figures.csv and readings.csv; a quarter of an hour on two cores
	$(TIDEGATE) paper run all --out out/papers
	cp out/papers/results.csv out/papers/figures.csv out/papers/readings.csv out/papers/made.json papers/
	python3 validation/changed.py

pairs: build ## papers/pairs.md, pairs of readings for every row that differs; an hour and more on two cores
	python3 validation/pairs.py

.PHONY: pairs

tide-users: build ## docs/tide/users.md, every kind of user behind our own queue and others; three minutes
	python3 validation/tide_users.py

.PHONY: tide-users

tide: build ## docs/tide/fourth.md, our own queue beside others in 100 settings drawn by dice; twenty minutes on two cores
	python3 validation/tide.py
	$(TIDEGATE) sweep docs/tide/fourth.toml --csv --out out/tide-fourth
	python3 validation/tide.py out/tide-fourth

cost: build ## What a packet costs in every queue and in counting flows, as papers/comparison/cost.csv and papers/purge/fig5.csv; ten minutes on an idle machine
	cargo bench --locked -p tidegate --bench queue_cost -- 'flows 1000'
	python3 validation/cost.py
	for again in 2 3; do cargo bench --locked -p tidegate --bench queue_cost -- 'flows 1000' && python3 validation/cost.py --least || exit 1; done
	python3 validation/fig5.py

speed: build ns2 ## Our time against ns-2's on the same jobs, in turn, and with 100,000 flows, each figure beside its goal
	python3 validation/speed.py

.PHONY: ns2
ns2:
	@command -v ns >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq ns2; }

BPF := crates/tidegate-gateway/src/machine/failopen/gate.bpf
BPF_OBJECT ?= $(BPF).o

.PHONY: bpf
bpf: ## The gateway's program in the kernel, anew from its source (needs clang 14; the object is committed)
	clang -O2 -target bpf -Wall -Werror -I/usr/include/$$(uname -m)-linux-gnu -c $(BPF).c -o $(BPF_OBJECT)

ENGINE := docs/play/engine.js

.PHONY: wasm
wasm: ## The simulator for the page where one can play, docs/play, anew from its source (the module is committed)
	@rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || true
	sources=$$(printf -- '--remap-path-prefix=%s=crates ' "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src/*); \
	RUSTFLAGS="$$sources --remap-path-prefix=$(CURDIR)=tidegate" \
	  cargo build --locked -p tidegate-wasm --profile wasm --target wasm32-unknown-unknown
	tools/engine.py target/wasm32-unknown-unknown/wasm/tidegate_wasm.wasm $(ENGINE)

clean: ## Removes what was built
	cargo clean && rm -rf out
