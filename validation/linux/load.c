// Senders, a receiver and a meter for a User-Mode Linux kernel in simulated time (cells.py writes who calls what).
// No connection but those that are measured: when to begin and what to count is given in advance, as nanoseconds of
// CLOCK_MONOTONIC, which all network namespaces share.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 9000, HEADERS = 42, MOST = 4096, SLOT_US = 100, SLOTS = 20000, IDS = 65536 };
static const char ANY[] = "0.0.0.0";
static const int64_t LATE = 500000000;  // ns: what has not come by then is lost

static void die(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void need(int ok, const char *what) {
    if (!ok) die(what);
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void until(int64_t at) {
    struct timespec t = {at / 1000000000, at % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR) {}
}

static struct sockaddr_in address(const char *host, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    need(inet_pton(AF_INET, host, &a.sin_addr) == 1, "address");
    return a;
}

static int bound(int type, const char *host, int port) {
    struct sockaddr_in own = address(host, port);
    int on = 1, fd = socket(AF_INET, type, 0);
    need(fd >= 0, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    need(!bind(fd, (struct sockaddr *)&own, sizeof own), "bind");
    return fd;
}

// A uniform number in [0, 1): splitmix64, so that a seed gives the same times on every kernel.
static double uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

// What was seen of one flow: its frames within the window, and how long they took from the router on. A frame is known again by its
// IP identification, which Linux counts for each socket. `entered` has when it came to the router, 0 once it has arrived.
// An acknowledgement comes from PORT, and its flow is the one that it goes to.
struct flow { int protocol, port, back; int64_t frames, bytes, timed, delay, offered, lost, marked, *entered; int32_t *slots; };
static struct flow flows[MOST];
static int known;

static struct flow *flow(const uint8_t *frame, int length) {
    if (length < HEADERS || frame[12] != 8 || frame[13] || frame[14] != 0x45) return 0;
    int protocol = frame[23], port = frame[34] << 8 | frame[35], back = port == PORT;
    if (back) port = frame[36] << 8 | frame[37];
    for (int i = 0; i < known; i++)
        if (flows[i].protocol == protocol && flows[i].port == port && flows[i].back == back) return &flows[i];
    need(known < MOST, "too many flows");
    flows[known] = (struct flow){.protocol = protocol, .port = port, .back = back};
    struct flow *f = &flows[known++];
    f->entered = calloc(IDS, sizeof *f->entered);
    f->slots = calloc(SLOTS, sizeof *f->slots);
    need(f->entered && f->slots, "memory");
    return f;
}

static int64_t *entry(struct flow *f, const uint8_t *frame) { return &f->entered[frame[18] << 8 | frame[19]]; }

// Whether losses and marks of what came to the router then are counted.
static int counted(int64_t at, int64_t from, int64_t to) { return at >= from && at < to - LATE; }

static void entered(const uint8_t *frame, int length, int64_t at, int64_t from, int64_t to) {
    struct flow *f = flow(frame, length);
    if (!f) return;
    int64_t *before = entry(f, frame);
    f->lost += counted(*before, from, to);
    f->offered += counted(at, from, to);
    *before = at;
}

static void arrived(const uint8_t *frame, int length, int64_t at, int64_t from, int64_t to) {
    struct flow *f = flow(frame, length);
    if (!f) return;
    int64_t *before = entry(f, frame), began = *before, slot = (at - began) / 1000 / SLOT_US;
    *before = 0;
    f->marked += counted(began, from, to) && (frame[15] & 3) == 3;
    if (at < from || at >= to) return;
    f->frames++;
    f->bytes += length;
    if (!began) return;
    f->slots[slot < SLOTS ? slot : SLOTS - 1]++;
    f->timed++;
    f->delay += at - began;
}

static double median_ms(const struct flow *f) {
    int64_t below = 0;
    for (int i = 0; i < SLOTS; i++)
        if ((below += f->slots[i]) * 2 >= f->timed) return (i + .5) * SLOT_US / 1e3;
    return 0;
}

static void report(int64_t from, int64_t to) {
    for (int i = 0; i < known; i++) {
        struct flow *f = &flows[i];
        for (int id = 0; id < IDS; id++) f->lost += counted(f->entered[id], from, to);
        double mean = f->timed ? f->delay / 1e6 / f->timed : 0, median = f->timed ? median_ms(f) : 0;
        printf("@flow %s %d %lld %lld %.4f %.4f %lld %lld %lld\n", f->back ? "ack" : f->protocol == IPPROTO_UDP ? "udp" : "tcp", f->port,
               (long long)f->frames, (long long)f->bytes, mean, median, (long long)f->offered, (long long)f->lost, (long long)f->marked);
    }
}

// What comes to a device and what leaves it; only a socket for all protocols sees the latter.
static int tap(const char *device) {
    int room = 1 << 26, fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    struct sockaddr_ll on = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(device)};
    need(fd >= 0 && !bind(fd, (struct sockaddr *)&on, sizeof on), "packet socket");
    need(!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room), "room");
    return fd;
}

// The same in another network namespace.
static int tap_in(const char *space, const char *device) {
    int own = open("/proc/self/ns/net", O_RDONLY), other = open(space, O_RDONLY);
    need(own >= 0 && other >= 0 && !setns(other, CLONE_NEWNET), space);
    int fd = tap(device);
    need(!setns(own, CLONE_NEWNET), "back");
    return fd;
}

// receive DEVICE FROM TO SPACE BEFORE: takes all connections and datagrams for PORT; counts the frames that come in between, and
// what becomes of those that come to the device BEFORE of another namespace. Of acknowledgements the same, the other way.
static void receive(const char *device, int64_t from, int64_t to, const char *space, const char *before) {
    static char sink[1 << 18];
    static uint8_t frame[2048];
    int poll = epoll_create1(0), listener = bound(SOCK_STREAM, ANY, PORT);
    bound(SOCK_DGRAM, ANY, PORT);  // never read: what it has no room for is dropped, and nothing answers "unreachable"
    int raw = tap(device), first = tap_in(space, before), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec end = {.it_value = {to / 1000000000, to % 1000000000}};
    need(!listen(listener, 1024) && !timerfd_settime(timer, TFD_TIMER_ABSTIME, &end, 0), "listen");
    for (int i = 0, all[] = {listener, raw, first, timer}; i < 4; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.fd = all[i]};
        need(!epoll_ctl(poll, EPOLL_CTL_ADD, all[i], &e), "epoll");
    }
    for (;;) {
        struct epoll_event ready[64];
        int n = epoll_wait(poll, ready, 64, -1);
        for (int i = 0; i < n; i++) {
            int fd = ready[i].data.fd;
            if (fd == timer) return report(from, to);
            if (fd == listener) {
                struct epoll_event e = {.events = EPOLLIN, .data.fd = accept4(listener, 0, 0, SOCK_NONBLOCK)};
                need(e.data.fd >= 0 && !epoll_ctl(poll, EPOLL_CTL_ADD, e.data.fd, &e), "accept");
            } else if (fd == raw || fd == first) {
                struct sockaddr_ll by;
                socklen_t size = sizeof by;
                for (ssize_t got; (got = recvfrom(fd, frame, sizeof frame, MSG_TRUNC, (struct sockaddr *)&by, &size)) > 0;)
                    if (by.sll_pkttype == PACKET_HOST || by.sll_pkttype == PACKET_OUTGOING) {
                        // What leaves the receiver goes the other way.
                        int there = by.sll_pkttype == PACKET_HOST;
                        ((fd == raw) == there ? arrived : entered)(frame, (int)got, now(), from, to);
                    }
            } else if (read(fd, sink, sizeof sink) == 0) {
                close(fd);
            }
        }
    }
}

