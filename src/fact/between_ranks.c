/* SPDX-License-Identifier: Apache-2.0 */
/*
 * between_ranks.c - whether ranks hand the same numbers and contents to a call, or have the same
 * returned
 *
 * The n-th time that a call of the script has an operand, or a result, on one rank is held against
 * the n-th time on the others: batches and noise are to differ, a loss that was reduced and what is
 * drawn for all alike are to be the same. It is reported once a run, of its first occasions.
 */
#include "fact/between_ranks.h"

#include <stdlib.h>

#include "base/hash.h"
#include "fact/occasion.h"
#include "fact/table.h"
#include "fact/tensor_content.h"
#include "fact/walk.h"
#include "trace/member.h"

/* Occasions that are kept of each, the first ones. */
#define MAX_OCCASIONS 64
/* Ranks beyond are not compared: what they had wrong shows in the first. */
#define MAX_RANKS 16

struct meeting {
    struct tc_facts *facts;
    struct tc_fact_watch *watch;
    const struct tc_call *call;
    uint32_t subject;
};

/* Of a tensor its digest, or the number that is all of it; false where neither is known. */
static bool read(const struct tc_value *value, uint32_t *hash, bool *is_content)
{
    const struct tc_str digest = tc_value_str(tc_value_get(value, "digest"));
    double number;

    *is_content = digest.text != NULL;
    if (*is_content)
        *hash = (uint32_t)tc_hash64(digest.text, digest.size, 0);
    else if (tc_value_number(tc_is_tensor(value) ? tc_value_get(value, "value") : value, &number))
        *hash = (uint32_t)tc_hash64(&number, sizeof(number), 1);
    else
        return false;
    return true;
}

static struct tc_fact_shared *shared_at(struct tc_fact_watch *w, uint32_t subject, tc_sym path)
{
    bool is_new;
    uint64_t *place = tc_map_at(&w->shared_places, (uint64_t)subject << 32 | path, &is_new);

    if (is_new) {
        *place = w->shared.n;
        tc_vec_push(&w->shared, ((struct tc_fact_shared){.subject = subject, .path = path}));
    }
    return &w->shared.items[*place];
}

static void meet(void *context, const char *path, const struct tc_value *value)
{
    const struct meeting *m = context;
    struct tc_fact_table *table = &m->facts->table;
    uint32_t hash;
    bool is_content;

    if (!read(value, &hash, &is_content))
        return;
    const tc_sym name = tc_strtab_intern_text(table->symbols, path);
    if (tc_fact_table_slot(table, m->subject, name, TC_ATTRIBUTE_RANKS) == UINT32_MAX)
        return;
    struct tc_fact_shared *shared = shared_at(m->watch, m->subject, name);
    if (shared->occasions.n == MAX_OCCASIONS)
        return;
    shared->is_content |= is_content;
    shared->is_seed |= m->call->role == TC_ROLE_SEED;
    tc_vec_push(&shared->occasions,
                ((struct tc_fact_shared_occasion){hash, tc_call_at(m->call), m->call->step}));
}

void tc_fact_meet_ranks(struct tc_facts *facts, struct tc_fact_watch *w, uint32_t subject,
                        const struct tc_call *call, const char *path, const struct tc_value *value)
{
    struct meeting m = {facts, w, call, subject};

    if (w->process->world > 1 && w->process->rank >= 0 && w->process->rank < MAX_RANKS &&
        tc_fact_is_of_script(call))
        tc_fact_walk(value, path, meet, &m);
}

/* ---- at the end of a run -------------------------------------------------------------------- */

static bool is_compared(const struct tc_fact_watch *w)
{
    const struct tc_process *process = w->process;

    return process->world > 1 && process->rank >= 0 && process->rank < MAX_RANKS && w->n_windows &&
           tc_fact_is_whole(process);
}

static int by_rank(const void *a, const void *b)
{
    const struct tc_fact_watch *x = *(struct tc_fact_watch *const *)a;
    const struct tc_fact_watch *y = *(struct tc_fact_watch *const *)b;

    return x->process->rank < y->process->rank ? -1 : x->process->rank > y->process->rank;
}

/* Each rank once, in their order; 0 where one has several processes, as of a job that was started
 * again, where some are missing, or have digests of another algorithm. */
