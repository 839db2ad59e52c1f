/*
 * holdfast-launch starts a training container: under the supervisor where a test has passed that it
 * runs there, and with the trainer's own command where it does not. It links no library, so it runs
 * in every image for this processor.
 *
 *   holdfast-launch --install FOLDER SUPERVISOR   copies itself and the supervisor into the folder
 *   holdfast-launch --check SUPERVISOR            test-runs it, and notes that it passed
 *   holdfast-launch --require SUPERVISOR          the same; fails where it did not pass
 *   holdfast-launch SUPERVISOR OPTION... -- COMMAND...
 *
 * The container's arguments follow COMMAND, so nothing of it is changed, and nothing is quoted. The
 * launcher becomes the program that it starts, so that signals reach that program.
 */

#define NULL ((void *)0)
enum { ENOENT = 2, EACCES = 13, ENOTDIR = 20, ENAMETOOLONG = 36, EINTR = 4 };
enum { O_RDONLY = 0, O_WRONLY = 1, O_CREAT = 0100, O_TRUNC = 01000, O_CLOEXEC = 02000000 };
enum { CALL_WRITE = 1, CALL_OPEN = 2, CALL_CLOSE = 3, CALL_ACCESS = 21, CALL_ALARM = 37, CALL_SENDFILE = 40, CALL_FORK = 57 };
enum { CALL_EXECVE = 59, CALL_EXIT = 60, CALL_WAIT4 = 61, CALL_RENAME = 82, CALL_FCHMOD = 91, CALL_STATFS = 137 };
enum { EXIT_FAILED = 1, EXIT_USAGE = 64, EXIT_LATER = 75, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };
enum { PATH_BYTES = 4096, PIECE = 1 << 20, CHECK_SECONDS = 120, NOEXEC = 8 };