// flood HOST PORT BEGIN FROM TO RATE FRAME JITTER SEED TOS SOURCE: datagrams in frames of FRAME bytes at RATE bit/s from BEGIN to TO,
// from the own address SOURCE, each interval drawn evenly from its mean × (1 ± JITTER); says how many left from FROM on.
static void flood(char **a) {
    struct sockaddr_in to = address(a[0], PORT);
    int64_t at = atoll(a[2]), from = atoll(a[3]), end = atoll(a[4]), sent = 0;
    double mean = atof(a[6]) * 8e9 / atof(a[5]), jitter = atof(a[7]);
    int length = atoi(a[6]) - HEADERS, fd = bound(SOCK_DGRAM, a[10], atoi(a[1])), tos = atoi(a[9]);
    uint64_t dice = strtoull(a[8], 0, 10);
    char payload[2048] = {0};
    need(length >= 0 && length <= (int)sizeof payload, "length");
    need(!setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos), "tos");
    need(!connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
    for (double exact = at; at < end; at = (int64_t)(exact += mean * (1 + jitter * (2 * uniform(&dice) - 1)))) {
        until(at);
        if (send(fd, payload, length, 0) == length) sent += at >= from;
    }
    printf("@sent %s %lld\n", a[1], (long long)sent);
}

