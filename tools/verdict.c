/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - the exit status of a check, and why it is 3
 */
#include "verdict.h"

#include <inttypes.h>

enum {
    EXIT_NONE,
    EXIT_VIOLATIONS,
    EXIT_UNKNOWN = 3 /* nothing was found, but what was not looked at may be wrong */
};

/* A check that judged nothing must not look like one that found nothing. */
static bool is_unjudged(const struct tc_check_result *r)
{
    return r->n_failed + r->n_passed + r->n_suppressed == 0;
}

static uint64_t n_counted(const struct check_options *options, const struct tc_check_result *r)
{
    return options->fail_on == CHECK_FAIL_ON_MULTI    ? r->n_multi_failed
           : options->fail_on == CHECK_FAIL_ON_LAW    ? r->n_failed - r->n_settings - r->n_remarks
           : options->fail_on == CHECK_FAIL_ON_REMARK ? r->n_failed
                                                      : r->n_failed - r->n_remarks;
}

int verdict_exit_status(const struct check_options *options, const struct tc_check_result *r)
{
    uint64_t counted = n_counted(options, r);

    if (counted && *r->other_script)
        return EXIT_UNKNOWN;
    if (counted && !options->exit_zero)
        return EXIT_VIOLATIONS;
    if (is_unjudged(r) || (!counted && r->damaged))
        return EXIT_UNKNOWN;
    return options->strict && (r->damaged || r->n_unchecked) ? EXIT_UNKNOWN : EXIT_NONE;
}

static const char *why_unjudged(const struct tc_check_result *r)
{
    if (r->n_invariants == 0)
        return r->n_sets ? "no shipped set is for this run"
                         : "the invariant files hold no invariant";
    if (r->damaged)
        return "the trace is damaged";
    if (r->n_calls == 0)
        return "the trace holds no call: did the script import torch, and did the disk have room?";
    if (r->n_unchecked == r->n_invariants)
        return "the trace lacks what the invariants need: unchecked.log of the reports says what";
    if (r->n_windows == 0)
        return "the trace holds no training step, and no invariant met what it speaks of";
    return "no invariant met what it speaks of: are these the invariants of this script?";
}

void verdict_say(struct tc_app *app, const struct check_options *options,
                 const struct tc_check_result *r)
{
    if (app->exit_status != EXIT_UNKNOWN)
        return;
    if (*r->other_script)
        tc_app_error(
            app,
            "the invariants are of another script (exit status 3): %s; what broke says how "
            "the two differ",
            r->other_script);
    else if (is_unjudged(r))
        tc_app_error(app, "nothing was judged (exit status 3): %s", why_unjudged(r));
    else if (r->damaged)
        tc_app_error(app, "nothing was found, but the trace is damaged (exit status 3)%s",
                     options->quiet ? ": without -q the notes say where" : "");
    else
        tc_app_error(app,
                     "--strict: %" PRIu64 " invariant%s stayed unchecked (exit status 3): "
                     "%s/unchecked.log says why",
                     r->n_unchecked, r->n_unchecked == 1 ? "" : "s", options->output_dir);
}
