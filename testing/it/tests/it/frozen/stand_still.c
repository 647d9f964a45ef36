/* stand_still N MS NOTE PROGRAM...: runs a program and lets it stand still once, for so many milliseconds, at its Nth system
   call behind the end of its standard input. Writes into NOTE how many such calls it made. */

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void give_up(const char *what) {
    perror(what);
    exit(99);
}

/* Whether the call that the process has just ended was a read of nothing from its standard input. */
static int ended_input(const struct __ptrace_syscall_info *entry, const struct __ptrace_syscall_info *end) {
    return entry->entry.nr == SYS_read && entry->entry.args[0] == 0 && !end->exit.is_error && end->exit.rval == 0;
}

static long run(pid_t child, long at, useconds_t us) {
    struct __ptrace_syscall_info now = {0}, entry = {0};
    long calls = 0;
    int status, is_counting = 0, signal = 0;
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, child, 0, signal) != 0 || waitpid(child, &status, 0) < 0) give_up("ptrace");
        if (WIFEXITED(status) || WIFSIGNALED(status)) return calls;
        signal = WSTOPSIG(status);
        if (signal != (SIGTRAP | 0x80)) continue;
        signal = 0;
        if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof now, &now) < 0) give_up("PTRACE_GET_SYSCALL_INFO");
        if (now.op == PTRACE_SYSCALL_INFO_ENTRY) {
            entry = now;
            if (is_counting && ++calls == at) usleep(us);
        } else if (now.op == PTRACE_SYSCALL_INFO_EXIT && ended_input(&entry, &now)) {
            is_counting = 1;
        }
    }
}

int main(int count, char **arguments) {
    int status;
    if (count < 5) return 99;
    pid_t child = fork();
    if (child < 0) give_up("fork");
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) give_up("PTRACE_TRACEME");
        execvp(arguments[4], arguments + 4);
        give_up(arguments[4]);
    }
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) give_up("execvp");
    if (ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) give_up("PTRACE_SETOPTIONS");
    long calls = run(child, atol(arguments[1]), (useconds_t)(atol(arguments[2]) * 1000));
    FILE *note = fopen(arguments[3], "w");
    if (note == NULL || fprintf(note, "%ld", calls) < 0 || fclose(note) != 0) give_up(arguments[3]);
    return 0;
}