static void tell(int port, int fd, int64_t since) {
    struct tcp_info i = {0};
    socklen_t size = sizeof i;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &size)) return;
    printf("@tcp %d %.3f %d %u %u %u %u %u %u %u %u %s\n", port, (now() - since) / 1e6, i.tcpi_ca_state, i.tcpi_snd_cwnd,
           i.tcpi_snd_ssthresh, i.tcpi_rtt, i.tcpi_rto, i.tcpi_unacked, i.tcpi_retransmits, i.tcpi_total_retrans, i.tcpi_segs_out,
           i.tcpi_options & TCPI_OPT_ECN ? "ecn" : "-");
}

// connect HOST PORT COUNT BEGIN SPREAD TO CONTROL SEED EVERY: COUNT connections from PORT on, each begun within SPREAD
// of BEGIN, send until TO. With EVERY above 0 each says its state so often, else once.
static void connections(char **a) {
    static char data[1 << 16];
    struct sockaddr_in to = address(a[0], PORT);
    int port = atoi(a[1]), count = atoi(a[2]), poll = epoll_create1(0), fds[256];
    int64_t begin = atoll(a[3]), spread = atoll(a[4]), end = atoll(a[5]), every = atoll(a[8]), next, start[256];
    uint64_t dice = strtoull(a[7], 0, 10);
    need(count <= 256, "connections");
    for (int i = 0; i < count; i++) {
        int64_t at = begin + (int64_t)(spread * uniform(&dice)), j = i;
        for (; j > 0 && start[j - 1] > at; j--) start[j] = start[j - 1];
        start[j] = at;
    }
    for (int i = 0; i < count; i++) {
        until(start[i]);
        fds[i] = bound(SOCK_STREAM, ANY, port + i);
        need(!setsockopt(fds[i], IPPROTO_TCP, TCP_CONGESTION, a[6], strlen(a[6])), "congestion control");
        fcntl(fds[i], F_SETFL, O_NONBLOCK);
        need(!connect(fds[i], (struct sockaddr *)&to, sizeof to) || errno == EINPROGRESS, "connect");
        struct epoll_event e = {.events = EPOLLOUT, .data.fd = fds[i]};
        need(!epoll_ctl(poll, EPOLL_CTL_ADD, fds[i], &e), "epoll");
    }
    for (next = every ? begin + every : end; now() < end;) {
        struct epoll_event ready[64];
        int64_t wait = (next < end ? next : end) - now();
        struct timespec t = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
        int n = epoll_pwait2(poll, ready, 64, &t, 0);
        for (int i = 0; i < n; i++)
            while (send(ready[i].data.fd, data, sizeof data, MSG_NOSIGNAL) > 0) {}
        if (every && now() >= next) {
            for (int i = 0; i < count; i++) tell(port + i, fds[i], begin);
            next += every;
        }
    }
    for (int i = 0; i < count; i++) tell(port + i, fds[i], begin);
}

// plain DEVICE: frames leave one by one, as long as the wire has them, with their checksums done.
static void plain(const char *device) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    for (int i = 0, all[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM}; i < 4; i++) {
        struct ethtool_value off = {.cmd = all[i], .data = 0};
        struct ifreq ask = {.ifr_data = (char *)&off};
        strncpy(ask.ifr_name, device, IFNAMSIZ - 1);
        need(!ioctl(fd, SIOCETHTOOL, &ask), "ethtool");
    }
}

static int bpf(int what, union bpf_attr *ask) { return (int)syscall(SYS_bpf, what, ask, sizeof *ask); }

// scalable DEVICE: what leaves there with ECT(0) leaves with ECT(1) in its place, by a program at the device's egress.
static void scalable(const char *device) {
    enum { TOS = 15, SUM = 24, TCX_EGRESS = 47 };  // the last since Linux 6.6
#define OP(c, d, s, o, i) {.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)}
#define SET(d, i) OP(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define COPY(d, s) OP(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define CALL(i) OP(BPF_JMP | BPF_CALL, 0, 0, 0, i)
    struct bpf_insn program[] = {
        COPY(6, 1),
        SET(2, TOS), COPY(3, 10), OP(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8), SET(4, 1), CALL(BPF_FUNC_skb_load_bytes),
        OP(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, 0),
        OP(BPF_LDX | BPF_MEM | BPF_B, 7, 10, -8, 0), COPY(8, 7), OP(BPF_ALU64 | BPF_AND | BPF_K, 8, 0, 0, 3),
        OP(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 0, 2),
        COPY(8, 7), OP(BPF_ALU64 | BPF_XOR | BPF_K, 8, 0, 0, 3), OP(BPF_STX | BPF_MEM | BPF_B, 10, 8, -8, 0),
        // Its word of the header was 0x45 and this octet.
        COPY(1, 6), SET(2, SUM), COPY(3, 7), OP(BPF_ALU64 | BPF_LSH | BPF_K, 3, 0, 0, 8), OP(BPF_ALU64 | BPF_OR | BPF_K, 3, 0, 0, 0x45),
        COPY(4, 3), OP(BPF_ALU64 | BPF_XOR | BPF_K, 4, 0, 0, 3 << 8), SET(5, 2), CALL(BPF_FUNC_l3_csum_replace),
        COPY(1, 6), SET(2, TOS), COPY(3, 10), OP(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -8), SET(4, 1), SET(5, 0), CALL(BPF_FUNC_skb_store_bytes),
        SET(0, 0), OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    int count = sizeof program / sizeof *program;
    // Both jumps go to the last two, which let it pass.
    for (int i = 0; i < count; i++)
        if (program[i].code == (BPF_JMP | BPF_JNE | BPF_K)) program[i].off = (int16_t)(count - 3 - i);
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_SCHED_CLS, .insn_cnt = (uint32_t)count, .insns = (uintptr_t)program,
                           .license = (uintptr_t)"Apache-2.0"};
    int fd = bpf(BPF_PROG_LOAD, &load);
    need(fd >= 0, "program");
    union bpf_attr attach = {.target_fd = if_nametoindex(device), .attach_bpf_fd = (uint32_t)fd, .attach_type = TCX_EGRESS};
    need(!bpf(BPF_PROG_ATTACH, &attach), "egress");
}

