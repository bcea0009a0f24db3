/*
 * Writes down what a process does to the disk, below one folder: an LD_PRELOAD library for Linux and glibc.
 *
 * POWER_ROOT names the folder (a real path), POWER_LOG the log. Every record is one writev to an
 * O_APPEND file, so the records of all threads and processes stand whole and in one order. Nothing
 * is remembered between calls: which file a descriptor is, the kernel is asked each time
 * (/proc/self/fd). So forks, threads and inherited descriptors need no care.
 *
 * A change is written down after it was made, a sync before it begins and again after it
 * succeeded: whatever the order of two threads, the log never says that more was synced than was.
 *
 * What the C library does inside itself (fwrite below fflush and fclose) passes no symbol that can
 * be replaced: there the file is read back. Writes through mmap are not seen; SQLite's -shm is the
 * one file written so, and is no durable state.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind {
    OPENED = 1,
    WRITTEN,
    TRUNCATED,
    SYNC_BEGINS,
    SYNC_DONE,
    RENAMED,
    LINKED,
    UNLINKED,
    DIR_MADE,
    DIR_REMOVED,
    NOT_MODELLED = 13,
    SYMLINKED,
};

/* Read by tests/power/log.py. */
struct head {
    uint32_t magic, kind;
    uint64_t inode;
    int64_t number; /* offset, size or flags */
    uint32_t thread, first_path, second_path, data;
};

#define MAGIC 0x52574f50u
#define CHUNK 65536

static char root[PATH_MAX];
static size_t root_length;
static int log_fd = -1;

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("POWER_ROOT"), *log = getenv("POWER_LOG");
    if (folder == NULL || log == NULL || strlen(folder) >= sizeof root)
        return;
    int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    strcpy(root, folder);
    root_length = strlen(root);
    /* Out of the way of programs that number their own descriptors. */
    log_fd = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 500);
    syscall(SYS_close, fd);
}

static void note(enum kind kind, uint64_t inode, int64_t number, const char *first, const char *second,
                 const void *data, size_t length) {
    int before = errno;
    struct head head = {MAGIC, kind, inode, number, (uint32_t)syscall(SYS_gettid),
                        first ? strlen(first) : 0, second ? strlen(second) : 0, length};
    struct iovec parts[] = {{&head, sizeof head},
                            {(void *)first, head.first_path},
                            {(void *)second, head.second_path},
                            {(void *)data, length}};
    ssize_t wanted = sizeof head + head.first_path + head.second_path + length;
    if (syscall(SYS_writev, log_fd, parts, 4) != wanted)
        abort(); /* A log with a hole would prove anything. */
    errno = before;
}

static int is_ours(const char *path) {
    return log_fd >= 0 && strncmp(path, root, root_length) == 0 && (path[root_length] == 0 || path[root_length] == '/');
}

static ssize_t link_of(const char *name, char *into) {
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, name, into, PATH_MAX - 1);
    into[length < 0 ? 0 : length] = 0;
    return length;
}

static void path_of(int fd, char *into) {
    char name[64];
    if (fd == AT_FDCWD)
        strcpy(name, "/proc/self/cwd");
    else
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    link_of(name, into);
}

/* Absolute and without "." and "..", by its text alone: there are no symbolic links to folders below the root. */
static int resolve(int folder, const char *path, char *into) {
    char whole[2 * PATH_MAX];
    if (log_fd < 0 || path == NULL || strlen(path) >= PATH_MAX)
        return 0;
    whole[0] = 0;
    if (path[0] != '/') {
        path_of(folder, whole);
        strcat(whole, "/");
    }
    strcat(whole, path);
    size_t length = 0;
    char *rest = NULL;
    for (char *part = strtok_r(whole, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0) {
            while (length > 0 && into[--length] != '/')
                ;
            continue;
        }
        if (length + strlen(part) + 2 > PATH_MAX)
            return 0;
        into[length++] = '/';
        strcpy(into + length, part);
        length += strlen(part);
    }
    into[length] = 0;
    return is_ours(into);
}

