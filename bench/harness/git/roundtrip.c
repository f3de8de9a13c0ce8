/* roundtrip COUNT REQUEST COMMAND...
   Sends REQUEST to COMMAND, a `git cat-file --batch`, COUNT times, each time after the previous response has arrived, and
   prints the seconds that this took. The first response, which includes the start of the process, is not counted. */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    fprintf(stderr, "roundtrip: %s\n", what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void ask(int to, int from, const char *request, size_t length) {
    static char answer[1 << 20];
    size_t have = 0, want = 0;
    if (write(to, request, length) != (ssize_t)length) fail("cannot ask");
    while (!want || have < want) {
        /* Bytes that do not fit into the buffer are counted, not kept. */
        size_t at = have < sizeof answer / 2 ? have : sizeof answer / 2;
        ssize_t got = read(from, answer + at, sizeof answer - at - 1);
        if (got <= 0) fail("no answer");
        have += got;
        answer[at + got] = 0;
        char *end = want ? NULL : strchr(answer, '\n');
        if (end) {
            long size;
            if (sscanf(answer, "%*s %*s %ld", &size) != 1) fail("no such object");
            want = end - answer + 1 + size + 1;
        }
    }
}

int main(int argc, char **argv) {
    int in[2], out[2];
    if (argc < 4 || pipe(in) || pipe(out)) fail("COUNT REQUEST COMMAND...");
    if (fork() == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    char request[512];
    size_t length = snprintf(request, sizeof request, "%s\n", argv[2]);
    ask(in[1], out[0], request, length);
    double begin = now();
    for (long left = atol(argv[1]); left > 0; left--) ask(in[1], out[0], request, length);
    printf("%f\n", now() - begin);
    return 0;
}
