/* SPDX-License-Identifier: Apache-2.0 */
/*
 * board.c - counters in shared memory that every traced process of a run adds to
 *
 * All is atomic and nothing is locked, as a process may be killed at any instruction. A process
 * adds the difference to what it told last, so sums stay right after a fork (tc_board_forked).
 * Failures are told once, first come. Where no shared memory can be had `own` takes its place. The
 * path leads below /proc to a descriptor, whose number may be another file's by now: what is
 * opened is checked first.
 */
#include "collect/board.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#define MAGIC     UINT64_C(0x647261426b636355)
#define MAX_FILES 4096 /* of which the board knows more than their sum */

enum failure {
    FAILURE_NONE,
    FAILURE_WRITING,
    FAILURE_WRITTEN
};

struct told_file {
    _Atomic uint64_t id, bytes;
};

#define MAX_GROUPS   16
#define N_CHOICES    64 /* so far a replica may be behind the others */
#define BITS_OF_STEP 36

/* The replicas of a job. */
struct group {
    _Atomic uint64_t replicas; /* 0: the row is free */
    _Atomic uint64_t wanted;
    _Atomic uint64_t choices[N_CHOICES]; /* the number plus 1, and the step */
};

struct board {
    uint64_t magic;
    _Atomic uint64_t processes, passed_by, files, steps, calls, records, dropped, errors, bytes;
    _Atomic uint64_t budget_steps, budget_traced, budget_spent, budget_worked;
    _Atomic uint64_t lost_below, lost_from; /* steps: last + 1, and UINT64_MAX - first */
    atomic_bool has_torch;
    _Atomic int failure_state; /* enum failure */
    char failure[sizeof(((struct tc_board_totals *)0)->failure)];
    _Atomic uint64_t n_told;
    struct told_file told[MAX_FILES];
    struct group groups[MAX_GROUPS];
    char program[512], next[1024]; /* written before any process is started */
};

static struct board own; /* where the system gives none */
static struct board *board = &own;
static struct tc_board_totals told; /* by this process */
static struct told_file *mine_told; /* its row of the board; NULL: none yet */

static struct board *map(int fd)
{
    void *found = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return found == MAP_FAILED ? NULL : found;
}

/* Where files may not be that large, a signal would end us. */
static bool set_size(int fd)
{
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    int rc = ftruncate(fd, sizeof(struct board));

    signal(SIGXFSZ, old);
    return rc == 0;
}

static int make_file(bool survives_exec)
{
    int fd = tc_fs_move_away(memfd_create("traincheck-board", MFD_CLOEXEC));

    if (fd >= 0 && !set_size(fd)) {
        close(fd);
        return -1;
    }
    if (fd >= 0 && survives_exec)
        fcntl(fd, F_SETFD, 0);
    return fd;
}