static size_t find_ranks(const struct tc_facts *facts, struct tc_fact_watch **ranks)
{
    size_t n = 0;

    for (size_t i = 0; i < facts->all.n; i++) {
        if (!is_compared(facts->all.items[i]))
            continue;
        if (n == MAX_RANKS)
            return 0;
        ranks[n++] = facts->all.items[i];
    }
    qsort(ranks, n, sizeof(*ranks), by_rank);
    for (size_t i = 0; i < n; i++)
        if (ranks[i]->process->rank != (int64_t)i ||
            ranks[i]->process->digest != ranks[0]->process->digest)
            return 0;
    return n && (int64_t)n ==
                       (ranks[0]->process->world < MAX_RANKS ? ranks[0]->process->world : MAX_RANKS)
               ? n
               : 0;
}

struct comparison {
    size_t n, n_same, first_other;
    bool is_sure;       /* of contents, or of so many different numbers */
    bool is_sure_other; /* of so many occasions */
};

/* A content is unlike another one for certain, a number by chance: of those several different ones
 * are asked for. */
static bool has_many(const struct tc_fact_shared *s)
{
    uint32_t known[TC_FACT_OFTEN];
    unsigned n = 0;

    for (size_t i = 0; i < s->occasions.n && n < TC_FACT_OFTEN; i++) {
        unsigned j = 0;
        while (j < n && known[j] != s->occasions.items[i].hash)
            j++;
        if (j == n)
            known[n++] = s->occasions.items[i].hash;
    }
    return n == TC_FACT_OFTEN;
}

static const struct tc_fact_shared *find_shared(const struct tc_fact_watch *w,
                                                const struct tc_fact_shared *like)
{
    uint64_t place;

    return tc_map_get(&w->shared_places, (uint64_t)like->subject << 32 | like->path, &place)
               ? &w->shared.items[place]
               : NULL;
}

/* False where a rank has none of it, or another number of them: it does something else. */
static bool compare(struct tc_fact_watch *const *ranks, size_t n_ranks,
                    const struct tc_fact_shared *first, struct comparison *out)
{
    const struct tc_fact_shared *all[MAX_RANKS] = {first};

    *out = (struct comparison){.n = first->occasions.n, .first_other = first->occasions.n};
    out->is_sure = first->is_content || first->is_seed || has_many(first);
    out->is_sure_other = out->is_sure && (first->is_seed || first->occasions.n >= TC_FACT_OFTEN);
    for (size_t r = 1; r < n_ranks; r++) {
        all[r] = find_shared(ranks[r], first);
        if (!all[r] || all[r]->occasions.n != first->occasions.n)
            return false;
    }
    for (size_t i = 0; i < first->occasions.n; i++) {
        bool is_same = true;
        for (size_t r = 1; r < n_ranks; r++)
            is_same &= all[r]->occasions.items[i].hash == first->occasions.items[i].hash;
        out->n_same += is_same;
        if (!is_same && out->first_other == first->occasions.n)
            out->first_other = i;
    }
    return true;
}

/* Learning, of what is now the same and now not nothing is claimed. Judging, some that are another
 * are no breach where all are. */
static const char *outcome_of(const struct tc_facts *facts, const struct comparison *c)
{
    if (c->n_same == c->n)
        return c->is_sure ? TC_FACT_RANKS_SAME : NULL;
    if (facts->table.is_judging || c->n_same * TC_FACT_PARTS < c->n)
        return facts->table.is_judging || c->is_sure_other ? TC_FACT_RANKS_OTHER : NULL;
    return TC_FACT_SOME;
}

void tc_fact_compare_ranks(struct tc_facts *facts)
{
    struct tc_fact_watch *ranks[MAX_RANKS];
    const size_t n = find_ranks(facts, ranks);

    for (size_t i = 0; n > 1 && i < ranks[0]->shared.n; i++) {
        const struct tc_fact_shared *first = &ranks[0]->shared.items[i];
        struct tc_subject subject = tc_fact_table_subject_at(&facts->table, first->subject);
        struct comparison c;
        const char *outcome = compare(ranks, n, first, &c) ? outcome_of(facts, &c) : NULL;
        if (!outcome)
            continue;
        struct tc_place place = tc_fact_end_of(ranks[0]);
        const struct tc_fact_shared_occasion *at =
            &first->occasions.items[c.first_other < c.n ? c.first_other : 0];
        place.at = at->at;
        place.step = at->step;
        tc_fact_say(facts, &subject, first->path, TC_ATTRIBUTE_RANKS, outcome);
        tc_fact_settle_said(facts, 1, 0, &place);
    }
}
