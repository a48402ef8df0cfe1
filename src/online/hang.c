/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.c - open calls by process, and what they say of each other
 *
 * A rank waits if it is inside a collective call, and no other rank has entered more of them: one
 * that is behind is waited for, wherever it is.
 */
#include "online/hang.h"

#include <stdlib.h>
#include <string.h>

#include "base/safe.h"
#include "online/flight.h"
#include "online/rank_list.h"
#include "trace/role.h"

struct open_call {
    int64_t id;
    tc_sym fn, at; /* at: of the call of the script that it is a part of */
    enum tc_role role;
};

struct standing {
    TC_VEC(struct open_call) open;
    struct open_call last; /* the last that has ended; fn TC_NO_SYM: none has */
    int64_t step;
    uint64_t n_entered; /* collective calls so far */
    bool has_ended;
};

struct tc_hang {
    struct tc_strtab *names;
    struct tc_map roles; /* fn -> role, as api records say */
    TC_VEC(struct standing) files;
};

struct tc_hang *tc_hang_new(void)
{
    struct tc_hang *hang = tc_calloc(1, sizeof(*hang));

    hang->names = tc_strtab_new();
    return hang;
}

void tc_hang_free(struct tc_hang *hang)
{
    if (!hang)
        return;
    for (size_t i = 0; i < hang->files.n; i++)
        tc_vec_release(&hang->files.items[i].open);
    tc_vec_release(&hang->files);
    tc_map_release(&hang->roles);
    tc_strtab_free(hang->names);
    tc_free(hang);
}

/* ---- records ------------------------------------------------------------------------------- */

static tc_sym name(struct tc_hang *hang, struct tc_str text)
{
    return text.text ? tc_strtab_intern(hang->names, text.text, text.size) : TC_NO_SYM;
}

static void enter(struct tc_hang *hang, struct standing *s, const struct tc_record *record)
{
    uint64_t role = TC_ROLE_FUNCTION;
    struct open_call call = {
        .id = record->id, .fn = name(hang, record->fn), .at = name(hang, record->at)};

    tc_map_get(&hang->roles, call.fn, &role);
    call.role = (enum tc_role)role;
    if (call.at == TC_NO_SYM && s->open.n)
        call.at = s->open.items[s->open.n - 1].at;
    s->n_entered += call.role == TC_ROLE_COLLECTIVE;
    tc_vec_push(&s->open, call);
}

/* Calls inside it of which the return is missing have ended, too. */
static void leave(struct standing *s, int64_t id)
{
    for (size_t i = s->open.n; i-- > 0;)
        if (s->open.items[i].id == id) {
            s->last = s->open.items[i];
            s->open.n = i;
            return;
        }
}

void tc_hang_feed(struct tc_hang *hang, size_t file, const struct tc_record *record)
{
    while (hang->files.n <= file)
        tc_vec_push(&hang->files, ((struct standing){.last.fn = TC_NO_SYM, .step = -1}));
    struct standing *s = &hang->files.items[file];
    const bool is_main = record->th == TC_NONE || record->th == 0;

    if (record->type == TC_RECORD_API)
        tc_map_put(&hang->roles, name(hang, record->fn), tc_role_parse(record->role));
    else if (record->type == TC_RECORD_CALL && is_main)
        enter(hang, s, record);
    else if (record->type == TC_RECORD_RETURN || record->type == TC_RECORD_RAISE)
        leave(s, record->id);
    else if (record->type == TC_RECORD_END)
        s->has_ended = true;
    if (record->step != TC_NONE)
        s->step = record->step;
}

/* ---- how the ranks stand ------------------------------------------------------------------- */

struct rank {
    int64_t number;
    const struct standing *standing;
    const struct tc_process *process;
    const struct open_call *waits; /* in which it waits; NULL: it does not */
};

struct ranks {
    TC_VEC(struct rank) items;
    struct tc_map by_number;
    size_t n_waiting;
    const struct open_call *where; /* of the first that waits */
};

