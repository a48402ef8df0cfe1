/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - a thread that redraws one line of the board
 *
 * It waits on a condition and so ends at once when it is told to. After a fork the child has no
 * thread and knows it by the pid. Writes may fail: nobody is told.
 */
#include "collect/progress.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/strbuf.h"
#include "collect/board.h"
#include "collect/thread.h"

#define PERIOD_NS 500000000L

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool stopping;
    pid_t pid; /* the process that has the thread; 0: none */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void show(struct tc_strbuf *line)
{
    struct tc_board_totals totals;

    tc_board_sum(&totals);
    tc_strbuf_reset(line);
    tc_strbuf_adds(line, "\r\033[Ktraincheck-collect: ");
    tc_board_describe(line, &totals);
    tc_strbuf_addc(line, '\r');
    tc_fs_write_all(STDERR_FILENO, line->text, line->size);
}

static void *run(void *unused)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    (void)unused;
    pthread_mutex_lock(&progress.lock);
    while (!progress.stopping) {
        tc_thread_wait(&progress.stop, &progress.lock, PERIOD_NS);
        show(&line);
    }
    pthread_mutex_unlock(&progress.lock);
    tc_strbuf_release(&line);
    return NULL;
}

void tc_progress_start(void)
{
    if (!isatty(STDERR_FILENO))
        return;
    progress.stopping = false;
    tc_thread_cond_init(&progress.stop);
    if (tc_thread_start(&progress.thread, run))
        progress.pid = getpid();
}

void tc_progress_stop(void)
{
    static const char clear[] = "\r\033[K";

    if (progress.pid != getpid())
        return;
    pthread_mutex_lock(&progress.lock);
    progress.stopping = true;
    pthread_cond_signal(&progress.stop);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    progress.pid = 0;
    tc_fs_write_all(STDERR_FILENO, clear, sizeof(clear) - 1);
}
