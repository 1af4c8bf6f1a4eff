/* Preloaded into a process by tests/faults/writes.py: the n-th write to a database's log fails, or kills.

   Each batch that RocksDB takes is one write to its log before it returns, so these are the engine's writes, seen
   from below. CONTEXT_GRAPH_FAULT_WRITES names a file of three little-endian 64-bit numbers, mapped: before which
   write to act (the first from now on is 1; 0: none), whether to kill the process then (else the write fails for
   want of room, and so do all after it until the number is 0 again), and how many writes were seen (ours). */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct control { volatile int64_t at, kills, seen; };
static struct control idle, *control = &idle;

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("CONTEXT_GRAPH_FAULT_WRITES");
    int handle = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (handle < 0) return;
    void *found = mmap(NULL, sizeof idle, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    if (found != MAP_FAILED) control = found;
    close(handle);
}

/* Whether it is open on a file such as 000012.log. */
static int is_log(int handle) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    const char *at = strrchr(path, '/');
    if (!at || !isdigit((unsigned char)at[1])) return 0;
    for (at++; isdigit((unsigned char)*at);) at++;
    return strcmp(at, ".log") == 0;
}

static int fails(int handle) {
    int before = errno;
    if (control == &idle || !is_log(handle)) {
        errno = before;
        return 0;
    }
    int64_t seen = __sync_add_and_fetch(&control->seen, 1);
    errno = before;
    if (!control->at || seen < control->at) return 0;
    if (control->kills) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = ENOSPC;
    return 1;
}

ssize_t write(int handle, const void *from, size_t size) {
    return fails(handle) ? -1 : REAL(write)(handle, from, size);
}
ssize_t pwrite(int handle, const void *from, size_t size, off_t at) {
    return fails(handle) ? -1 : REAL(pwrite)(handle, from, size, at);
}
ssize_t pwrite64(int handle, const void *from, size_t size, off64_t at) {
    return fails(handle) ? -1 : REAL(pwrite64)(handle, from, size, at);
}
