/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real_run.c - the rules of operators with doubles
 *
 *     plan_real --rules      the names of all rules
 *     plan_real DIR          run the plan of one rank that lies there; after each operator a line
 *                            LINE TEXT: what its rule cannot do, or its outputs' elements
 */
#include <stdio.h>
#include <string.h>

#include "base/strtab.h"
#include "plan/carry.h"
#include "plan/eval.h"
#include "plan/fill.h"

static void allocate(const struct tc_plan_program *p, tc_el **slots, uint32_t *next, uint32_t until)
{
    for (; *next < p->allocs.n && p->allocs.items[*next].op <= until; ++*next) {
        const struct tc_plan_alloc *a = &p->allocs.items[*next];
        tc_free(slots[a->slot]);
        slots[a->slot] = tc_malloc(((size_t)a->n + 1) * sizeof(**slots));
        for (int64_t i = 0; i < a->n; i++)
            slots[a->slot][i] = TC_EL_UNDEF;
    }
}

static void print_outputs(const struct tc_plan_op *op, tc_el *const *slots)
{
    for (uint32_t k = 0; k < op->n_outs; k++) {
        const struct tc_plan_tensor *t = op->outs[k];
        if (!t)
            continue;
        tc_el *p = tc_malloc(((size_t)t->numel + 1) * sizeof(*p));
        tc_view_gather(slots[t->storage], t, p);
        for (int64_t i = 0; i < t->numel; i++)
            printf(" %.17g", tc_el_to_double(p[i]));
        tc_free(p);
    }
}

static void run(const struct tc_plan_op *op, tc_el **slots, struct tc_arena *scratch)
{
    struct tc_eval e = {.op = op, .storages = slots, .scratch = scratch};

    printf("%llu", (unsigned long long)op->line);
    if (op->rule && op->rule->run)
        op->rule->run(&e);
    else
        tc_eval_fail(&e, "no rule");
    if (*e.failure)
        printf(" cannot: %s", e.failure);
    else
        print_outputs(op, slots);
    putchar('\n');
    tc_arena_reset(scratch);
}

static void run_all(const struct tc_plan_set *set)
{
    const struct tc_plan_rank *rank = &set->ranks[0];
    tc_el **slots = tc_calloc(rank->program->n_slots + 1, sizeof(*slots));
    struct tc_arena scratch = TC_ARENA_INIT;
    uint32_t next = 0;

    allocate(rank->program, slots, &next, 0);
    tc_plan_fill(rank, set->names, 0, slots);
    for (uint32_t i = 0; i < rank->program->ops.n; i++) {
        allocate(rank->program, slots, &next, i + 1);
        run(&rank->program->ops.items[i], slots, &scratch);
    }
    for (uint32_t i = 0; i < rank->program->n_slots; i++)
        tc_free(slots[i]);
    tc_free(slots);
    tc_arena_release(&scratch);
}

int main(int argc, char **argv)
{
    struct tc_strtab *names = tc_strtab_new();
    struct tc_plan_set set = {0};
    struct tc_error err = {0};
    enum tc_status status = TC_OK;
    struct tc_laws *laws = tc_laws_new_doubles(TC_LAWS_DOUBLES, 1);

    tc_laws_enter(laws); /* before the numbers are read */
    if (argc == 2 && !strcmp(argv[1], "--rules")) {
        for (size_t i = 0; tc_rule_get(i); i++)
            puts(tc_rule_get(i)->name);
    } else if (argc == 2) {
        status = tc_plan_read(&set, argv[1], names, &err);
        if (status)
            fprintf(stderr, "%s\n", err.text);
        else
            run_all(&set);
    }
    tc_plan_release(&set);
    tc_strtab_free(names);
    tc_laws_enter(NULL);
    tc_laws_free(laws);
    return argc != 2 || status ? 2 : 0;
}
