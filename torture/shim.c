/* Stands between a program and the C library, by LD_PRELOAD: counts, fails, kills at, and records its file calls.
 *
 * Everything is told in the environment. SHIM_ROOT: only files below it count. SHIM_TRACE: where all calls are
 * recorded, in the one order in which they are made, with their data; SHIM_ACKS=1 records what goes to stdout too.
 * SHIM_FAKE=1: syncs succeed without being made. At the SHIM_N-th call of kind SHIM_OP (or `all`, `change`) whose path
 * contains SHIM_PATH, SHIM_ACT happens: kill, killafter, torn, short, EIO, ENOSPC, EMFILE; once or with SHIM_STICKY=1
 * from then on, and the file SHIM_MET is made; SHIM_AFTER=1: done, then reported as failed; SHIM_DELAY_MS: reported late.
 *
 * A record: kind (1 byte), id (8), offset (8), data length (8), thread (8), little-endian, then the data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS 4096
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX], part[256], op[32], act[32];
static size_t root_len;
static long at_n = -1, count, delay_ms;
static int sticky, after, fake, acks, trace = -1, fired;
static uint64_t next_id = 1, ids[FDS];
static char *paths[FDS], *met;

__attribute__((constructor)) static void start(void) {
  char *text;
  if ((text = getenv("SHIM_ROOT"))) snprintf(root, sizeof root, "%s", text);
  root_len = strlen(root);
  if ((text = getenv("SHIM_OP"))) snprintf(op, sizeof op, "%s", text);
  if ((text = getenv("SHIM_ACT"))) snprintf(act, sizeof act, "%s", text);
  if ((text = getenv("SHIM_PATH"))) snprintf(part, sizeof part, "%s", text);
  met = getenv("SHIM_MET");
  if ((text = getenv("SHIM_N"))) at_n = atol(text);
  if ((text = getenv("SHIM_DELAY_MS"))) delay_ms = atol(text);
  sticky = getenv("SHIM_STICKY") != NULL, after = getenv("SHIM_AFTER") != NULL;
  fake = getenv("SHIM_FAKE") != NULL, acks = getenv("SHIM_ACKS") != NULL;
  if ((text = getenv("SHIM_TRACE"))) {
    trace = (int)syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (trace < 0) _exit(97);
    int high = (int)syscall(SYS_fcntl, trace, F_DUPFD_CLOEXEC, 1000);
    if (high >= 0) syscall(SYS_close, trace), trace = high;
    char head[33] = {'N'};
    syscall(SYS_write, trace, head, sizeof head);
  }
}

static int below(const char *path) {
  return root_len && !strncmp(path, root, root_len) && (path[root_len] == '/' || !path[root_len]);
}

static void record(char kind, uint64_t id, uint64_t offset, const void *data, uint64_t len) {
  if (trace < 0) return;
  char head[33];
  uint64_t thread = (uint64_t)syscall(SYS_gettid);
  head[0] = kind;
  memcpy(head + 1, &id, 8), memcpy(head + 9, &offset, 8), memcpy(head + 17, &len, 8), memcpy(head + 25, &thread, 8);
  struct iovec all[2] = {{head, sizeof head}, {(void *)data, len}};
  if (syscall(SYS_writev, trace, all, len ? 2 : 1) != (long)(sizeof head + len)) _exit(98);
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

enum plan { GO, KILL_AFTER, TORN, SHORT, FAIL, FAIL_AFTER };

/* Counts a call and says what is to happen to it; dies at once where that is it. */
static enum plan plan(const char *kind, int changes, const char *path) {
  if (at_n < 0 || !*act) return GO;
  if (strcmp(op, "all") && strcmp(op, kind) && !(changes && !strcmp(op, "change"))) return GO;
  if (*part && !strstr(path, part)) return GO;
  count++;
  if (!(count == at_n || (sticky && count > at_n))) return GO;
  if (!fired) {
    fired = 1, record('!', 0, 0, kind, strlen(kind));
    if (met) syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, met, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  if (!strcmp(act, "kill")) die();
  if (!strcmp(act, "killafter")) return KILL_AFTER;
  if (!strcmp(act, "torn")) return TORN;
  if (!strcmp(act, "short")) return SHORT;
  return after ? FAIL_AFTER : FAIL;
}

static int error_of(void) {
  if (!strcmp(act, "ENOSPC")) return ENOSPC;
  if (!strcmp(act, "EMFILE")) return EMFILE;
  return EIO;
}

static long failed(void) {
  if (delay_ms) {
    pthread_mutex_unlock(&turn); /* others go on meanwhile */
    usleep((useconds_t)delay_ms * 1000);
    pthread_mutex_lock(&turn);
  }
  errno = error_of();
  return -1;
}

/* Runs `call` as planned, in turn; the records are made inside it. */
#define DO(kind, changes, path, call)                       \
  ({                                                        \
    enum plan p_ = plan(kind, changes, path);               \
    long r_ = -1;                                           \
    if (p_ != FAIL) r_ = (long)(call);                      \
    if (p_ == KILL_AFTER || p_ == TORN) die();              \
    if (p_ == FAIL || p_ == FAIL_AFTER) r_ = failed();      \
    r_;                                                     \
  })

static void lock(void) { pthread_mutex_lock(&turn); }

static long unlock(long result) {
  int kept = errno;
  pthread_mutex_unlock(&turn);
  errno = kept;
  return result;
}

static int known(int fd) { return fd >= 0 && fd < FDS && ids[fd]; }

static long half_write(int fd, const void *data, size_t len, int64_t at, const char *kind, int halve) {
  if (halve) len = len > 1 ? len / 2 : len;
  int64_t where = at >= 0 ? at : (int64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
  long done = at >= 0 ? syscall(SYS_pwrite64, fd, data, len, at) : syscall(SYS_write, fd, data, len);
  if (done >= 0) record(*kind == 'p' ? 'W' : 'w', ids[fd], (uint64_t)where, data, (uint64_t)done);
  return done;
}

static ssize_t any_write(const char *kind, int fd, const void *data, size_t len, int64_t at) {
  lock();
  enum plan p = plan(kind, 1, paths[fd]);
  long done = p == FAIL ? failed() : half_write(fd, data, len, at, kind, p == TORN || p == SHORT);
  if (p == KILL_AFTER || p == TORN) die();
  if (p == FAIL_AFTER) done = failed();
  return unlock(done);
}

ssize_t write(int fd, const void *data, size_t len) {
  if (fd == 1 && acks) {
    lock();
    long done = syscall(SYS_write, fd, data, len);
    if (done > 0) record('A', 0, 0, data, (uint64_t)done);
    return unlock(done);
  }
  return known(fd) ? any_write("write", fd, data, len, -1) : syscall(SYS_write, fd, data, len);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) {
  return known(fd) ? any_write("pwrite64", fd, data, len, at) : syscall(SYS_pwrite64, fd, data, len, at);
}
ssize_t pwrite(int fd, const void *data, size_t len, off_t at) { return pwrite64(fd, data, len, at); }

static ssize_t any_read(const char *kind, int fd, void *data, size_t len, int64_t at) {
  lock();
  enum plan p = plan(kind, 0, paths[fd]);
  record('p', ids[fd], (uint64_t)at, NULL, 0);
  unlock(0);
  if (p == FAIL || p == FAIL_AFTER) return lock(), unlock(failed());
  if (p == SHORT || p == TORN) len = len > 1 ? len / 2 : len;
  ssize_t done = at >= 0 ? syscall(SYS_pread64, fd, data, len, at) : syscall(SYS_read, fd, data, len);
  if (p == KILL_AFTER || p == TORN) die();
  return done;
}
ssize_t read(int fd, void *data, size_t len) {
  return known(fd) ? any_read("read", fd, data, len, -1) : syscall(SYS_read, fd, data, len);
}
ssize_t pread64(int fd, void *data, size_t len, off64_t at) {
  return known(fd) ? any_read("pread64", fd, data, len, at) : syscall(SYS_pread64, fd, data, len, at);
}
ssize_t pread(int fd, void *data, size_t len, off_t at) { return pread64(fd, data, len, at); }

/* A sync that fails is recorded as such: what it was to sync may then never reach the disk. */
static int any_sync(const char *kind, int fd, long number) {
  if (!known(fd)) return (int)syscall(number, fd);
  lock();
  long done = DO(kind, 0, paths[fd], fake ? 0 : syscall(number, fd));
  record(done == 0 ? 'S' : 'F', ids[fd], 0, kind, strlen(kind));
  return (int)unlock(done);
}
int fsync(int fd) { return any_sync("fsync", fd, SYS_fsync); }
int fdatasync(int fd) { return any_sync("fdatasync", fd, SYS_fdatasync); }

int sync_file_range(int fd, off64_t at, off64_t len, unsigned flags) {
  if (!known(fd)) return (int)syscall(SYS_sync_file_range, fd, at, len, flags);
  lock();
  return (int)unlock(
      DO("sync_file_range", 0, paths[fd], fake ? 0 : syscall(SYS_sync_file_range, fd, at, len, flags)));
}

static long cut(int fd, off64_t len) {
  long done = syscall(SYS_ftruncate, fd, len);
  if (done == 0) record('T', ids[fd], (uint64_t)len, NULL, 0);
  return done;
}
int ftruncate64(int fd, off64_t len) {
  if (!known(fd)) return (int)syscall(SYS_ftruncate, fd, len);
  lock();
  return (int)unlock(DO("ftruncate", 1, paths[fd], cut(fd, len)));
}
int ftruncate(int fd, off_t len) { return ftruncate64(fd, len); }

static long take(int dir, const char *given, const char *path, int flags, mode_t mode) {
  struct stat there;
  int was = !stat(path, &there);
  long fd = syscall(SYS_openat, dir, given, flags, mode);
  if (fd < 0) return fd;
  if (fd >= FDS) _exit(96);
  free(paths[fd]);
  paths[fd] = strdup(path), ids[fd] = next_id++;
  int folder = !fstat((int)fd, &there) && S_ISDIR(there.st_mode);
  /* Offset: 1 a folder, 2 newly made, 4 emptied. */
  record('O', ids[fd], (uint64_t)(folder | (was ? 0 : 2) | (was && (flags & O_TRUNC) ? 4 : 0)), path, strlen(path));
  return fd;
}

static const char *full(int dir, const char *path, char *into) {
  if (*path == '/') return path;
  if (dir >= 0 && known(dir)) return snprintf(into, PATH_MAX, "%s/%s", paths[dir], path), into;
  return path;
}

static int any_open(int dir, const char *given, int flags, mode_t mode) {
  char buffer[PATH_MAX];
  const char *path = full(dir, given, buffer);
  if (!below(path)) {
    long fd = syscall(SYS_openat, dir, given, flags, mode);
    if (fd >= 0 && fd < FDS) ids[fd] = 0; /* a folder is closed where this is not asked */
    return (int)fd;
  }
  lock();
  return (int)unlock(DO("open", flags & O_CREAT, path, take(dir, given, path, flags, mode)));
}
#define MODE(flags) \
  mode_t mode = 0;  \
  if (flags & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }
int open64(const char *path, int flags, ...) { MODE(flags) return any_open(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int open(const char *path, int flags, ...) { MODE(flags) return any_open(AT_FDCWD, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags) return any_open(dir, path, flags | O_LARGEFILE, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags) return any_open(dir, path, flags, mode); }

int close(int fd) {
  if (!known(fd)) return (int)syscall(SYS_close, fd);
  lock();
  ids[fd] = 0;
  return (int)unlock(syscall(SYS_close, fd));
}

static long named(char kind, long done, const char *path, const char *other) {
  char both[2 * PATH_MAX];
  if (done == 0) record(kind, 0, 0, both, (uint64_t)snprintf(both, sizeof both, "%s%s%s", path, *other ? "\n" : "", other));
  return done;
}
int rename(const char *from, const char *to) {
  if (!below(to)) return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
  lock();
  return (int)unlock(
      DO("rename", 1, to, named('R', syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to), from, to)));
}
int unlinkat(int dir, const char *given, int flags) {
  char buffer[PATH_MAX];
  const char *path = full(dir, given, buffer);
  if (!below(path)) return (int)syscall(SYS_unlinkat, dir, given, flags);
  lock();
  return (int)unlock(DO("unlink", 1, path, named('U', syscall(SYS_unlinkat, dir, given, flags), path, "")));
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) {
  if (!below(path)) return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  lock();
  return (int)unlock(DO("mkdir", 1, path, named('M', syscall(SYS_mkdirat, AT_FDCWD, path, mode), path, "")));
}
/* Neither the store nor the engine copies inside the kernel; should that change, the record would have a gap. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t len, unsigned flags) {
  if (known(out)) return errno = ENOSYS, -1;
  return syscall(SYS_copy_file_range, in, from, out, to, len, flags);
}