/* Is `fd` a file (or folder) of ours? Its inode, and its path when `path` is given. */
static int ours(int fd, uint64_t *inode, char *path, mode_t *mode) {
    struct stat facts;
    char own[PATH_MAX];
    int before = errno, found = 0;
    if (log_fd >= 0 && fstat(fd, &facts) == 0 && (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode))) {
        path_of(fd, path ? path : own);
        found = is_ours(path ? path : own);
        *inode = facts.st_ino;
        if (mode)
            *mode = facts.st_mode;
    }
    errno = before;
    return found;
}

static void opened(int fd, int folder, const char *path, int flags) {
    char whole[PATH_MAX];
    uint64_t inode;
    if (fd >= 0 && (flags & (O_CREAT | O_TRUNC)) && resolve(folder, path, whole) && ours(fd, &inode, NULL, NULL))
        note(OPENED, inode, (flags & O_TRUNC) ? 1 : 0, whole, NULL, NULL, 0);
}

static int do_open(int folder, const char *path, int flags, mode_t mode) {
    int fd = syscall(SYS_openat, folder, path, flags, mode);
    opened(fd, folder, path, flags);
    return fd;
}

#define MODE_OF(flags)                                                                                                 \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

int open(const char *path, int flags, ...) { MODE_OF(flags) return do_open(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return do_open(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE_OF(flags) return do_open(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE_OF(flags) return do_open(folder, path, flags, mode); }
int __open_2(const char *path, int flags) { return do_open(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return do_open(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags) { return do_open(folder, path, flags, 0); }
int __openat64_2(int folder, const char *path, int flags) { return do_open(folder, path, flags, 0); }
int creat(const char *path, mode_t mode) { return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

/* The C library opens the file itself, under a name that it makes up in place. */
static int made_up(const char *call, char *pattern, int suffix, int flags) {
    int (*real)(char *, int, int) = (int (*)(char *, int, int))dlsym(RTLD_NEXT, call);
    int fd = real(pattern, suffix, flags);
    opened(fd, AT_FDCWD, pattern, O_CREAT);
    return fd;
}

int mkostemps64(char *pattern, int suffix, int flags) { return made_up("mkostemps64", pattern, suffix, flags); }
int mkostemps(char *pattern, int suffix, int flags) { return made_up("mkostemps", pattern, suffix, flags); }
int mkostemp64(char *pattern, int flags) { return mkostemps64(pattern, 0, flags); }
int mkostemp(char *pattern, int flags) { return mkostemps(pattern, 0, flags); }
int mkstemps64(char *pattern, int suffix) { return mkostemps64(pattern, suffix, 0); }
int mkstemps(char *pattern, int suffix) { return mkostemps(pattern, suffix, 0); }
int mkstemp64(char *pattern) { return mkostemps64(pattern, 0, 0); }
int mkstemp(char *pattern) { return mkostemps(pattern, 0, 0); }

/* What stands in the file now, from `offset` on: for changes whose bytes did not pass through here. */
static void read_back(int fd, uint64_t inode, off_t offset, off_t end) {
    char name[64], chunk[CHUNK];
    int before = errno;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    while (again >= 0 && offset < end) {
        ssize_t got = syscall(SYS_pread64, again, chunk, end - offset < CHUNK ? (size_t)(end - offset) : CHUNK, offset);
        if (got <= 0)
            break;
        note(WRITTEN, inode, offset, NULL, NULL, chunk, got);
        offset += got;
    }
    if (again >= 0)
        syscall(SYS_close, again);
    errno = before;
}

static void read_back_last(int fd, ssize_t length) {
    uint64_t inode;
    if (length > 0 && ours(fd, &inode, NULL, NULL)) {
        off_t end = syscall(SYS_lseek, fd, 0, SEEK_CUR);
        read_back(fd, inode, end - length, end);
    }
}

ssize_t write(int fd, const void *data, size_t length) {
    uint64_t inode;
    ssize_t done = syscall(SYS_write, fd, data, length);
    if (done > 0 && ours(fd, &inode, NULL, NULL))
        note(WRITTEN, inode, syscall(SYS_lseek, fd, 0, SEEK_CUR) - done, NULL, NULL, data, done);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    uint64_t inode;
    ssize_t done = syscall(SYS_pwrite64, fd, data, length, offset);
    if (done > 0 && ours(fd, &inode, NULL, NULL))
        note(WRITTEN, inode, offset, NULL, NULL, data, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    read_back_last(fd, done);
    return done;
}

static ssize_t pwritten(int fd, ssize_t done, off64_t offset) {
    uint64_t inode;
    if (done > 0 && ours(fd, &inode, NULL, NULL))
        read_back(fd, inode, offset, offset + done);
    return done;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
    return pwritten(fd, syscall(SYS_pwritev, fd, parts, count, offset, 0L), offset);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return pwritev64(fd, parts, count, offset); }
ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags) {
    return pwritten(fd, syscall(SYS_pwritev2, fd, parts, count, offset, 0L, flags), offset);
}
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    return pwritev64v2(fd, parts, count, offset, flags);
}

static ssize_t copied(const char *how, int fd, const off64_t *offset, ssize_t done) {
    uint64_t inode;
    if (done > 0 && offset == NULL)
        read_back_last(fd, done);
    else if (done > 0 && ours(fd, &inode, NULL, NULL))
        note(NOT_MODELLED, inode, 0, how, NULL, NULL, 0);
    return done;
}

ssize_t copy_file_range(int from, off64_t *read_at, int fd, off64_t *write_at, size_t length, unsigned flags) {
    return copied("copy_file_range", fd, write_at, syscall(SYS_copy_file_range, from, read_at, fd, write_at, length, flags));
}
ssize_t sendfile64(int fd, int from, off64_t *read_at, size_t length) {
    return copied("sendfile", fd, NULL, syscall(SYS_sendfile, fd, from, read_at, length));
}
ssize_t sendfile(int fd, int from, off_t *read_at, size_t length) { return sendfile64(fd, from, read_at, length); }
ssize_t splice(int from, off64_t *read_at, int fd, off64_t *write_at, size_t length, unsigned flags) {
    return copied("splice", fd, write_at, syscall(SYS_splice, from, read_at, fd, write_at, length, flags));
}

static void truncated(int fd) {
    struct stat facts;
    uint64_t inode;
    if (ours(fd, &inode, NULL, NULL) && fstat(fd, &facts) == 0)
        note(TRUNCATED, inode, facts.st_size, NULL, NULL, NULL, 0);
}

int ftruncate64(int fd, off64_t length) {
    int failed = syscall(SYS_ftruncate, fd, length);
    if (!failed)
        truncated(fd);
    return failed;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int truncate64(const char *path, off64_t length) {
    char whole[PATH_MAX];
    struct stat facts;
    int failed = syscall(SYS_truncate, path, length);
    if (!failed && resolve(AT_FDCWD, path, whole) && stat(whole, &facts) == 0)
        note(TRUNCATED, facts.st_ino, length, NULL, NULL, NULL, 0);
    return failed;
}
int truncate(const char *path, off_t length) { return truncate64(path, length); }

/* Room that was set aside reads as zeros, as a longer file does. Holes punched into a file would not be. */
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
    uint64_t inode;
    int failed = syscall(SYS_fallocate, fd, mode, offset, length);
    if (!failed && mode == 0)
        truncated(fd);
    else if (!failed && (mode & ~FALLOC_FL_KEEP_SIZE) && ours(fd, &inode, NULL, NULL))
        note(NOT_MODELLED, inode, mode, "fallocate", NULL, NULL, 0);
    return failed;
}
int fallocate(int fd, int mode, off_t offset, off_t length) { return fallocate64(fd, mode, offset, length); }
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    int before = errno, failed = fallocate64(fd, 0, offset, length) ? errno : 0;
    errno = before;
    return failed;
}
int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }

static int synced(long call, int fd) {
    char path[PATH_MAX];
    uint64_t inode = 0;
    mode_t mode = 0;
    int is_ours_too = ours(fd, &inode, path, &mode);
    const char *folder = S_ISDIR(mode) ? path : NULL;
    if (is_ours_too)
        note(SYNC_BEGINS, inode, 0, folder, NULL, NULL, 0);
    int failed = syscall(call, fd);
    if (is_ours_too && !failed)
        note(SYNC_DONE, inode, 0, folder, NULL, NULL, 0);
    return failed;
}

int fsync(int fd) { return synced(SYS_fsync, fd); }
int fdatasync(int fd) { return synced(SYS_fdatasync, fd); }

/* No promise of durability (the disk's cache, the size): passed on and not counted. */
int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    return syscall(SYS_sync_file_range, fd, offset, length, flags);
}

/* On Linux it returns when everything is on the disk. */
void sync(void) {
    if (log_fd >= 0)
        note(SYNC_BEGINS, 0, 1, NULL, NULL, NULL, 0);
    syscall(SYS_sync);
    if (log_fd >= 0)
        note(SYNC_DONE, 0, 1, NULL, NULL, NULL, 0);
}

static int moved(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char source[PATH_MAX], target[PATH_MAX];
    int is_source = resolve(from_folder, from, source), is_target = resolve(to_folder, to, target);
    int failed = syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (!failed && is_source && is_target && (flags & ~1u) == 0)
        note(RENAMED, 0, 0, source, target, NULL, 0);
    else if (!failed && (is_source || is_target))
        note(NOT_MODELLED, 0, flags, source, target, NULL, 0);
    return failed;
}

int rename(const char *from, const char *to) { return moved(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return moved(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return moved(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char source[PATH_MAX], target[PATH_MAX];
    int is_source = resolve(from_folder, from, source), is_target = resolve(to_folder, to, target);
    int failed = syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (!failed && is_source && is_target)
        note(LINKED, 0, 0, source, target, NULL, 0);
    else if (!failed && is_target)
        note(NOT_MODELLED, 0, flags, source, target, NULL, 0);
    return failed;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int symlinkat(const char *content, int folder, const char *path) {
    char whole[PATH_MAX];
    int failed = syscall(SYS_symlinkat, content, folder, path);
    if (!failed && resolve(folder, path, whole))
        note(SYMLINKED, 0, 0, whole, NULL, content, strlen(content));
    return failed;
}
int symlink(const char *content, const char *path) { return symlinkat(content, AT_FDCWD, path); }

int unlinkat(int folder, const char *path, int flags) {
    char whole[PATH_MAX];
    int is_known = resolve(folder, path, whole);
    int failed = syscall(SYS_unlinkat, folder, path, flags);
    if (!failed && is_known)
        note((flags & AT_REMOVEDIR) ? DIR_REMOVED : UNLINKED, 0, 0, whole, NULL, NULL, 0);
    return failed;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
    int failed = unlinkat(AT_FDCWD, path, 0);
    return failed && errno == EISDIR ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : failed;
}

int mkdirat(int folder, const char *path, mode_t mode) {
    char whole[PATH_MAX];
    int failed = syscall(SYS_mkdirat, folder, path, mode);
    if (!failed && resolve(folder, path, whole))
        note(DIR_MADE, 0, 0, whole, NULL, NULL, 0);
    return failed;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

static FILE *opened_stream(FILE *stream, const char *path, const char *mode) {
    if (stream != NULL && mode[0] != 'r')
        opened(fileno(stream), AT_FDCWD, path, O_CREAT | (mode[0] == 'w' ? O_TRUNC : 0));
    return stream;
}

FILE *fopen64(const char *path, const char *mode) {
    FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen64");
    return opened_stream(real(path, mode), path, mode);
}
FILE *fopen(const char *path, const char *mode) {
    FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    return opened_stream(real(path, mode), path, mode);
}

int fflush(FILE *stream) {
    int (*real)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fflush");
    int failed = real(stream);
    struct stat facts;
    uint64_t inode;
    if (!failed && stream != NULL && __fwritable(stream) && fileno(stream) >= 0 && ours(fileno(stream), &inode, NULL, NULL)
        && fstat(fileno(stream), &facts) == 0)
        read_back(fileno(stream), inode, 0, facts.st_size);
    return failed;
}

int fclose(FILE *stream) {
    int (*real)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
    if (log_fd >= 0 && __fwritable(stream))
        fflush(stream);
    return real(stream);
}