char *tc_board_make(bool survives_exec)
{
    struct tc_strbuf path = TC_STRBUF_INIT;
    int fd = make_file(survives_exec);
    struct board *found = fd < 0 ? NULL : map(fd);

    if (!found)
        return NULL;
    board = found;
    board->magic = MAGIC;
    tc_strbuf_addf(&path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    return tc_strbuf_take(&path);
}

static void keep_text(char *to, size_t size, const char *text)
{
    if (text && strlen(text) < size)
        snprintf(to, size, "%s", text);
}

void tc_board_announce(const char *program, const char *next)
{
    keep_text(board->program, sizeof(board->program), program);
    keep_text(board->next, sizeof(board->next), next);
}

const char *tc_board_next(const struct tc_board_totals *totals, int exit_status)
{
    const bool is_wanted = totals->calls && board->next[0] && exit_status <= 0;

    return is_wanted && isatty(STDERR_FILENO) ? board->next : NULL;
}

/* The path may lead elsewhere by now: to another file, or into another process. */
static bool is_board(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
           info.st_size == (off_t)sizeof(struct board);
}

/* It has survived the exec that it was meant to: no program below is to see it. */
static void keep_own(const char *path)
{
    long pid;
    int fd;

    if (sscanf(path, "/proc/%ld/fd/%d", &pid, &fd) == 2 && pid == (long)getpid())
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void tc_board_open(const char *path)
{
    int fd = is_board(path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct board *found = fd < 0 ? NULL : map(fd);

    if (fd >= 0)
        close(fd);
    if (found && found->magic == MAGIC) {
        board = found;
        keep_own(path);
    } else if (found) {
        munmap(found, sizeof(*found));
    }
}

void tc_board_join(void)
{
    atomic_fetch_add(&board->processes, 1);
}

void tc_board_pass_by(void)
{
    atomic_fetch_add(&board->passed_by, 1);
}

static void raise_to(_Atomic uint64_t *value, uint64_t n)
{
    uint64_t old = atomic_load(value);

    while (old < n && !atomic_compare_exchange_weak(value, &old, n))
        ;
}

static void tell_failure(const char *text)
{
    int none = FAILURE_NONE;

    if (!atomic_compare_exchange_strong(&board->failure_state, &none, FAILURE_WRITING))
        return;
    snprintf(board->failure, sizeof(board->failure), "%s", text);
    atomic_store(&board->failure_state, FAILURE_WRITTEN);
}

/* The row of this process, made when it first has a file; NULL where the board is full. */
static struct told_file *own_row(const struct tc_board_totals *mine)
{
    uint64_t at;

    if (mine_told || !mine->files || told.files)
        return mine_told;
    at = atomic_fetch_add(&board->n_told, 1);
    mine_told = at < MAX_FILES ? &board->told[at] : NULL;
    if (mine_told)
        atomic_store(&mine_told->id, mine->file_id);
    return mine_told;
}

static void tell_file(const struct tc_board_totals *mine)
{
    struct told_file *row = own_row(mine);

    if (row)
        atomic_store(&row->bytes, mine->bytes);
}

bool tc_board_told_of(uint64_t file_id, uint64_t *bytes)
{
    uint64_t n = atomic_load(&board->n_told);

    for (uint64_t i = 0; i < n && n <= MAX_FILES; i++) {
        if (atomic_load(&board->told[i].id) != file_id)
            continue;
        *bytes = atomic_load(&board->told[i].bytes);
        return true;
    }
    return false;
}

void tc_board_tell(const struct tc_board_totals *mine)
{
    tell_file(mine);
    atomic_fetch_add(&board->files, mine->files - told.files);
    atomic_fetch_add(&board->calls, mine->calls - told.calls);
    atomic_fetch_add(&board->records, mine->records - told.records);
    atomic_fetch_add(&board->dropped, mine->dropped - told.dropped);
    atomic_fetch_add(&board->errors, mine->errors - told.errors);
    atomic_fetch_add(&board->bytes, mine->bytes - told.bytes);
    raise_to(&board->steps, mine->steps);
    raise_to(&board->budget_steps, mine->budget_steps);
    raise_to(&board->budget_traced, mine->budget_traced);
    atomic_fetch_add(&board->budget_spent, mine->budget_spent - told.budget_spent);
    atomic_fetch_add(&board->budget_worked, mine->budget_worked - told.budget_worked);
    if (mine->has_lost_steps) {
        raise_to(&board->lost_below, mine->last_lost + 1);
        raise_to(&board->lost_from, UINT64_MAX - mine->first_lost);
    }
    if (mine->has_torch)
        atomic_store(&board->has_torch, true);
    if (mine->failure[0])
        tell_failure(mine->failure);
    told = *mine;
}

void tc_board_forked(void)
{
    told = (struct tc_board_totals){0};
    mine_told = NULL;
}

/* NULL where the process is alone, or the board is full. */
static struct group *group_of(uint64_t replicas)
{
    for (size_t i = 0; replicas && i < MAX_GROUPS; i++) {
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(&board->groups[i].replicas, &found, replicas) ||
            found == replicas)
            return &board->groups[i];
    }
    return NULL;
}

uint64_t tc_board_choose(uint64_t replicas, uint64_t number, uint64_t step, uint64_t distance)
{
    struct group *group = group_of(replicas);
    _Atomic uint64_t *choice = group ? &group->choices[number % N_CHOICES] : NULL;
    const uint64_t mine = (number + 1) << BITS_OF_STEP | step;
    uint64_t found = choice ? atomic_load(choice) : 0;

    if (!choice || step >> BITS_OF_STEP)
        return step;
    while (found >> BITS_OF_STEP <= number)
        if (atomic_compare_exchange_weak(choice, &found, mine)) {
            atomic_store(&group->wanted, 0);
            return step;
        }
    if (found >> BITS_OF_STEP > number + 1)
        return step;
    raise_to(&group->wanted, distance);
    return found & ((UINT64_C(1) << BITS_OF_STEP) - 1);
}

uint64_t tc_board_wanted(uint64_t replicas)
{
    struct group *group = group_of(replicas);

    return group ? atomic_load(&group->wanted) : 0;
}

void tc_board_sum(struct tc_board_totals *out)
{
    *out = (struct tc_board_totals){
        .processes = atomic_load(&board->processes),
        .passed_by = atomic_load(&board->passed_by),
        .files = atomic_load(&board->files),
        .steps = atomic_load(&board->steps),
        .calls = atomic_load(&board->calls),
        .records = atomic_load(&board->records),
        .dropped = atomic_load(&board->dropped),
        .errors = atomic_load(&board->errors),
        .bytes = atomic_load(&board->bytes),
        .budget_steps = atomic_load(&board->budget_steps),
        .budget_traced = atomic_load(&board->budget_traced),
        .budget_spent = atomic_load(&board->budget_spent),
        .budget_worked = atomic_load(&board->budget_worked),
        .has_torch = atomic_load(&board->has_torch),
        .has_lost_steps = atomic_load(&board->lost_below) > 0,
        .first_lost = UINT64_MAX - atomic_load(&board->lost_from),
        .last_lost = atomic_load(&board->lost_below) - 1,
    };
    if (atomic_load(&board->failure_state) == FAILURE_WRITTEN)
        memcpy(out->failure, board->failure, sizeof(out->failure));
}

static void add_count(struct tc_strbuf *out, uint64_t n, const char *what)
{
    tc_strbuf_addf(out, "%llu %s%s", (unsigned long long)n, what, n == 1 ? "" : "s");
}

static void add_size(struct tc_strbuf *out, uint64_t bytes)
{
    if (bytes < 10000)
        tc_strbuf_addf(out, "%llu bytes", (unsigned long long)bytes);
    else if (bytes < 10000000)
        tc_strbuf_addf(out, "%.1f kB", (double)bytes / 1e3);
    else
        tc_strbuf_addf(out, "%.1f MB", (double)bytes / 1e6);
}

/* " (after the warm-up 11 of 74 traced, which added 1.9 % of time)" */
static void add_budget(struct tc_strbuf *out, const struct tc_board_totals *totals)
{
    if (totals->budget_steps)
        tc_strbuf_addf(out, " (after the warm-up %llu of %llu traced, which added %.1f %% of time)",
                       (unsigned long long)totals->budget_traced,
                       (unsigned long long)totals->budget_steps,
                       100.0 * (double)totals->budget_spent / (double)totals->budget_worked);
}

void tc_board_describe(struct tc_strbuf *out, const struct tc_board_totals *totals)
{
    add_count(out, totals->steps, "step");
    add_budget(out, totals);
    tc_strbuf_adds(out, ", ");
    add_count(out, totals->records, "record");
    tc_strbuf_adds(out, ", ");
    add_size(out, totals->bytes);
    if (totals->files > 1)
        tc_strbuf_addf(out, " of %llu processes", (unsigned long long)totals->files);
}

bool tc_board_has_losses(const struct tc_board_totals *totals)
{
    return totals->dropped || totals->errors || totals->failure[0];
}

static void add_why_nothing(struct tc_strbuf *out, const struct tc_board_totals *totals)
{
    tc_strbuf_adds(out, "; nothing was traced: ");
    if (!totals->processes)
        tc_strbuf_adds(out, "no Python process loaded the agent: none ran, its environment was "
                            "cleared, or it ran with -I, -E or -S");
    else if (totals->has_torch)
        tc_strbuf_adds(out, "no traced API was called");
    else if (board->program[0])
        tc_strbuf_addf(out, "torch was not imported by %s (--python names another interpreter)",
                       board->program);
    else
        tc_strbuf_adds(out, "torch was not imported");
}

void tc_board_describe_losses(struct tc_strbuf *out, const struct tc_board_totals *totals)
{
    if (!totals->calls && !totals->failure[0])
        add_why_nothing(out, totals);
    if (totals->passed_by) {
        tc_strbuf_adds(out, "; not traced: ");
        add_count(out, totals->passed_by, "start");
        tc_strbuf_adds(out, " of Python without the job's environment, or with -I, -E or -S");
    }
    if (totals->failure[0])
        tc_strbuf_addf(out, "; tracing ended early: %s", totals->failure);
    if (totals->dropped) {
        tc_strbuf_adds(out, "; lost: ");
        add_count(out, totals->dropped, "record");
        if (totals->has_lost_steps)
            tc_strbuf_addf(out, " of the steps %llu to %llu",
                           (unsigned long long)totals->first_lost,
                           (unsigned long long)totals->last_lost);
    }
    if (totals->errors) {
        tc_strbuf_adds(out, "; ");
        add_count(out, totals->errors, "error");
        tc_strbuf_adds(out, " of tracing, see the notes in the trace");
    }
}
