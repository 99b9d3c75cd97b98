#!/usr/bin/env bash
# Mutants of the queues and parts below, each against the tests that concern it: crates/tidegate/tests/mutants.sh SHARD
# [FILE…], as in `mutants.sh 0/10` (every tenth mutant of each file) or `mutants.sh 0/1 parts/price` (all of one).
set -u -o pipefail
cd "$(dirname "$0")/../../.."
shard=${1:-0/10}
shift || true
# What is not ours is compiled once; each mutant costs the library and its tests.
export CARGO_TARGET_DIR="$PWD/target/mutants" RUST_BACKTRACE=0

tests_of() {
    case $1 in
        queues/bare) echo bare bare_claims ;;
        queues/black | queues/purge) echo purge ;;
        queues/*) echo "${1#queues/}" ;;
        parts/bins) echo sfb ;;
        parts/capture_list | parts/jackknife) echo care ;;
        parts/codel_law) echo codel fq_codel ;;
        parts/ewma) echo red fred bare ;;
        parts/flow_table) echo fred bare ;;
        parts/heaviest) echo fq_codel ;;
        parts/hit_cache | parts/matches) echo purge ;;
        parts/lines) echo fq_codel wfq ;;
        parts/mincount) echo mincount purge ;;
        parts/price) echo rem purge ;;
        parts/rate) echo bare ;;
    esac
}

files=("$@")
if [ ${#files[@]} = 0 ]; then
    files=(queues/{purge,black,rem,care,bare,fred,codel,fq_codel,pie}
        parts/{bins,capture_list,codel_law,ewma,flow_table,heaviest,hit_cache,jackknife,lines,matches,mincount,price,rate})
fi
mkdir -p target/mutants
for file in "${files[@]}"; do
    echo "== $file"
    only=(-C=--lib)
    for test in $(tests_of "$file"); do only+=("-C=--test=$test"); done
    case $file in parts/capture_list | parts/flow_table | parts/heaviest | parts/hit_cache) only+=(-C=--test=state) ;; esac
    # Presets, gauges, states and long silences are tested for all queues at once.
    case $file in queues/*) only+=(-C=--test=battery -C=--test=golden -C=--test=state) ;; esac
    cargo mutants -p tidegate -f "crates/tidegate/src/$file.rs" --profile mutants --shard "$shard" --baseline skip \
        --timeout 300 --build-timeout 600 -o "target/mutants/${file//\//-}" "${only[@]}" || true
done
