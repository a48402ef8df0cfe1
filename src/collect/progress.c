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

#include "base/strbuf.h"
#include "base/terminal.h"
#include "collect/board.h"
#include "collect/thread.h"

#define PERIOD_NS 500000000L

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool stopping;
    pid_t pid;                    /* the process that has the thread; 0: none */
    struct tc_terminal_line line; /* of the thread, while there is one */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .line = {.fd = STDERR_FILENO}};

static void show(struct tc_strbuf *text)
{
    struct tc_board_totals totals;

    tc_board_sum(&totals);
    tc_strbuf_reset(text);
    tc_strbuf_adds(text, "traincheck-collect: ");
    tc_board_describe(text, &totals);
    tc_terminal_draw(&progress.line, text->text);
}

static void *run(void *unused)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    (void)unused;
    pthread_mutex_lock(&progress.lock);
    while (!progress.stopping) {
        tc_thread_wait(&progress.stop, &progress.lock, PERIOD_NS);
        show(&text);
    }
    pthread_mutex_unlock(&progress.lock);
    tc_strbuf_release(&text);
    return NULL;
}

void tc_progress_start(void)
{
    if (!tc_terminal_redraws(STDERR_FILENO))
        return;
    progress.stopping = false;
    tc_thread_cond_init(&progress.stop);
    if (tc_thread_start(&progress.thread, run))
        progress.pid = getpid();
}

void tc_progress_stop(void)
{
    if (progress.pid != getpid())
        return;
    pthread_mutex_lock(&progress.lock);
    progress.stopping = true;
    pthread_cond_signal(&progress.stop);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    progress.pid = 0;
    tc_terminal_erase(&progress.line);
}
