// What the C interface refuses, and what it does all the same: a check fails by its number.
#include <string.h>
#include <tidegate.h>

#include <stdio.h>
#include <stdlib.h>

#define MUST(what)                                                          \
  do {                                                                      \
    if (!(what)) {                                                          \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, tidegate_last_error()); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)
#define REFUSED(call, status, why) \
  MUST((call) == TIDEGATE_STATUS_##status && strstr(tidegate_last_error(), why))

static tidegate_link link_of(const char *rate, const char *limit) {
  return (tidegate_link){.rate = rate, .limit = limit};
}

static void bad_queues(void) {
  tidegate_link good = link_of("10 Mbit/s", "2 packets");
  tidegate_queue *queue = (tidegate_queue *)1;
  REFUSED(tidegate_queue_new(NULL, &good, 1, &queue), NULL_POINTER, "queue is a null pointer");
  MUST(queue == NULL);
  REFUSED(tidegate_queue_new("sfb", NULL, 1, &queue), NULL_POINTER, "link is a null pointer");
  REFUSED(tidegate_queue_new("sfb", &good, 1, NULL), NULL_POINTER, "out is a null pointer");
  REFUSED(tidegate_queue_new("sbf", &good, 1, &queue), REFUSED, "queue = sbf: no such queue; known are drop_tail");
  REFUSED(tidegate_queue_new("sfb/best", &good, 1, &queue), REFUSED, "no such preset of sfb");
  REFUSED(tidegate_queue_new("sfb,bins", &good, 1, &queue), REFUSED, "must be written param=value");
  REFUSED(tidegate_queue_new("sfb,bins=32,bins=4", &good, 1, &queue), REFUSED, "given twice");
  REFUSED(tidegate_queue_new("sfb,bins=-1", &good, 1, &queue), REFUSED, "bins = -1: must be a whole number");
  REFUSED(tidegate_queue_new("sfb,bin=1", &good, 1, &queue), REFUSED, "no such parameter; known are");
  REFUSED(tidegate_queue_new("\xff", &good, 1, &queue), NOT_TEXT, "queue is not UTF-8");
  REFUSED(tidegate_queue_new("", &good, 1, &queue), REFUSED, "must be NAME[/PRESET]");
  tidegate_link bad[] = {link_of("10 mbps", "2 packets"), link_of(NULL, "2 packets"),
                         link_of("10 Mbit/s", NULL), link_of("0 bit/s", "2 packets"),
                         link_of("10 Mbit/s", "1 B")};
  const char *why[] = {"link.rate", "link.rate is a null pointer", "link.limit is a null pointer",
                       "rate = 0 bit/s: must be above 0 bit/s", "must hold at least one packet"};
  for (int i = 0; i < 5; i++)
    MUST(tidegate_queue_new("red", &bad[i], 1, &queue) != TIDEGATE_STATUS_OK && queue == NULL &&
         strstr(tidegate_last_error(), why[i]));
}

static void a_queue(void) {
  tidegate_link good = link_of("10 Mbit/s", "2 packets");
  tidegate_queue *queue;
  MUST(tidegate_queue_new("drop_tail", &good, 1, &queue) == TIDEGATE_STATUS_OK);
  tidegate_packet packet = {.flow = 7, .len = 1000, .slot = 5, .service_class = 3, .ecn = 0xfe, .dscp = 46}, out;
  for (int i = 0; i < 3; i++, packet.slot++)
    MUST(tidegate_queue_enqueue(queue, 10, &packet) == TIDEGATE_STATUS_OK);
  size_t count;
  const tidegate_event *events = tidegate_queue_events(queue, &count);
  MUST(count == 1 && events[0].packet.slot == 7 && events[0].packet.arrived == 10);
  MUST(events[0].outcome == TIDEGATE_OUTCOME_DROPPED && events[0].reason == TIDEGATE_REASON_OVERLIMIT);
  MUST(!strcmp(tidegate_reason_name(events[0].reason), "overlimit"));
  MUST(!strcmp(tidegate_reason_name(-1), "other") && !strcmp(tidegate_reason_name(99), "other"));
  tidegate_backlog backlog = tidegate_queue_backlog(queue);
  MUST(backlog.packets == 2 && backlog.bytes == 2000);

  REFUSED(tidegate_queue_enqueue(queue, 9, &packet), OUT_OF_RANGE, "now = 9: time must not run back; it was 10 ns");
  packet.len = 19;
  REFUSED(tidegate_queue_enqueue(queue, 10, &packet), OUT_OF_RANGE, "len = 19: must lie in 20 to 65535 bytes");
  packet.len = 65536;
  REFUSED(tidegate_queue_enqueue(queue, 10, &packet), OUT_OF_RANGE, "len = 65536");
  packet.len = 1000;
  packet.dscp = 184;
  REFUSED(tidegate_queue_enqueue(queue, 10, &packet), OUT_OF_RANGE, "dscp = 184: must lie in 0 to 63");
  REFUSED(tidegate_queue_enqueue(queue, 10, NULL), NULL_POINTER, "packet is a null pointer");
  REFUSED(tidegate_queue_dequeue(queue, 10, NULL), NULL_POINTER, "packet is a null pointer");
  MUST(tidegate_queue_backlog(queue).packets == 2);

  MUST(tidegate_queue_dequeue(queue, 11, &out) == TIDEGATE_STATUS_OK);
  MUST(out.flow == 7 && out.slot == 5 && out.service_class == 3 && out.ecn == 2 && out.arrived == 10);
  MUST(out.dscp == 46 && out.source == 0 && out.destination == 0);
  MUST(tidegate_queue_events(queue, &count) == NULL && count == 0);
  MUST(tidegate_queue_advance(queue, 12) == TIDEGATE_STATUS_OK);
  MUST(tidegate_queue_wake_at(queue) == TIDEGATE_NEVER);
  MUST(tidegate_queue_dequeue(queue, 12, &out) == TIDEGATE_STATUS_OK);
  MUST(tidegate_queue_dequeue(queue, 12, &out) == TIDEGATE_STATUS_NOTHING);
  tidegate_queue_free(queue);
}

// The slots of `packets`, which `queue` is offered at one time, in the order in which it sends them.
static unsigned sent(const char *queue, const tidegate_packet packets[3]) {
  tidegate_link link = link_of("8 Mbit/s", "100 packets");
  tidegate_queue *there;
  MUST(tidegate_queue_new(queue, &link, 1, &there) == TIDEGATE_STATUS_OK);
  for (int i = 0; i < 3; i++) MUST(tidegate_queue_enqueue(there, 0, &packets[i]) == TIDEGATE_STATUS_OK);
  tidegate_packet out;
  unsigned slots = 0;
  while (tidegate_queue_dequeue(there, 0, &out) == TIDEGATE_STATUS_OK) slots = slots * 10 + out.slot;
  tidegate_queue_free(there);
  return slots;
}

static void code_points_and_hosts(void) {
  // Of one flow, so that only a tin of its own lets the third packet, EF, go before the others.
  const tidegate_packet voice[3] = {{.flow = 7, .len = 1000, .slot = 1},
                                    {.flow = 7, .len = 1000, .slot = 2},
                                    {.flow = 7, .len = 1000, .slot = 3, .dscp = 46}};
  MUST(sent("cake/paper", voice) == 312);
  MUST(sent("cake/paper,diffserv=besteffort", voice) == 123);
  // Packets longer than a turn. The first two flows are of one host, so the third has the next turn.
  tidegate_packet hosts[3] = {{.flow = 7, .len = 2000, .slot = 1, .source = 1, .destination = 9},
                              {.flow = 8, .len = 2000, .slot = 2, .source = 1, .destination = 9},
                              {.flow = 9, .len = 2000, .slot = 3, .source = 2, .destination = 9}};
  MUST(sent("fq_codel/paper,isolation=srchost", hosts) == 132);
  // Without hosts each flow has its own.
  for (int i = 0; i < 3; i++) hosts[i].source = hosts[i].destination = 0;
  MUST(sent("fq_codel/paper,isolation=srchost", hosts) == 123);
}

static void nobody(void) {
  tidegate_packet packet = {.flow = 7, .len = 1000};
  tidegate_fate fate;
  size_t count = 9;
  REFUSED(tidegate_queue_enqueue(NULL, 0, &packet), NULL_POINTER, "null pointer");
  REFUSED(tidegate_queue_dequeue(NULL, 0, &packet), NULL_POINTER, "null pointer");
  REFUSED(tidegate_queue_advance(NULL, 0), NULL_POINTER, "null pointer");
  REFUSED(tidegate_bottleneck_offer(NULL, 0, &packet, 0), NULL_POINTER, "null pointer");
  REFUSED(tidegate_bottleneck_poll(NULL, 0, &fate), NULL_POINTER, "null pointer");
  REFUSED(tidegate_bottleneck_poll_fates(NULL, 0, &fate, 1, &count), NULL_POINTER, "null pointer");
  MUST(count == 0);
  count = 9;
  MUST(tidegate_queue_events(NULL, &count) == NULL && count == 0);
  MUST(tidegate_queue_events(NULL, NULL) == NULL);
  MUST(tidegate_queue_backlog(NULL).packets == 0 && tidegate_bottleneck_backlog(NULL).packets == 0);
  MUST(tidegate_queue_wake_at(NULL) == TIDEGATE_NEVER);
  MUST(tidegate_bottleneck_next_wake(NULL) == TIDEGATE_NEVER && tidegate_bottleneck_inside(NULL) == 0);
  tidegate_queue_free(NULL);
  tidegate_bottleneck_free(NULL);
}

static void a_bottleneck(void) {
  tidegate_link link = link_of("8 Mbit/s", "1 packet");
  tidegate_way way = {.delay = "2 hours"};
  tidegate_bottleneck *there;
  REFUSED(tidegate_bottleneck_new("red", &link, NULL, 1, &there), NULL_POINTER, "way is a null pointer");
  REFUSED(tidegate_bottleneck_new("red", &link, &way, 1, &there), REFUSED, "way.delay");
  way = (tidegate_way){.delay = "7200 s"};
  REFUSED(tidegate_bottleneck_new("red", &link, &way, 1, &there), REFUSED, "must be at most an hour");
  way = (tidegate_way){.loss = "2"};
  REFUSED(tidegate_bottleneck_new("red", &link, &way, 1, &there), REFUSED, "way.loss");
  way = (tidegate_way){.trace = "5\n3\n"};
  REFUSED(tidegate_bottleneck_new("red", &link, &way, 1, &there), REFUSED, "way.trace: line 2 = 3: time runs back");

  // By a trace, with no rate; one packet on the way, one in the queue, one dropped.
  link.rate = NULL;
  way = (tidegate_way){.delay = "1 ms", .trace = "5\n"};
  MUST(tidegate_bottleneck_new("drop_tail", &link, &way, 1, &there) == TIDEGATE_STATUS_OK);
  tidegate_packet packet = {.flow = 7, .len = 1500};
  for (uint64_t payload = 0; payload < 3; payload++)
    MUST(tidegate_bottleneck_offer(there, payload * 5000000, &packet, ~payload) == TIDEGATE_STATUS_OK);
  MUST(tidegate_bottleneck_offer(there, 10000000, &packet, 3) == TIDEGATE_STATUS_OK);
  REFUSED(tidegate_bottleneck_offer(there, 0, NULL, 0), NULL_POINTER, "packet is a null pointer");
  REFUSED(tidegate_bottleneck_poll(there, 0, NULL), NULL_POINTER, "fate is a null pointer");
  MUST(tidegate_bottleneck_backlog(there).packets == 1 && tidegate_bottleneck_inside(there) == 4);
  MUST(tidegate_bottleneck_next_wake(there) == 6000000);
  tidegate_fate fate;
  MUST(tidegate_bottleneck_poll(there, 10000000, &fate) == TIDEGATE_STATUS_OK);
  MUST(fate.at == 6000000 && fate.payload == ~0ull && fate.outcome == TIDEGATE_OUTCOME_DELIVERED);
  size_t count;
  REFUSED(tidegate_bottleneck_poll_fates(there, 0, NULL, 1, &count), NULL_POINTER, "fates is a null pointer");
  REFUSED(tidegate_bottleneck_poll_fates(there, 0, &fate, 1, NULL), NULL_POINTER, "count is a null pointer");
  MUST(tidegate_bottleneck_poll_fates(there, 10000000, &fate, 0, &count) == TIDEGATE_STATUS_OK && count == 0);
  MUST(tidegate_bottleneck_poll_fates(there, 10000000, &fate, 1, &count) == TIDEGATE_STATUS_OK && count == 1);
  MUST(fate.at == 10000000 && fate.payload == 3 && fate.reason == TIDEGATE_REASON_OVERLIMIT);
  tidegate_fate rest[5];
  MUST(tidegate_bottleneck_poll_fates(there, TIDEGATE_NEVER, rest, 5, &count) == TIDEGATE_STATUS_OK && count == 2);
  MUST(rest[0].outcome == TIDEGATE_OUTCOME_DELIVERED && rest[1].payload == ~2ull && tidegate_bottleneck_inside(there) == 0);
  tidegate_bottleneck_free(there);

  link.rate = "8 Mbit/s";
  way = (tidegate_way){.loss = "100 %"};
  MUST(tidegate_bottleneck_new("drop_tail", &link, &way, 1, &there) == TIDEGATE_STATUS_OK);
  MUST(tidegate_bottleneck_offer(there, 0, &packet, 0) == TIDEGATE_STATUS_OK);
  MUST(tidegate_bottleneck_poll(there, TIDEGATE_NEVER, &fate) == TIDEGATE_STATUS_NOTHING);
  MUST(tidegate_bottleneck_offer(there, 0, &packet, 0) == TIDEGATE_STATUS_OK);
  tidegate_bottleneck_free(there);  // with a packet inside
}

int main(void) {
  MUST(*tidegate_last_error() == 0 && *tidegate_version() != 0);
  bad_queues();
  a_queue();
  code_points_and_hosts();
  nobody();
  a_bottleneck();
}
