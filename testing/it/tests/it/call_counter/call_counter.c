/* Loaded into a server before its own libraries: counts the calls that change something outside it, and kills it before
   or behind one of them. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pid_t counted_process;
static long kill_at;
static int kills_behind;
static char armed_by[512];
static char note[512];
static atomic_int is_armed;
static atomic_long calls;

static void copy_variable(const char *name, char *into, size_t size) {
    const char *value = getenv(name);
    snprintf(into, size, "%s", value ? value : "");
}

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("DISPATCH_TEST_KILL_AT");
    const char *behind = getenv("DISPATCH_TEST_KILL_BEHIND");
    if (at == NULL) return;
    copy_variable("DISPATCH_TEST_KILL_ARMED_BY", armed_by, sizeof armed_by);
    copy_variable("DISPATCH_TEST_KILL_NOTE", note, sizeof note);
    kill_at = atol(at);
    kills_behind = behind != NULL && behind[0] == '1';
    counted_process = getpid();
    /* What the server starts is not counted. */
    unsetenv("LD_PRELOAD");
    unsetenv("DISPATCH_TEST_KILL_AT");
}

static int counts(void) {
    if (counted_process == 0 || getpid() != counted_process) return 0;
    if (atomic_load(&is_armed)) return 1;
    if (syscall(SYS_access, armed_by, F_OK) != 0) return 0;
    atomic_store(&is_armed, 1);
    return 1;
}

/* A file or a connection to somebody; not what wakes a thread, and not what is logged. */
static int is_outside(int fd) {
    struct stat about;
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (fd <= 2 || fstat(fd, &about) != 0) return 0;
    if (S_ISREG(about.st_mode)) return 1;
    if (!S_ISSOCK(about.st_mode) || getsockname(fd, (struct sockaddr *)&address, &length) != 0) return 0;
    return address.ss_family == AF_INET || address.ss_family == AF_INET6;
}

static void die(const char *call, const char *what) {
    char line[1024];
    int length = snprintf(line, sizeof line, "%s %s", call, what);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, note, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (length > (int)sizeof line - 1) length = (int)sizeof line - 1;
    if (fd >= 0 && syscall(SYS_write, fd, line, length) >= 0) syscall(SYS_close, fd);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void name_of(int fd, char *into, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, into, size - 1);
    into[length > 0 ? length : 0] = 0;
}

static void die_fd(const char *call, int fd) {
    char name[512];
    name_of(fd, name, sizeof name);
    die(call, name);
}

/* Whether the process dies behind this call. */
static int passes(const char *call, const char *what) {
    if (atomic_fetch_add(&calls, 1) + 1 != kill_at) return 0;
    if (!kills_behind) die(call, what);
    return 1;
}

static int passes_fd(const char *call, int fd) {
    char name[512];
    if (!counts() || !is_outside(fd)) return 0;
    name_of(fd, name, sizeof name);
    return passes(call, name);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define ON_FD(result, name, declared, given)                                                                           \
    result name declared {                                                                                             \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL) real = REAL(name);                                                                           \
        int is_last = passes_fd(#name, fd);                                                                            \
        result answer = real given;                                                                                    \
        if (is_last) die_fd(#name, fd);                                                                                \
        return answer;                                                                                                 \
    }

#define ON_PATH(result, name, declared, given)                                                                         \
    result name declared {                                                                                             \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL) real = REAL(name);                                                                           \
        int is_last = counts() && passes(#name, path);                                                                 \
        result answer = real given;                                                                                    \
        if (is_last) die(#name, path);                                                                                 \
        return answer;                                                                                                 \
    }

ON_FD(ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
ON_FD(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
ON_FD(ssize_t, pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
ON_FD(ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
ON_FD(ssize_t, send, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags))
ON_FD(ssize_t, sendto,
      (int fd, const void *bytes, size_t count, int flags, const struct sockaddr *to, socklen_t length),
      (fd, bytes, count, flags, to, length))
ON_FD(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t length), (fd, length))
ON_FD(int, ftruncate64, (int fd, off64_t length), (fd, length))
ON_PATH(int, unlink, (const char *path), (path))
ON_PATH(int, rename, (const char *from, const char *path), (from, path))
ON_PATH(int, posix_spawn,
        (pid_t * id, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
         char *const arguments[], char *const variables[]),
        (id, path, actions, attributes, arguments, variables))
ON_PATH(int, posix_spawnp,
        (pid_t * id, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
         char *const arguments[], char *const variables[]),
        (id, path, actions, attributes, arguments, variables))
