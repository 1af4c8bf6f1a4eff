/* Preloaded into a command by tests/faults/steps.py: kill -9 before the n-th call that changes a file's bytes,
   name or lock.

   CONTEXT_GRAPH_FAULT_STEPS names a file of two little-endian 64-bit numbers: the call before which to die (the
   first is 1; 0: never), and whether two names can't be exchanged in one step here. The names of the calls go, a
   line each, into the file of that name with `.log` behind it. Only the leader of a session is meant: its
   children go on, as those of a killed process do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct { int64_t die_at, no_exchange; } control;
static int64_t count;
static int trace = -1;

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

__attribute__((constructor)) static void begin(void) {
    char log[4096];
    const char *name = getenv("CONTEXT_GRAPH_FAULT_STEPS");
    if (!name || getsid(0) != getpid()) return;
    int handle = REAL(open)(name, O_RDONLY | O_CLOEXEC);
    if (handle < 0 || read(handle, &control, sizeof control) != sizeof control) return;
    close(handle);
    snprintf(log, sizeof log, "%s.log", name);
    trace = REAL(open)(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

static void step(const char *name, const char *path) {
    int before = errno;
    if (trace < 0) return;
    if (++count == control.die_at) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    dprintf(trace, "%s %s\n", name, path);
    errno = before;
}

static int is_file(int handle) {
    struct stat found;
    int before = errno, is = handle != trace && !fstat(handle, &found) && S_ISREG(found.st_mode);
    errno = before;
    return is;
}

int rename(const char *from, const char *to) { step("rename", to); return REAL(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { step("mkdir", path); return REAL(mkdir)(path, mode); }
int rmdir(const char *path) { step("rmdir", path); return REAL(rmdir)(path); }
int unlink(const char *path) { step("unlink", path); return REAL(unlink)(path); }
int unlinkat(int at, const char *path, int flags) { step("unlinkat", path); return REAL(unlinkat)(at, path, flags); }
int fsync(int handle) { step("fsync", ""); return REAL(fsync)(handle); }
int flock(int handle, int what) { step("flock", ""); return REAL(flock)(handle, what); }

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned int flags) {
    if (trace >= 0 && control.no_exchange) {
        errno = EINVAL;
        return -1;
    }
    step("renameat2", to);
    return REAL(renameat2)(from_at, from, to_at, to, flags);
}

ssize_t write(int handle, const void *from, size_t size) {
    if (is_file(handle)) step("write", "");
    return REAL(write)(handle, from, size);
}

#define OPENS(name)                                                      \
    int name(const char *path, int flags, ...) {                         \
        mode_t mode = 0;                                                 \
        if (flags & (O_CREAT | O_TMPFILE)) {                             \
            va_list more;                                                \
            va_start(more, flags);                                       \
            mode = va_arg(more, mode_t);                                 \
            va_end(more);                                                \
        }                                                                \
        if (flags & (O_CREAT | O_TRUNC)) step("open", path);             \
        return REAL(name)(path, flags, mode);                            \
    }
OPENS(open)
OPENS(open64)
