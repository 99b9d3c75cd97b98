// Tidegate: queues that keep fair shares when flows arrive that do not heed congestion.
//
// Made from the sources of crates/tidegate-c by `make c-header`; do not edit. docs/embed/c.md has an example.
//
// A queue or a bottleneck reads no clock and does no I/O: `now` comes in with each call, in nanoseconds from
// an origin of yours. It belongs to one thread at a time. Different ones may be used at the same time.
//
// Text is UTF-8, ends with a zero byte and is read during the call only. Rates, lengths and times are
// written with their unit: "10 Mbit/s", "200 kB", "100 packets", "20 ms".
//
// A function that can fail returns a `tidegate_status`. Null pointers are refused. Other pointers must be
// valid. No failure ends the process, and nothing unwinds into the caller.

#ifndef TIDEGATE_H
#define TIDEGATE_H

#include <stddef.h>
#include <stdint.h>

// No time: nothing is waited for.
#define TIDEGATE_NEVER UINT64_MAX

// How a call ended.
typedef enum tidegate_status {
  // It did what it was called for.
  TIDEGATE_STATUS_OK = 0,
  // There is no packet yet. This is no failure.
  TIDEGATE_STATUS_NOTHING = 1,
  // A pointer was null.
  TIDEGATE_STATUS_NULL_POINTER = 2,
  // A text was not UTF-8.
  TIDEGATE_STATUS_NOT_TEXT = 3,
  // No such queue, preset or parameter, or a value out of its bounds.
  TIDEGATE_STATUS_REFUSED = 4,
  // A packet's length or code point, or a time that runs back.
  TIDEGATE_STATUS_OUT_OF_RANGE = 5,
  // A fault of Tidegate's own. What was called refuses all calls from then on; free it.
  TIDEGATE_STATUS_BUG = 6,
} tidegate_status;

// What happened to a packet.
typedef enum tidegate_outcome {
  // It has reached the other end.
  TIDEGATE_OUTCOME_DELIVERED = 0,
  // It was lost on the way, at random.
  TIDEGATE_OUTCOME_LOST = 1,
  // The queue dropped it.
  TIDEGATE_OUTCOME_DROPPED = 2,
  // The queue marked it. It stays in the queue, or leaves by the same call.
  TIDEGATE_OUTCOME_MARKED = 3,
  // What this header does not know.
  TIDEGATE_OUTCOME_OTHER = 255,
} tidegate_outcome;

// Why a packet was dropped or marked.
typedef enum tidegate_reason {
  // It was neither dropped nor marked.
  TIDEGATE_REASON_NONE = 0,
  // The hard limit: there was no room.
  TIDEGATE_REASON_OVERLIMIT = 1,
  // A rule rolled the dice.
  TIDEGATE_REASON_EARLY = 2,
  // A rule was certain.
  TIDEGATE_REASON_FORCED = 3,
  // Every bin of the flow was full (SFB).
  TIDEGATE_REASON_BIN_FULL = 4,
  // The flow is judged unresponsive and had no token left.
  TIDEGATE_REASON_PENALTY = 5,
  // The flow holds more than its share.
  TIDEGATE_REASON_UNFAIR = 6,
  // Evicted to make room for another packet.
  TIDEGATE_REASON_EVICTED = 7,
  // What this header does not know.
  TIDEGATE_REASON_OTHER = 255,
} tidegate_reason;

// A queue, the link behind it, and the way to the other end: you offer packets and poll what comes
// out.
typedef struct tidegate_bottleneck tidegate_bottleneck;

// A queue: you offer packets, and ask for one whenever your link is free.
typedef struct tidegate_queue tidegate_queue;

// The link that a queue is built for, as text. A queue fits its parameters to it.
typedef struct tidegate_link {
  // Its rate, as in "10 Mbit/s". Null for the mean rate of a bottleneck's trace.
  const char *rate;
  // How much may wait in the queue, as in "100 packets" or "200 kB".
  const char *limit;
  // The usual length of a packet, as in "1000 B"; null for that.
  const char *mean_packet;
} tidegate_link;