/* Of several processes of a rank the last one counts. */
static void add_rank(struct ranks *ranks, const struct standing *standing,
                     const struct tc_process *process)
{
    bool is_new;
    const int64_t number = process->rank < 0 ? 0 : process->rank;
    uint64_t *slot = tc_map_at(&ranks->by_number, (uint64_t)number, &is_new);

    if (is_new) {
        *slot = ranks->items.n;
        tc_vec_push(&ranks->items, ((struct rank){.number = number}));
    }
    struct rank *rank = &ranks->items.items[*slot];
    if (!rank->process || process->unix_ns > rank->process->unix_ns) {
        rank->standing = standing;
        rank->process = process;
    }
}

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

static const struct open_call *find_open(const struct standing *s, enum tc_role role)
{
    for (size_t i = s->open.n; i-- > 0;)
        if (s->open.items[i].role == role && !s->has_ended)
            return &s->open.items[i];
    return NULL;
}

static void find_waiting(struct ranks *ranks, enum tc_role role)
{
    uint64_t most = 0;

    for (size_t i = 0; i < ranks->items.n; i++) {
        struct rank *rank = &ranks->items.items[i];
        rank->waits = find_open(rank->standing, role);
        if (rank->waits && rank->standing->n_entered > most)
            most = rank->standing->n_entered;
    }
    for (size_t i = 0; i < ranks->items.n; i++) {
        struct rank *rank = &ranks->items.items[i];
        if (rank->waits && rank->standing->n_entered < most)
            rank->waits = NULL;
        ranks->n_waiting += rank->waits != NULL;
        if (!ranks->where)
            ranks->where = rank->waits;
    }
}

/* ---- words --------------------------------------------------------------------------------- */

/* "all_reduce()" of torch.distributed.all_reduce */
static void add_call(const struct tc_hang *hang, tc_sym fn, struct tc_strbuf *out)
{
    const char *text = fn == TC_NO_SYM ? "?" : tc_strtab_text(hang->names, fn);
    const char *dot = strrchr(text, '.');

    tc_strbuf_addf(out, "%s()", dot ? dot + 1 : text);
}

/* Those that wait, or the others. */
static void add_ranks(const struct ranks *ranks, bool waiting, struct tc_strbuf *out)
{
    TC_VEC(int64_t) numbers = {0};

    for (size_t i = 0; i < ranks->items.n; i++)
        if ((ranks->items.items[i].waits != NULL) == waiting)
            tc_vec_push(&numbers, ranks->items.items[i].number);
    tc_rank_list_add(numbers.items, numbers.n, out);
    tc_vec_release(&numbers);
}

static void add_sentence(const struct tc_hang *hang, const struct ranks *ranks,
                         struct tc_strbuf *out)
{
    const size_t n = ranks->items.n, n_missing = n - ranks->n_waiting;

    if (!ranks->n_waiting) {
        tc_strbuf_adds(out, n == 1 ? "the run does not go on"
                                   : "no rank goes on, and none waits in a collective call");
        return;
    }
    if (n_missing) {
        add_ranks(ranks, false, out);
        tc_strbuf_adds(out, n_missing == 1 ? " is not in " : " are not in ");
    } else {
        tc_strbuf_addf(out, "all %zu ranks wait in ", n);
    }
    add_call(hang, ranks->where->fn, out);
    if (n_missing) {
        tc_strbuf_adds(out, ", in which ");
        add_ranks(ranks, true, out);
        tc_strbuf_adds(out, ranks->n_waiting == 1 ? " waits" : " wait");
    }
}

/* Where a rank is: in a call, behind one, or at its end. */
static const struct open_call *call_of_rank(const struct rank *rank)
{
    const struct standing *s = rank->standing;

    if (rank->waits)
        return rank->waits;
    return s->open.n ? &s->open.items[s->open.n - 1] : &s->last;
}

static struct tc_json *rank_to_json(const struct tc_hang *hang, const struct rank *rank)
{
    const struct standing *s = rank->standing;
    const struct open_call *place = call_of_rank(rank);
    struct tc_strbuf call = TC_STRBUF_INIT;
    struct tc_json *object = tc_json_object();

