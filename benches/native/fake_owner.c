/* An owner that does nothing: reads each request, answers 96 bytes of JSON. What a hook costs beside this one is the
 * launcher's own share. Usage: fake_owner SOCKET; ends when its standard input does. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char BODY[] =
    "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"additionalContext\":\"[C:CON r=0.97 IC=0.95]\"}}\n";

static int read_whole(int fd, char *buffer, size_t wanted) {
    while (wanted > 0) {
        ssize_t count = read(fd, buffer, wanted);
        if (count <= 0) return 0;
        buffer += count;
        wanted -= (size_t)count;
    }
    return 1;
}

static void put_u32(char *at, uint32_t value) { memcpy(at, &value, 4); }

static void answer(int client) {
    static char payload[1 << 20];
    char header[8], reply[256] = "CGR1";
    uint32_t length, body = sizeof BODY - 1;
    if (!read_whole(client, header, sizeof header)) return;
    memcpy(&length, header + 4, 4);
    if (length > sizeof payload || !read_whole(client, payload, length)) return;
    put_u32(reply + 4, 12 + body);
    reply[9] = 1; /* flags: applied */
    put_u32(reply + 12, body);
    memcpy(reply + 16, BODY, body);
    if (write(client, reply, 20 + body) < 0) return;
}

int main(int argc, char **argv) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path) return 64;
    strcpy(address.sun_path, argv[1]);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16)) {
        perror(argv[1]);
        return 1;
    }
    puts("ready");
    fflush(stdout);
    struct pollfd both[2] = {{.fd = 0, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    while (poll(both, 2, -1) > 0) {
        if (both[0].revents) return 0;
        int client = accept(listener, NULL, NULL);
        answer(client);
        close(client);
    }
    return 1;
}
