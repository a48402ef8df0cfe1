/* SPDX-License-Identifier: Apache-2.0 */
/*
 * departed_run.h - where the runs of a check depart from the healthy ones
 *
 * A departure is what differs at one edited place of the script: differences of one hunk of its
 * sources, or of hunks that changed the same word, are one. An edit of which nothing that is
 * recorded tells, as of numbers of Python, is a departure, too, with one difference that says so.
 * What differs where nothing was edited belongs to the first departure that was; where no such
 * difference is, it is one departure, from the first on.
 */
#ifndef TC_FINDING_DEPARTED_RUN_H
#define TC_FINDING_DEPARTED_RUN_H

#include "compare/script_edit.h"
#include "compare/two_runs.h"

enum tc_departure_kind {
    TC_DEPARTURE_OF_EDIT, /* something differs at an edited place */
    TC_DEPARTURE_SILENT,  /* it was edited, and nothing differs there */
    TC_DEPARTURE_LOOSE,   /* nothing was edited there */
};

struct tc_departure {
    enum tc_departure_kind kind;
    TC_VEC(const struct tc_difference *) differences; /* in order; the first leads */
    const struct tc_difference *edit; /* says that lines were edited, no more; NULL: none was */
    struct tc_map words;              /* of its edits (tc_words_of_edit()) */
    bool is_computed; /* an edit computes another way, and does not choose another number */
};

/* One run beside the healthy ones. */
struct tc_departed_run {
    const char *trace;
    struct tc_compare_config config; /* what the comparison borrows */
    struct tc_comparison comparison;
    TC_VEC(struct tc_departure) departures; /* by kind, then by their first differences */
    bool is_made, is_comparable;
    struct tc_error other; /* says of which program it is, if not of that of the healthy runs */
    uint64_t n_steps;      /* that were asked for */
    bool is_whole;         /* and that were there */
};

struct tc_departures;

struct tc_departures *tc_departures_new(const char *const *traces, size_t n_traces,
                                        const char *const *invariants, size_t n_invariants);
void tc_departures_free(struct tc_departures *departures);

/* Those of the run of that name, as far as so many steps; NULL where there is no excerpt, or it
 * cannot be compared. */
const struct tc_departed_run *tc_departures_of(struct tc_departures *departures, const char *trace,
                                               uint64_t n_steps, struct tc_notes *notes);

/* Where each invariant file has excerpts, and a run that was compared is of another program than
 * they: a sentence with the names of both. Else NULL. Valid as long as the departures. */
const char *tc_departures_other(const struct tc_departures *departures);

/* For each departure of the run, how much of the words its edits have (compare/script_edit.h). The
 * caller frees them. */
double *tc_departures_words(const struct tc_departed_run *run, const struct tc_map *words);

#endif /* TC_FINDING_DEPARTED_RUN_H */
