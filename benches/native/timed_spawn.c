/* Runs each case of a plan once a round and prints one line a run: case, wall ns, cpu ns, status. The order is
 * shuffled anew each round: a case that always follows a large process would pay for its cold caches.
 *
 * A spawner of its own because forking from a large Python process costs more than the hooks that are
 * measured. Plan lines: `C name` begins a case, `E NAME=VALUE` adds a variable, `I path` names its standard
 * input, `A word` adds an argument. In the input, the bytes `@@@@@@@@` become a running number: each run
 * of a hook is an event of its own. With a word after the number of rounds it waits for a line before each round,
 * and ends it with an empty line.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CASES = 32, MAX_WORDS = 64, MAX_INPUT = 1 << 16, MAX_LINE = 4096 };

struct bench_case {
    char *name, *args[MAX_WORDS], *env[MAX_WORDS], *input;
    size_t n_args, n_env, input_bytes;
};

static struct bench_case cases[MAX_CASES];
static size_t n_cases;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void load_input(struct bench_case *c, const char *path) {
    FILE *source = fopen(path, "rb");
    if (!source || !(c->input = malloc(MAX_INPUT))) fail(path);
    c->input_bytes = fread(c->input, 1, MAX_INPUT, source);
    fclose(source);
}

static void load_plan(const char *path) {
    char line[MAX_LINE];
    FILE *plan = fopen(path, "r");
    if (!plan) fail(path);
    while (fgets(line, sizeof line, plan)) {
        line[strcspn(line, "\n")] = 0;
        char *word = strdup(line + 2);
        if (line[0] == 'C') {
            if (n_cases == MAX_CASES) fail("too many cases");
            cases[n_cases++].name = word;
            continue;
        }
        struct bench_case *c = &cases[n_cases - 1];
        if (line[0] == 'E' && c->n_env < MAX_WORDS - 1) c->env[c->n_env++] = word;
        if (line[0] == 'A' && c->n_args < MAX_WORDS - 1) c->args[c->n_args++] = word;
        if (line[0] == 'I') load_input(c, word);
    }
    fclose(plan);
}

static int input_of(struct bench_case *c, unsigned long number) {
    if (!c->input) return open("/dev/null", O_RDONLY);
    int fd = memfd_create("input", 0);
    char digits[9];
    snprintf(digits, sizeof digits, "%08lu", number % 100000000UL);
    char *mark = memmem(c->input, c->input_bytes, "@@@@@@@@", 8), *at = mark;
    if (at) memcpy(at, digits, 8);
    if (fd < 0 || write(fd, c->input, c->input_bytes) != (ssize_t)c->input_bytes || lseek(fd, 0, SEEK_SET)) fail("input");
    if (mark) memcpy(mark, "@@@@@@@@", 8);
    return fd;
}

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void run_once(struct bench_case *c, unsigned long number) {
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t pid;
    int status, in = input_of(c, number), out = open("/dev/null", O_WRONLY);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    posix_spawn_file_actions_addclose(&actions, in);
    posix_spawn_file_actions_addclose(&actions, out);
    long long began = now_ns();
    if (posix_spawn(&pid, c->args[0], &actions, NULL, c->args, c->env)) fail(c->args[0]);
    if (wait4(pid, &status, 0, &usage) != pid) fail("wait4");
    long long wall = now_ns() - began;
    long long cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
                    (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
    printf("%s\t%lld\t%lld\t%d\n", c->name, wall, cpu, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    posix_spawn_file_actions_destroy(&actions);
    close(in);
    close(out);
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) return 64;
    load_plan(argv[1]);
    long rounds = strtol(argv[2], NULL, 10);
    size_t order[MAX_CASES];
    for (size_t i = 0; i < n_cases; i++) order[i] = i;
    srandom(1);
    for (long round = 0; round < rounds; round++) {
        while (argc == 4) {
            int byte = getchar();
            if (byte == EOF) return 1;
            if (byte == '\n') break;
        }
        for (size_t i = n_cases; i > 1; i--) {
            size_t j = (size_t)random() % i, kept = order[i - 1];
            order[i - 1] = order[j];
            order[j] = kept;
        }
        for (size_t i = 0; i < n_cases; i++) run_once(&cases[order[i]], (unsigned long)round);
        if (argc == 4) {
            putchar('\n');
            fflush(stdout);
        }
    }
    return 0;
}
