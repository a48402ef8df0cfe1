/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_told.c - what --hang-after finds, live or afterwards, is reported alike
 */
#include "hang_told.h"

#include <time.h>

#include "base/clock.h"
#include "online/hang.h"
#include "online/standstill.h"

enum {
    EXIT_VIOLATIONS = 1
};

void hang_tell(struct tc_app *app, const struct check_options *options, struct track *track,
               const struct tc_json *finding)
{
    struct tc_strbuf json = TC_STRBUF_INIT, text = TC_STRBUF_INIT;

    tc_json_print(finding, &json);
    tc_strbuf_addc(&json, '\n');
    tc_hang_text(finding, &text);
    tc_strbuf_addc(&text, '\n');
    track_tell(track, json.text, json.size);
    if (options->json)
        tc_app_write(app, json.text, json.size);
    else
        tc_app_write(app, text.text, text.size);
    tc_strbuf_release(&json);
    tc_strbuf_release(&text);
}

void hang_end(struct tc_app *app, const struct check_options *options)
{
    if (!options->exit_zero)
        app->exit_status = EXIT_VIOLATIONS;
}

struct looking {
    struct tc_app *app;
    const struct check_options *options;
    struct track *track;
    uint64_t n_findings;
    size_t n_told;
};

static void found(void *context, struct tc_json *finding)
{
    struct looking *looking = context;

    looking->n_told++;
    tc_json_set_number(finding, "finding", (double)(looking->n_findings + looking->n_told));
    hang_tell(looking->app, looking->options, looking->track, finding);
}

static bool go_on(void *context)
{
    (void)context;
    return !tc_app_interrupted();
}

enum tc_status hang_look(struct tc_app *app, const struct check_options *options,
                         struct track *track, uint64_t n_findings, size_t *n_told,
                         struct tc_notes *notes, struct tc_error *err)
{
    struct looking looking = {app, options, track, n_findings, 0};
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < options->traces.n && options->hang_after_s && !status; i++) {
        const struct tc_standstill_config config = {
            .trace = options->traces.items[i],
            .after_s = options->hang_after_s,
            .now_ns = (int64_t)time(NULL) * INT64_C(1000000000),
            .found = found,
            .go_on = go_on,
            .context = &looking,
        };
        status = tc_standstill_find(&config, notes, err);
    }
    *n_told = looking.n_told;
    return status;
}
