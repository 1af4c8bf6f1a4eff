/* Preloaded into the owner by tests/faults/shim.py: a clock that jumps, a disk that is slow, a priority that stays.

   CONTEXT_GRAPH_FAULT_CONTROL names a file of three little-endian 64-bit numbers, mapped and read anew at each
   call: nanoseconds added to the wall clock, microseconds that each fsync and each write to a file takes longer,
   and how many calls were delayed (written by us). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control { volatile int64_t offset_ns, delay_us, delayed; };
static struct control idle, *control = &idle;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("CONTEXT_GRAPH_FAULT_CONTROL");
    int handle = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (handle < 0) return;
    void *found = mmap(NULL, sizeof idle, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    if (found != MAP_FAILED) control = found;
    close(handle);
}

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

static void shift(struct timespec *at, int64_t ns) {
    int64_t all = (int64_t)at->tv_sec * 1000000000 + at->tv_nsec + ns;
    if (all < 0) all = 0;
    at->tv_sec = all / 1000000000;
    at->tv_nsec = all % 1000000000;
}

int clock_gettime(clockid_t which, struct timespec *at) {
    int done = REAL(clock_gettime)(which, at);
    if (!done && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) shift(at, control->offset_ns);
    return done;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

/* Who waits until a wall-clock time has worked that out with the clock above. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec moved = *until;
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real) real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (moved.tv_sec > 500000000) shift(&moved, -control->offset_ns);
    return real(cond, mutex, &moved);
}

static void slow(int handle) {
    struct stat found;
    int before = errno;
    int64_t us = control->delay_us;
    if (us > 0 && !fstat(handle, &found) && S_ISREG(found.st_mode)) {
        struct timespec pause = {us / 1000000, (us % 1000000) * 1000};
        __sync_fetch_and_add(&control->delayed, 1);
        nanosleep(&pause, NULL);
    }
    errno = before;
}

int fsync(int handle) { slow(handle); return REAL(fsync)(handle); }
int fdatasync(int handle) { slow(handle); return REAL(fdatasync)(handle); }
ssize_t write(int handle, const void *from, size_t size) { slow(handle); return REAL(write)(handle, from, size); }
ssize_t pwrite(int handle, const void *from, size_t size, off_t at) {
    slow(handle);
    return REAL(pwrite)(handle, from, size, at);
}
ssize_t pwrite64(int handle, const void *from, size_t size, off64_t at) {
    slow(handle);
    return REAL(pwrite64)(handle, from, size, at);
}

/* A consolidation gives way to all others; on a busy machine a test would wait for it without end. */
int nice(int by) { (void)by; return 0; }
int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param) {
    (void)pid, (void)policy, (void)param;
    return 0;
}
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
    (void)pid, (void)size, (void)set;
    return 0;
}