// The way behind a queue, as text. Null means none, in each.
typedef struct tidegate_way {
  // From the link's end to the other end, as in "20 ms": at most an hour.
  const char *delay;
  // The share of packets lost at random after the link has sent them, as in "1 %" or "0.01".
  const char *loss;
  // A capacity that varies, as `mm-link` of mahimahi reads it: on each line a time in
  // milliseconds at which the link can send 1500 bytes. In place of a rate.
  const char *trace;
} tidegate_way;

// What a queue knows of a packet. Set all fields; those that you do not use are 0.
typedef struct tidegate_packet {
  // The flow: equal for all packets of a flow, different for different flows. Where others
  // choose what makes a flow, a keyed hash of that.
  uint64_t flow;
  // When it was offered, in nanoseconds. Read only in what comes back.
  uint64_t arrived;
  // Length on the wire in bytes, headers included: 20 to 65535.
  uint32_t len;
  // Yours: comes back as it was. No queue reads it.
  uint32_t slot;
  // The class of service; most queues ignore it.
  uint16_t service_class;
  // The host that sends, by a number or a keyed hash of its address, for a queue that goes by
  // hosts. If both hosts are 0, the flow has two of its own. What comes back has 0.
  uint16_t source;
  // The host that receives, likewise.
  uint16_t destination;
  // The ECN codepoint: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE. Higher bits are ignored, so that a
  // TOS byte will do. A queue that marks sets 3.
  uint8_t ecn;
  // The DiffServ code point, 0 to 63: the TOS byte without its two lowest bits. For a queue that
  // goes by code points, as cake does.
  uint8_t dscp;
} tidegate_packet;

// What became of a packet.
typedef struct tidegate_fate {
  // When: its last bit reached the other end, or would have, or the queue dropped it.
  uint64_t at;
  // Yours, as it was offered.
  uint64_t payload;
  // The packet. A mark is in its `ecn`.
  struct tidegate_packet packet;
  // What happened.
  enum tidegate_outcome outcome;
  // Why it was dropped.
  enum tidegate_reason reason;
} tidegate_fate;

// What waits in a queue.
typedef struct tidegate_backlog {
  // Their lengths added up, in bytes.
  uint64_t bytes;
  // Waiting packets.
  uint32_t packets;
} tidegate_backlog;

// A drop or a mark.
typedef struct tidegate_event {
  // The packet that was offered, or one that waited.
  struct tidegate_packet packet;
  // TIDEGATE_OUTCOME_DROPPED or TIDEGATE_OUTCOME_MARKED.
  enum tidegate_outcome outcome;
  // Why.
  enum tidegate_reason reason;
} tidegate_event;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a bottleneck and puts it into `out`; null if it fails. `queue`, `link` and `seed` are as
// for `tidegate_queue_new`.
//
// # Safety
// Pointers are null or valid.
enum tidegate_status tidegate_bottleneck_new(const char *queue,
                                             const struct tidegate_link *link,
                                             const struct tidegate_way *way,
                                             uint64_t seed,
                                             struct tidegate_bottleneck **out);

// Frees a bottleneck. Payloads that are still inside are yours: to have them all, poll the fates
// at TIDEGATE_NEVER first. Null is no bottleneck, and fine.
//
// # Safety
// `bottleneck` is null, or came from `tidegate_bottleneck_new` and is not freed.
void tidegate_bottleneck_free(struct tidegate_bottleneck *bottleneck);

// Offers a packet at `now`, with a payload: a number, or a pointer cast to one. A time before an
// earlier one counts as that one. Poll after each offer, since what nobody polls stays inside.
//
// # Safety
// Pointers are null or valid.
enum tidegate_status tidegate_bottleneck_offer(struct tidegate_bottleneck *bottleneck,
                                               uint64_t now,
                                               const struct tidegate_packet *packet,
                                               uint64_t payload);

// Takes the next packet that has reached the other end by `now` into `fate`, in the order of time;
// TIDEGATE_STATUS_NOTHING if there is none. What was dropped or lost is discarded.
//
// # Safety
// Pointers are null or valid.
enum tidegate_status tidegate_bottleneck_poll(struct tidegate_bottleneck *bottleneck,
                                              uint64_t now,
                                              struct tidegate_fate *fate);

