/* What the kernel does with a frame that arrives on either interface of a gate.
 *
 * While the gate lives, packet sockets have their copy by the time that this runs, so the frame ends here and the
 * machine's own network stack never sees it. When the heartbeat is stale the frame leaves by the other interface,
 * unmanaged. Attached at the ingress of both interfaces by netlink, so it outlives the process that loaded it.
 *
 * Written without headers but the kernel's own, so that clang alone compiles it. Built by `make bpf`.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define SECTION(name) __attribute__((section(name), used))

static void *(*const map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static __u64 (*const monotonic_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*const redirect)(__u32 interface, __u64 flags) = (void *)BPF_FUNC_redirect;

struct bpf_map_def {
	unsigned int type, key_size, value_size, max_entries, map_flags;
};

/* Six words; `mod.rs` has the same order. */
struct gate {
	__u64 valid_until; /* ns of the monotonic clock; the gate lives until then */
	__u64 one, other;  /* the indices of the two interfaces */
	__u64 process;     /* who holds them; 0: nobody */
	__u64 started;     /* when that process began, as /proc tells it: numbers of processes come again */
	__u64 restore;     /* what to undo when this is removed; not read here */
};

struct counts {
	__u64 taken;  /* left to the gate */
	__u64 passed; /* forwarded from here, unmanaged */
};

struct bpf_map_def SECTION("maps") GATE = {
	.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = sizeof(struct gate), .max_entries = 1,
};

/* What came in by the one interface, and by the other. */
struct bpf_map_def SECTION("maps") COUNTS = {
	.type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4, .value_size = sizeof(struct counts), .max_entries = 2,
};

SECTION("classifier") int tidegate_gate(struct __sk_buff *frame)
{
	__u32 first = 0, by = 1;
	struct gate *gate = map_lookup(&GATE, &first);
	struct counts *counts;

	if (!gate)
		return TC_ACT_OK; /* cannot be: arrays have their entries from birth */
	if (frame->ifindex == gate->one)
		by = 0;
	counts = map_lookup(&COUNTS, &by);
	if (!counts)
		return TC_ACT_OK; /* neither can this */
	if (monotonic_ns() < gate->valid_until) {
		counts->taken++;
		return TC_ACT_STOLEN; /* as SHOT, but it is no drop, and is not counted as one */
	}
	counts->passed++;
	return redirect(by == 0 ? gate->other : gate->one, 0);
}

char SECTION("license") LICENSE[] = "MIT";
