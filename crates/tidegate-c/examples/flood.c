// A sender at half of a link's rate, which speaks ECN, beside a flood of twice that rate, which does
// not: how many packets of each get through the queue that is named. The same as flood.rs.
//
//     flood [QUEUE [PACKETS]]        for example: flood sfb,bins=32 10000
#include <stdio.h>
#include <stdlib.h>
#include <tidegate.h>

// 1000 bytes at 10 Mbit/s take 800 us. The flood sends one each 400 us, the sender each 1600.
enum { FLOOD = 1, SENDER = 2, GAP = 400000, ROOM = 64 };

static void check(tidegate_status status) {
  if (status != TIDEGATE_STATUS_OK) {
    fprintf(stderr, "error: %s\n", tidegate_last_error());
    exit(2);
  }
}

struct counts {
  uint64_t delivered[3], marked[3], dropped[3], last;
};

// Takes what has come out by `now`. The payload is the number of the packet.
static void poll(tidegate_bottleneck *way, uint64_t now, struct counts *counts) {
  tidegate_fate fates[ROOM];
  size_t count;
  do {
    check(tidegate_bottleneck_poll_fates(way, now, fates, ROOM, &count));
    for (size_t i = 0; i < count; i++) {
      uint64_t flow = fates[i].packet.flow;
      if (fates[i].outcome == TIDEGATE_OUTCOME_DELIVERED) {
        counts->delivered[flow]++;
        counts->marked[flow] += fates[i].packet.ecn == 3;
        counts->last = fates[i].payload;
      } else {
        counts->dropped[flow]++;
      }
    }
  } while (count == ROOM);
}

int main(int argc, char **argv) {
  const char *queue = argc > 1 ? argv[1] : "fq_codel";
  uint64_t packets = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
  tidegate_link link = {.rate = "10 Mbit/s", .limit = "100 packets", .mean_packet = "1000 B"};
  tidegate_way there = {.delay = "20 ms"};
  tidegate_bottleneck *way;
  check(tidegate_bottleneck_new(queue, &link, &there, 1, &way));

  struct counts counts = {0};
  uint64_t now = 0, number = 0;
  for (uint64_t slot = 0; number < packets; slot++, now += GAP) {
    for (int flow = FLOOD; flow <= (slot % 4 ? FLOOD : SENDER); flow++) {
      tidegate_packet packet = {.flow = flow, .len = 1000, .ecn = flow == SENDER ? 2 : 0};
      check(tidegate_bottleneck_offer(way, now, &packet, number++));
    }
    poll(way, now, &counts);
  }
  poll(way, TIDEGATE_NEVER, &counts);

  const char *names[] = {"", "flood", "sender"};
  for (int flow = FLOOD; flow <= SENDER; flow++)
    printf("%s: %llu delivered, %llu of them marked, %llu dropped\n", names[flow],
           (unsigned long long)counts.delivered[flow], (unsigned long long)counts.marked[flow],
           (unsigned long long)counts.dropped[flow]);
  printf("the last to come was packet %llu\n", (unsigned long long)counts.last);
  tidegate_bottleneck_free(way);
}
