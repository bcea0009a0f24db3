/*
 * Makes a disk sick for one process and what it starts: an LD_PRELOAD library for Linux and glibc.
 *
 * SICK_BELOW names a folder (a real path). While the file SICK_HANGS exists, whoever looks at anything
 * below the folder waits until it is gone, as below a dead network mount; signals do not end the wait.
 * While the file SICK_READS exists, what the main thread reads of files below the folder fails with EIO: of a
 * server that is the event loop, where reports are heard, while the writer's thread goes on.
 * The archiver is left well: its faults have tests of their own.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char below[PATH_MAX], hangs[PATH_MAX], reads[PATH_MAX];

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

/* Past our own replacements. */
static int exists(const char *path) {
    return *path != 0 && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("SICK_BELOW"), *hang = getenv("SICK_HANGS"), *read_ = getenv("SICK_READS");
    char command[4096];
    int file = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY);
    ssize_t length = file < 0 ? 0 : syscall(SYS_read, file, command, sizeof command);
    if (file >= 0) close(file);
    if (length > 0 && memmem(command, length, "mcp_agent_mail.archiver", 23) != NULL) return;
    snprintf(below, sizeof below, "%s", folder ? folder : "");
    snprintf(hangs, sizeof hangs, "%s", hang ? hang : "");
    snprintf(reads, sizeof reads, "%s", read_ ? read_ : "");
}

static int is_below(const char *path) {
    size_t length = strlen(below);
    return length != 0 && path != NULL && strncmp(path, below, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static void look(const char *path) {
    int before = errno;
    while (is_below(path) && exists(hangs)) usleep(20000);
    errno = before;
}

#define LOOKS(result, name, parameters, path, arguments)                                                              \
    result name parameters {                                                                                          \
        result(*next) parameters = real(#name);                                                                       \
        look(path);                                                                                                   \
        return next arguments;                                                                                        \
    }

LOOKS(int, stat, (const char *path, struct stat *found), path, (path, found))
LOOKS(int, lstat, (const char *path, struct stat *found), path, (path, found))
LOOKS(int, fstatat, (int at, const char *path, struct stat *found, int flags), path, (at, path, found, flags))
LOOKS(int, stat64, (const char *path, struct stat64 *found), path, (path, found))
LOOKS(int, lstat64, (const char *path, struct stat64 *found), path, (path, found))
LOOKS(int, fstatat64, (int at, const char *path, struct stat64 *found, int flags), path, (at, path, found, flags))
LOOKS(int, access, (const char *path, int mode), path, (path, mode))
LOOKS(int, chdir, (const char *path), path, (path))
LOOKS(DIR *, opendir, (const char *path), path, (path))
LOOKS(ssize_t, readlink, (const char *path, char *into, size_t size), path, (path, into, size))

#define OPENS(name)                                                                                                   \
    int name(const char *path, int flags, ...) {                                                                      \
        int (*next)(const char *, int, ...) = real(#name);                                                            \
        va_list more;                                                                                                 \
        va_start(more, flags);                                                                                        \
        mode_t mode = va_arg(more, mode_t);                                                                           \
        va_end(more);                                                                                                 \
        look(path);                                                                                                   \
        return next(path, flags, mode);                                                                               \
    }

OPENS(open)
OPENS(open64)

static int is_unreadable(int file) {
    char name[64], path[PATH_MAX];
    if (syscall(SYS_gettid) != getpid() || !exists(reads)) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

#define READS(name, offset)                                                                                           \
    ssize_t name(int file, void *into, size_t size, offset from) {                                                    \
        ssize_t (*next)(int, void *, size_t, offset) = real(#name);                                                   \
        if (is_unreadable(file)) {                                                                                    \
            errno = EIO;                                                                                              \
            return -1;                                                                                                \
        }                                                                                                             \
        return next(file, into, size, from);                                                                          \
    }

READS(pread, off_t)
READS(pread64, off64_t)