// Takes the next packets by `now`, delivered, lost or dropped, into `fates`, which has room for
// `most`; `count` receives how many. They come in the order of time; of one time, drops come
// first. If all the room was taken there may be more.
//
// # Safety
// Pointers are null or valid, and `fates` has that room.
enum tidegate_status tidegate_bottleneck_poll_fates(struct tidegate_bottleneck *bottleneck,
                                                    uint64_t now,
                                                    struct tidegate_fate *fates,
                                                    size_t most,
                                                    size_t *count);

// When to poll next if nothing is offered before; TIDEGATE_NEVER if nothing is inside, or there is
// no bottleneck. It may come before there is something to poll, never after.
//
// # Safety
// `bottleneck` is null or valid.
uint64_t tidegate_bottleneck_next_wake(const struct tidegate_bottleneck *bottleneck);

// How many packets were offered whose fate nobody has polled; 0 if there is no bottleneck.
//
// # Safety
// `bottleneck` is null or valid.
size_t tidegate_bottleneck_inside(const struct tidegate_bottleneck *bottleneck);

// What waits in the queue; nothing if there is no bottleneck.
//
// # Safety
// `bottleneck` is null or valid.
struct tidegate_backlog tidegate_bottleneck_backlog(const struct tidegate_bottleneck *bottleneck);

// Why the last call of this thread that failed did so: the field, its value, and what it must be.
// The text stays until this thread's next failure. It is empty if there was none.
const char *tidegate_last_error(void);

// The version of the library, as in "0.1.0".
const char *tidegate_version(void);

// A reason as a word, as in "bin_full"; "none" for 0, "other" for what this library does not know.
// The text stays for ever.
const char *tidegate_reason_name(int reason);

// Makes an empty queue for `link` and puts it into `out`; null if it fails.
//
// `queue` is written NAME[/PRESET][,param=value...], as in "sfb/paper,bins=32";
// `tidegate list queues` has the names. The same seed gives the same drops.
//
// # Safety
// Pointers are null or valid.
enum tidegate_status tidegate_queue_new(const char *queue,
                                        const struct tidegate_link *link,
                                        uint64_t seed,
                                        struct tidegate_queue **out);

// Frees a queue and what waits in it. Null is no queue, and fine.
//
// # Safety
// `queue` is null, or came from `tidegate_queue_new` and is not freed.
void tidegate_queue_free(struct tidegate_queue *queue);

// Offers a packet at `now`. Every packet leaves by `tidegate_queue_dequeue`, or it is among the
// events as dropped: the packet offered, or others in its place.
//
// # Safety
// Pointers are null or valid.
enum tidegate_status tidegate_queue_enqueue(struct tidegate_queue *queue,
                                            uint64_t now,
                                            const struct tidegate_packet *packet);

// Takes the packet to send at `now` into `packet`. TIDEGATE_STATUS_NOTHING if there is none to
// send yet: then ask again after the next arrival, or at `tidegate_queue_wake_at`.
//
// # Safety
// Pointers are null or valid.
enum tidegate_status tidegate_queue_dequeue(struct tidegate_queue *queue,
                                            uint64_t now,
                                            struct tidegate_packet *packet);

// What the last call of this queue that succeeded dropped and marked, in order; `count` receives
// how many. The array stays until the next call of this queue. It is null if there is none.
//
// # Safety
// Pointers are null or valid.
const struct tidegate_event *tidegate_queue_events(const struct tidegate_queue *queue,
                                                   size_t *count);

// Does the periodic work that has fallen due by `now`, on a link that neither offers nor asks.
//
// # Safety
// `queue` is null or valid.
enum tidegate_status tidegate_queue_advance(struct tidegate_queue *queue,
                                            uint64_t now);

// When to ask again, in nanoseconds, of a queue that holds packets back although the link is free.
// TIDEGATE_NEVER if there is nothing to wait for, or no queue.
//
// # Safety
// `queue` is null or valid.
uint64_t tidegate_queue_wake_at(const struct tidegate_queue *queue);

// What waits; nothing if there is no queue.
//
// # Safety
// `queue` is null or valid.
struct tidegate_backlog tidegate_queue_backlog(const struct tidegate_queue *queue);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDEGATE_H */
