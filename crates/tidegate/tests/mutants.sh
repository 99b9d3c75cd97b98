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
        queues/cake | queues/cake/*) echo cake cake_acks ;;
        queues/cebinae/*) echo cebinae ;;
        queues/dualpi2/*) echo dualpi2 ;;
        queues/purge/*) echo purge ;;
        queues/red/*) echo red ;;
        queues/red_pd/*) echo red_pd ;;
        queues/sfb | queues/sfb/*) echo sfb sfb_claims ;;
        queues/tide/*) echo tide ;;
        queues/*) echo "${1#queues/}" ;;
        parts/ack_filter) echo cake cake_acks ;;
        parts/band) echo feng_red sfred ;;
        parts/bins) echo sfb ;;
        parts/capture_list | parts/jackknife) echo care ;;
        parts/class_lines | parts/fair_clock | parts/spread) echo wfq ewfq ;;
        parts/cobalt_law) echo cobalt ;;
        parts/codel_law) echo codel fq_codel ;;
        parts/diffserv | parts/sparse_first) echo cake ;;
        parts/host_load | parts/host_shares | parts/isolation) echo cake hosts tide ;;
        parts/new_and_old) echo fq_codel fq_pie hhf ;;
        parts/penalty_box) echo sfb ;;
        parts/phantoms) echo bc_pqp ;;
        parts/pie_law) echo pie fq_pie ;;
        parts/drop_history | parts/pre_filter) echo red_pd ;;
        parts/every) echo ared bc_pqp pie sfb ;;
        parts/ewma) echo red fred bare ;;
        parts/fair_control) echo afd ewfq ;;
        parts/fair_share) echo csfq hcsfq ;;
        parts/flow_table) echo fred bare csfq hcsfq ;;
        parts/heaviest | parts/longest) echo fq_codel drr ;;
        parts/hit_cache | parts/matches) echo purge ;;
        parts/lines) echo fq_codel wfq choke drr dualpi2 ;;
        parts/mincount) echo mincount purge ;;
        parts/power) echo bare ;;
        parts/price) echo rem purge ;;
        parts/rate) echo bare csfq hcsfq ;;
        parts/ring) echo codel cobalt fq_codel hhf ;;
        parts/round_robin | parts/turns) echo drr sfq ;;
        parts/sample_hold) echo ewfq ;;
        parts/sketch) echo hhf afq ;;
        parts/shadow) echo afd ;;
        parts/token_bucket) echo sfb sfred ;;
        parts/zombies) echo sred ;;
    esac
}

files=("$@")
if [ ${#files[@]} = 0 ]; then
    files=(queues/{purge,purge/{offenders,suspects},black,rem,care,cake,cake/presets,bare,fred,sred,red_pd,csfq,hcsfq,ewfq,wfq,afd,choke,cobalt,codel,drr,sfq,sfq_red,sfred,fq_codel,fq_pie,hhf,afq,pie,bc_pqp,cebinae,cebinae/cache,dualpi2,dualpi2/{control,judge,protection,turn},tide,tide/{factors,lines,presets}}
        queues/{ared,blue,drop_tail,feng_red,red,red/presets,red_pd/presets,sfb,sfb/{bin_set,presets}}
        parts/{ack_filter,band,bins,capture_list,class_lines,cobalt_law,codel_law,diffserv,drop_history,every,ewma,fair_clock,fair_control,fair_share,flow_table,heaviest}
        parts/{hit_cache,host_load,host_shares,isolation,jackknife,lines,longest,matches,mincount,new_and_old,penalty_box,phantoms,pie_law,power,pre_filter,price,rate,ring,round_robin,sample_hold,shadow}
        parts/{sketch,sparse_first,spread,token_bucket,turns,zombies})
fi
mkdir -p target/mutants
for file in "${files[@]}"; do
    echo "== $file"
    # Those of the library and of all queues at once (golden rows, states), and of the queues that the file concerns.
    only=(tests:: golden:: is_kept)
    for test in $(tests_of "$file"); do only+=("$test::"); done
    # So are presets, gauges and long silences.
    case $file in queues/*) only+=(battery::) ;; esac
    # A line that grows is noticed only by who counts allocations.
    more=()
    case $file in queues/tide/lines) more=(-C=--test=no_allocation) only+=(allocat) ;; esac
    out="target/mutants/${file//\//-}"
    cargo mutants -p tidegate -f "crates/tidegate/src/$file.rs" --profile mutants --shard "$shard" --baseline skip \
        --timeout 120 --build-timeout 600 -o "$out" -C=--lib -C=--test=queues -C=--test=state "${more[@]}" -- -- "${only[@]}" || true
    (cd "$out/mutants.out" && wc -l caught.txt timeout.txt missed.txt unviable.txt)
done
