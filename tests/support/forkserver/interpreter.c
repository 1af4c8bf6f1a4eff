/* Stands in for a Python interpreter: a preloaded parent (server.py) forks instead of it starting anew.
 *
 * It sends the parent its arguments, environment, folder, limits and open descriptors, hands on the signals that it
 * gets and ends as the fork ends. Where the parent is not there, or says that it can't stand in for this start, it
 * becomes the real interpreter. Beside it: `parent` (the parent's socket) and `real` (a link to the interpreter).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_DESCRIPTORS = 60, MOST_BYTES = 1 << 20, REFUSED = 0, FORKED = 1, DETACHED = 2 };

extern char **environ;

static volatile sig_atomic_t child;

static void hand_on(int number) {
    if (child > 0) kill(child, number);
}

/* The file `name` beside this program. */
static void beside(const char *name, char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, size - (slash ? slash + 1 - path : 0), "%s", name);
}

static void become_real(char **argv) {
    char real[4096], target[4096];
    beside("real", real, sizeof real);
    ssize_t length = readlink(real, target, sizeof target - 1); /* by its own name it finds its packages */
    if (length > 0) {
        target[length] = 0;
        argv[0] = target;
        execv(target, argv);
    }
    perror(real);
    _exit(127);
}

static int connect_to_parent(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[4096];
    beside("parent", path, sizeof path);
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int parent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (parent < 0) return -1;
    if (connect(parent, (struct sockaddr *)&address, sizeof address) < 0) {
        close(parent);
        return -1;
    }
    return parent;
}

/* Lists the open descriptors but `own`; -1 where there are too many. */
static int open_descriptors(int own, int *found) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return -1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int number = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || number == dirfd(folder) || number == own) continue;
        if (count == MOST_DESCRIPTORS) {
            count = -1;
            break;
        }
        found[count++] = number;
    }
    closedir(folder);
    return count;
}

/* Appends a list of words, each ended by a NUL, behind its number of bytes. */
static int put_words(char *body, size_t *used, char **words) {
    uint32_t size = 0;
    for (char **word = words; *word; word++) size += strlen(*word) + 1;
    if (*used + sizeof size + size > MOST_BYTES) return -1;
    memcpy(body + *used, &size, sizeof size);
    *used += sizeof size;
    for (char **word = words; *word; word++) {
        size_t length = strlen(*word) + 1;
        memcpy(body + *used, *word, length);
        *used += length;
    }
    return 0;
}

static int send_all(int to, const char *data, size_t size) {
    while (size) {
        ssize_t sent = send(to, data, size, MSG_NOSIGNAL);
        if (sent <= 0) return -1;
        data += sent;
        size -= sent;
    }
    return 0;
}

/* Sends head, descriptors and body; 0 if all of it went. */
static int ask(int parent, char **argv) {
    int numbers[MOST_DESCRIPTORS], sent[MOST_DESCRIPTORS + 1];
    int count = open_descriptors(parent, numbers);
    int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *body = malloc(MOST_BYTES);
    if (count < 0 || folder < 0 || !body) return -1;
    mode_t mask = umask(0);
    umask(mask);
    size_t used = 0;
    if (put_words(body, &used, argv) < 0 || put_words(body, &used, environ) < 0) return -1;
    int32_t head[4 + MOST_DESCRIPTORS] = {(int32_t)used, (int32_t)getpid(), (int32_t)mask, count};
    memcpy(head + 4, numbers, count * sizeof *numbers);
    memcpy(sent, numbers, count * sizeof *numbers);
    sent[count] = folder;
    union {
        char space[CMSG_SPACE(sizeof sent)];
        struct cmsghdr align;
    } control;
    struct iovec part = {head, sizeof head};
    size_t bytes = (count + 1) * sizeof(int);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = CMSG_SPACE(bytes)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(rights), sent, bytes);
    if (sendmsg(parent, &message, MSG_NOSIGNAL) != sizeof head || send_all(parent, body, used) < 0) return -1;
    close(folder);
    free(body);
    return 0;
}

static int read_number(int parent, int32_t *number) {
    ssize_t count;
    do count = recv(parent, number, sizeof *number, MSG_WAITALL);
    while (count < 0 && errno == EINTR);
    return count == sizeof *number ? 0 : -1;
}

/* Closes what the fork has now: whoever reads a pipe's end must see it when the fork ends. */
static void let_go(int parent) {
    int numbers[MOST_DESCRIPTORS];
    int count = open_descriptors(parent, numbers);
    for (int i = 0; i < count; i++) close(numbers[i]);
}

static void end_as(int32_t status) {
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    int number = WTERMSIG(status);
    signal(number, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(number);
    _exit(128 + number);
}

int main(int argc, char **argv) {
    (void)argc;
    int parent = connect_to_parent();
    int32_t answer[2], status;
    /* In front of a terminal signals of the keyboard and its size matter, which a fork of another session misses. */
    if (parent < 0 || isatty(0) || isatty(1) || isatty(2) || ask(parent, argv) < 0) become_real(argv);
    if (read_number(parent, &answer[0]) < 0 || read_number(parent, &answer[1]) < 0 || answer[0] == REFUSED) become_real(argv);
    if (answer[0] == DETACHED) _exit(0);
    child = answer[1];
    let_go(parent);
    for (int number = 1; number < NSIG; number++)
        if (number != SIGCHLD && number != SIGSTOP && number != SIGKILL && number != SIGPIPE) signal(number, hand_on);
    sigset_t all; /* the launcher holds SIGINT back while Python starts, which a fork has done already */
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    if (read_number(parent, &status) < 0) _exit(125);
    end_as(status);
}