    tc_json_set_number(object, "rank", (double)rank->number);
    tc_json_set_bool(object, "waits", rank->waits != NULL);
    tc_json_set_string(object, "is",
                       s->has_ended             ? "ended"
                       : s->open.n              ? "in"
                       : place->fn != TC_NO_SYM ? "behind"
                                                : "silent");
    if (place->fn != TC_NO_SYM) {
        add_call(hang, place->fn, &call);
        tc_json_set_string(object, "call", call.text);
        if (place->at != TC_NO_SYM)
            tc_json_set_string(object, "at", tc_strtab_text(hang->names, place->at));
    }
    if (s->step >= 0)
        tc_json_set_number(object, "step", (double)s->step);
    tc_json_set_number(object, "collectives", (double)s->n_entered);
    tc_strbuf_release(&call);
    return object;
}

/* Whom to look at first: one who is waited for. */
static const struct rank *first_to_look_at(const struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->items.n; i++)
        if (!ranks->items.items[i].waits)
            return &ranks->items.items[i];
    return ranks->items.n ? &ranks->items.items[0] : NULL;
}

static void set_place(const struct tc_hang *hang, const struct rank *rank, uint64_t quiet_s,
                      struct tc_json *object)
{
    const struct open_call *place = call_of_rank(rank);
    struct tc_strbuf when = TC_STRBUF_INIT;

    if (place->fn != TC_NO_SYM && place->at != TC_NO_SYM)
        tc_json_set_string(object, "at", tc_strtab_text(hang->names, place->at));
    tc_strbuf_addf(&when, "nothing has come for %llu s", (unsigned long long)quiet_s);
    tc_json_set_string(object, "when", when.text);
    if (rank->standing->step >= 0)
        tc_json_set_number(object, "step", (double)rank->standing->step);
    tc_json_set_number(object, "rank", (double)rank->number);
    tc_strbuf_release(&when);
}

static struct tc_json *to_json(const struct tc_hang *hang, const struct ranks *ranks,
                               uint64_t quiet_s, const char *trace)
{
    struct tc_json *object = tc_json_object(), *array = tc_json_array();
    struct tc_strbuf sentence = TC_STRBUF_INIT;

    add_sentence(hang, ranks, &sentence);
    tc_json_set_string(object, "kind", "hang");
    tc_json_set_string(object, "sentence", sentence.text);
    if (ranks->items.n)
        set_place(hang, first_to_look_at(ranks), quiet_s, object);
    tc_json_set_string(object, "trace", trace);
    for (size_t i = 0; i < ranks->items.n; i++)
        tc_json_append(array, rank_to_json(hang, &ranks->items.items[i]));
    tc_json_set(object, "ranks", array);
    tc_json_set(object, "told", tc_json_array());
    tc_json_set_number(object, "n_violations", 0);
    tc_json_set(object, "violations", tc_json_array());
    tc_strbuf_release(&sentence);
    return object;
}

/* Launchers have no rank: where others have one they are none of them. */
static void add_ranks_of(struct ranks *ranks, const struct tc_hang *hang, size_t n,
                         const struct tc_process *(*process)(void *context, size_t i),
                         void *context)
{
    bool has_ranks = false;

    for (size_t i = 0; i < n && i < hang->files.n; i++) {
        const struct tc_process *p = process(context, i);
        has_ranks |= p && !p->is_worker && p->rank >= 0;
    }
    for (size_t i = 0; i < n && i < hang->files.n; i++) {
        const struct tc_process *p = process(context, i);
        if (p && !p->is_worker && (p->rank >= 0 || !has_ranks))
            add_rank(ranks, &hang->files.items[i], p);
    }
    if (ranks->items.n)
        qsort(ranks->items.items, ranks->items.n, sizeof(*ranks->items.items), compare_ranks);
}

