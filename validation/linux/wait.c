// Loaded before `tidegate gate` in run.py's kernel. The gate waits for a departure's last
// microseconds with its eyes on the clock. There a look takes a quarter of a simulated microsecond
// and many real ones. So who looks again and again sleeps 20 us between looks.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static __thread long last;
    static __thread int looks;
    long failed = syscall(SYS_clock_gettime, clock, now), at = now->tv_sec * 1000000000L + now->tv_nsec;
    looks = at - last < 3000 ? looks + 1 : 0;
    last = at;
    if (failed || looks < 10) return (int)failed;
    struct timespec nap = {0, 20000};
    looks = 0;
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, (void *)0);
    return (int)syscall(SYS_clock_gettime, clock, now);
}