static const char PASSED[] = ".passed";
static const char MESSAGE_FILE[] = "/dev/termination-log";
/* What the container runtimes use. */
static const char DEFAULT_PATH[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static long call(long number, long a, long b, long c, long d) {
  long result;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
}

static long length(const char *text) {
  long count = 0;
  while (text[count] != 0) count++;
  return count;
}

static int is_same(const char *a, const char *b) {
  while (*a != 0 && *a == *b) a++, b++;
  return *a == *b;
}

/* A text of bounded length; what does not fit makes it too long. */
struct text {
  char bytes[PATH_BYTES];
  long used;
  int is_too_long;
};

static struct text *add_bytes(struct text *to, const char *from, long count) {
  if (to->used + count >= PATH_BYTES) {
    to->is_too_long = 1;
    return to;
  }
  for (long index = 0; index < count; index++) to->bytes[to->used++] = from[index];
  to->bytes[to->used] = 0;
  return to;
}

static struct text *add(struct text *to, const char *from) { return add_bytes(to, from, length(from)); }

static struct text *add_number(struct text *to, long value) {
  char digits[20];
  long at = sizeof digits;
  do digits[--at] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  return add_bytes(to, digits + at, (long)sizeof digits - at);
}

static struct text *begin_text(struct text *to) {
  to->used = 0;
  to->is_too_long = 0;
  to->bytes[0] = 0;
  return to;
}

static struct text path, said;

static void say(const struct text *line) {
  call(CALL_WRITE, 2, (long)line->bytes, line->used, 0);
  call(CALL_WRITE, 2, (long)"\n", 1, 0);
}

static __attribute__((noreturn)) void leave(int code) {
  for (;;) call(CALL_EXIT, code, 0, 0, 0);
}

/* Ends with a message that the operator reads from the status of the container. */
static __attribute__((noreturn)) void leave_saying(int code) {
  long file = call(CALL_OPEN, (long)MESSAGE_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC, 0, 0);
  if (file >= 0) call(CALL_WRITE, file, (long)said.bytes, said.used, 0);
  say(&said);
  leave(code);
}

static __attribute__((noreturn)) void refuse(const char *what, const char *name, long error) {
  add(add(add(begin_text(&said), "FAILED: cannot "), what), name);
  add_number(add(&said, " (error "), -error);
  add(&said, ")");
  leave_saying(EXIT_FAILED);
}

/* Copies an executable under another name first, so that it is there whole or not at all. */
static void copy(const char *from, const char *folder, const char *name) {
  add(add(add(begin_text(&path), folder), "/"), name);
  static struct text unfinished;
  add(add(begin_text(&unfinished), path.bytes), ".unfinished");
  if (path.is_too_long || unfinished.is_too_long) refuse("write to ", folder, -ENAMETOOLONG);
  long in = call(CALL_OPEN, (long)from, O_RDONLY | O_CLOEXEC, 0, 0);
  if (in < 0) refuse("read ", from, in);
  long out = call(CALL_OPEN, (long)unfinished.bytes, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600, 0);
  if (out < 0) refuse("write ", unfinished.bytes, out);
  long sent;
  while ((sent = call(CALL_SENDFILE, out, in, (long)NULL, PIECE)) > 0) continue;
  if (sent < 0) refuse("copy ", from, sent);
  long failed = call(CALL_FCHMOD, out, 0555, 0, 0);
  call(CALL_CLOSE, out, 0, 0, 0);
  call(CALL_CLOSE, in, 0, 0, 0);
  if (failed == 0) failed = call(CALL_RENAME, (long)unfinished.bytes, (long)path.bytes, 0, 0);
  if (failed < 0) refuse("write ", path.bytes, failed);
}

static __attribute__((noreturn)) void install(const char *folder, const char *supervisor) {
  copy("/proc/self/exe", folder, "holdfast-launch");
  copy(supervisor, folder, "holdfast-run");
  long facts[32];
  /* The tenth number of the answer holds the flags of the mount. */
  if (call(CALL_STATFS, (long)folder, (long)facts, 0, 0) == 0 && (facts[10] & NOEXEC) != 0) {
    add(begin_text(&said), "NOEXEC: the emptyDir volumes of this node are mounted with noexec");
    leave_saying(EXIT_FAILED);
  }
  leave(0);
}

static int has_passed(const char *supervisor) {
  add(add(begin_text(&path), supervisor), PASSED);
  return !path.is_too_long && call(CALL_ACCESS, (long)path.bytes, 0, 0, 0) == 0;
}

static __attribute__((noreturn)) void check(const char *supervisor, char **envp, int is_required) {
  long child = call(CALL_FORK, 0, 0, 0, 0);
  if (child == 0) {
    const char *arguments[] = {supervisor, "--version", NULL};
    call(CALL_ALARM, CHECK_SECONDS, 0, 0, 0);
    long error = call(CALL_EXECVE, (long)supervisor, (long)arguments, (long)envp, 0);
    leave(error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
  }
  int status = 0;
  long ended = child;
  if (child > 0) {
    do ended = call(CALL_WAIT4, child, (long)&status, 0, 0);
    while (ended == -EINTR);
  }
  if (ended < 0) refuse("start ", supervisor, ended);
  if (status != 0) {
    add(begin_text(&said), "NOT_RUNNABLE: the supervisor does not run in this image: ");
    if ((status & 0x7f) != 0) add_number(add(&said, "it was killed by signal "), status & 0x7f);
    else add_number(add(&said, "it ended with exit code "), (status >> 8) & 0xff);
    leave_saying(is_required ? EXIT_FAILED : 0);
  }
  add(add(begin_text(&path), supervisor), PASSED);
  long file = path.is_too_long ? -ENAMETOOLONG : call(CALL_OPEN, (long)path.bytes, O_WRONLY | O_CREAT | O_CLOEXEC, 0444, 0);
  if (file < 0) refuse("write ", path.bytes, file);
  leave(0);
}

static const char *search_path(char **envp) {
  for (; *envp != NULL; envp++) {
    const char *entry = *envp;
    if (entry[0] == 'P' && entry[1] == 'A' && entry[2] == 'T' && entry[3] == 'H' && entry[4] == '=') return entry + 5;
  }
  return DEFAULT_PATH;
}

/* Becomes the command as a container runtime would have started it; returns the error. */
static long become(char **command, char **envp) {
  const char *name = command[0];
  for (const char *at = name; *at != 0; at++)
    if (*at == '/') return call(CALL_EXECVE, (long)name, (long)command, (long)envp, 0);
  long error = -ENOENT;
  for (const char *from = search_path(envp);;) {
    long count = 0;
    while (from[count] != 0 && from[count] != ':') count++;
    add(add(count == 0 ? add(begin_text(&path), ".") : add_bytes(begin_text(&path), from, count), "/"), name);
    long tried = path.is_too_long ? -ENAMETOOLONG : call(CALL_EXECVE, (long)path.bytes, (long)command, (long)envp, 0);
    if (tried != -ENOENT && tried != -ENOTDIR) error = tried;
    if (tried != -ENOENT && tried != -ENOTDIR && tried != -EACCES) return tried;
    if (from[count] == 0) return error;
    from += count + 1;
  }
}

static __attribute__((noreturn)) void start(char **arguments, char **envp) {
  char **command = arguments;
  while (*command != NULL && !is_same(*command, "--")) command++;
  if (*command == NULL || command[1] == NULL) {
    say(add(begin_text(&said), "holdfast-launch: usage: holdfast-launch SUPERVISOR OPTION... -- COMMAND..."));
    leave(EXIT_USAGE);
  }
  int is_supervised = has_passed(arguments[0]);
  char **chosen = is_supervised ? arguments : command + 1;
  long error = is_supervised ? call(CALL_EXECVE, (long)chosen[0], (long)chosen, (long)envp, 0) : become(chosen, envp);
  add(add(begin_text(&said), "holdfast-launch: cannot start "), chosen[0]);
  say(add(add_number(add(&said, " (error "), -error), ")"));
  /* The supervisor has run here a moment ago: another try may help. */
  leave(is_supervised ? EXIT_LATER : error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

__attribute__((noreturn, used)) static void begin(long *stack) {
  long count = stack[0];
  char **arguments = (char **)(stack + 1);
  char **envp = arguments + count + 1;
  if (count == 4 && is_same(arguments[1], "--install")) install(arguments[2], arguments[3]);
  if (count == 3 && is_same(arguments[1], "--check")) check(arguments[2], envp, 0);
  if (count == 3 && is_same(arguments[1], "--require")) check(arguments[2], envp, 1);
  start(count == 0 ? arguments : arguments + 1, envp);
}

__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call begin\n");