struct tc_json *tc_hang_finding(const struct tc_hang *hang, size_t n,
                                const struct tc_process *(*process)(void *context, size_t i),
                                void *context, uint64_t quiet_s, const char *trace)
{
    struct ranks ranks = {.by_number = TC_MAP_INIT};

    add_ranks_of(&ranks, hang, n, process, context);
    find_waiting(&ranks, TC_ROLE_COLLECTIVE);
    if (!ranks.n_waiting)
        find_waiting(&ranks, TC_ROLE_BACKWARD);
    struct tc_json *finding = to_json(hang, &ranks, quiet_s, trace);
    tc_vec_release(&ranks.items);
    tc_map_release(&ranks.by_number);
    return finding;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void add_text(struct tc_strbuf *out, const char *before, const struct tc_json *node)
{
    if (!tc_json_text(node))
        return;
    tc_strbuf_adds(out, before);
    tc_safe_adds(out, TC_SAFE_LINE, tc_json_text(node));
}

/* "in all_reduce() at train.py:30" */
static void add_place(struct tc_strbuf *out, const struct tc_json *rank)
{
    const char *is = tc_json_text(tc_json_get(rank, "is"));

    if (!strcmp(is, "ended")) {
        tc_strbuf_adds(out, "has ended");
    } else if (!strcmp(is, "silent")) {
        tc_strbuf_adds(out, "has made no call");
    } else {
        tc_strbuf_adds(out, is);
        add_text(out, " ", tc_json_get(rank, "call"));
        add_text(out, " at ", tc_json_get(rank, "at"));
    }
}

/* Ranks that are at the same place have one line, where the first of them stands. */
static void add_lines(struct tc_strbuf *out, const struct tc_json *ranks)
{
    struct tc_strtab *places = tc_strtab_new();
    struct tc_strbuf place = TC_STRBUF_INIT;
    TC_VEC(struct tc_strbuf) lines = {0};
    TC_VEC(size_t) counts = {0};

    for (const struct tc_json *r = tc_json_first(ranks); r; r = tc_json_next(r)) {
        tc_strbuf_reset(&place);
        add_place(&place, r);
        const size_t at = tc_strtab_find(places, place.text, place.size);
        const size_t i = at == TC_NO_SYM ? lines.n : at;
        if (i == lines.n) {
            tc_strtab_intern(places, place.text, place.size);
            tc_vec_push(&lines, (struct tc_strbuf)TC_STRBUF_INIT);
            tc_vec_push(&counts, 0);
        }
        if (counts.items[i]++ < TC_RANK_LIST_MAX)
            tc_strbuf_addf(&lines.items[i], "%s%.0f", counts.items[i] > 1 ? ", " : "",
                           tc_json_to_number(tc_json_get(r, "rank"), 0));
    }
    for (size_t i = 0; i < lines.n; i++) {
        const size_t more =
            counts.items[i] > TC_RANK_LIST_MAX ? counts.items[i] - TC_RANK_LIST_MAX : 0;
        tc_strbuf_addf(out, "      rank%s %s", counts.items[i] == 1 ? "" : "s",
                       lines.items[i].text);
        if (more)
            tc_strbuf_addf(out, " and %zu more", more);
        tc_strbuf_addf(out, ": %s\n", tc_strtab_text(places, (tc_sym)i));
        tc_strbuf_release(&lines.items[i]);
    }
    tc_vec_release(&lines);
    tc_vec_release(&counts);
    tc_strbuf_release(&place);
    tc_strtab_free(places);
}

void tc_hang_text(const struct tc_json *finding, struct tc_strbuf *out)
{
    add_text(out, "", tc_json_get(finding, "at"));
    tc_strbuf_adds(out, tc_json_get(finding, "at") ? "  " : "");
    add_text(out, "", tc_json_get(finding, "sentence"));
    add_text(out, "; ", tc_json_get(finding, "when"));
    if (tc_json_get(finding, "step"))
        tc_strbuf_addf(out, ", in step %.0f", tc_json_to_number(tc_json_get(finding, "step"), 0));
    tc_strbuf_addc(out, '\n');
    add_lines(out, tc_json_get(finding, "ranks"));
    tc_flight_text(finding, out);
}