// qdisc DEVICE parent M:N handle M: KIND limit PACKETS: as tc adds it, for a kind whose limit has the attribute 1.
static void qdisc(char **a) {
    struct {
        struct nlmsghdr head;
        struct tcmsg about;
        char attributes[256];
    } ask = {.head = {NLMSG_LENGTH(sizeof(struct tcmsg)), RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 1, 0}};
    struct { struct nlmsghdr head; struct nlmsgerr said; char rest[512]; } answer = {0};
    unsigned parent[2], handle;
    need(sscanf(a[2], "%x:%x", &parent[0], &parent[1]) == 2 && sscanf(a[4], "%x:", &handle) == 1, "parent or handle");
    ask.about = (struct tcmsg){.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)if_nametoindex(a[0]),
                               .tcm_parent = parent[0] << 16 | parent[1], .tcm_handle = handle << 16};
    char *at = (char *)&ask + NLMSG_ALIGN(ask.head.nlmsg_len);
    struct rtattr *kind = (struct rtattr *)at;
    *kind = (struct rtattr){RTA_LENGTH(strlen(a[5]) + 1), TCA_KIND};
    strcpy(RTA_DATA(kind), a[5]);
    at += RTA_ALIGN(kind->rta_len);
    struct rtattr *options = (struct rtattr *)at, *limit = RTA_DATA(options);
    uint32_t packets = (uint32_t)atoi(a[7]);
    *limit = (struct rtattr){RTA_LENGTH(sizeof packets), 1};
    memcpy(RTA_DATA(limit), &packets, sizeof packets);
    *options = (struct rtattr){RTA_LENGTH(limit->rta_len), TCA_OPTIONS | NLA_F_NESTED};
    ask.head.nlmsg_len = (uint32_t)(at + RTA_ALIGN(options->rta_len) - (char *)&ask);
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    need(fd >= 0 && send(fd, &ask, ask.head.nlmsg_len, 0) == (ssize_t)ask.head.nlmsg_len, "netlink");
    need(recv(fd, &answer, sizeof answer, 0) >= (ssize_t)NLMSG_LENGTH(sizeof answer.said), "netlink's answer");
    errno = -answer.said.error;
    need(answer.head.nlmsg_type == NLMSG_ERROR && !answer.said.error, a[5]);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    prctl(PR_SET_TIMERSLACK, 1);
    setvbuf(stdout, 0, _IOFBF, 1 << 16);
    if (!strcmp(what, "now")) printf("%lld\n", (long long)now());
    else if (!strcmp(what, "receive") && argc == 7) receive(argv[2], atoll(argv[3]), atoll(argv[4]), argv[5], argv[6]);
    else if (!strcmp(what, "flood") && argc == 13) flood(argv + 2);
    else if (!strcmp(what, "connect") && argc == 11) connections(argv + 2);
    else if (!strcmp(what, "qdisc") && argc == 10 && !strcmp(argv[8], "limit") && strlen(argv[7]) < 32) qdisc(argv + 2);
    else if (!strcmp(what, "plain") && argc == 3) plain(argv[2]);
    else if (!strcmp(what, "scalable") && argc == 3) scalable(argv[2]);
    else if (!strcmp(what, "halt")) reboot(RB_POWER_OFF);
    else return fprintf(stderr, "load: %s with %d words?\n", what, argc - 2), 2;
    return 0;
}
