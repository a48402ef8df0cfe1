/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surprise.c - how unlikely it is that a fact broke by chance, and only in the judged run
 *
 * A fact that breaks by chance does so in any window. That all k windows which break it are among
 * the w of the judged run, and none is among the n in which it held while runs were learned from,
 * has the chance (w / (w + n))^k. The run may go on: it is taken to be as long as those learned
 * from were on average, or as far as it has come. Of w the fact is met in as large a part as it was
 * in the runs learned from, but for k at least. A part of the breaches may tell more than all of
 * them.
 */
#include "fact/surprise.h"

#include <math.h>

double tc_fact_surprise(const struct tc_fact_record *learned, const uint64_t *windows, size_t n)
{
    const double of = (double)learned->windows.of;
    const bool is_once = learned->windows.met <= learned->n_runs;
    double most = 0;

    if (n && (!learned->windows.of || !learned->n_runs))
        return INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double k = (double)(i + 1);
        const double by_length = is_once
                                     ? (double)learned->n_runs
                                     : fmin((double)learned->n_runs, of / ((double)windows[i] + 1));
        const double by_occasion = (double)learned->windows.met / k;
        most = fmax(most, k * log2(1 + fmin(by_length, by_occasion)));
    }
    return most;
}
