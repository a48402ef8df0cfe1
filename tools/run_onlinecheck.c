/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_onlinecheck.c - traincheck-onlinecheck: the options as a configuration, violations to
 * trackers, and how the check stands as one line
 */
#include "track.h"

#include <inttypes.h>

#include "base/clock.h"
#include "hang_told.h"
#include "online/loop.h"
#include "online/online.h"
#include "trace/bytes.h"

struct onlinecheck {
    struct tc_app *app;
    const struct check_options *options;
    struct track track;
    uint64_t told_ns; /* when trackers were told how the check stands */
    bool is_hung;     /* once */
};

/* Between two times that trackers are told how the check stands. */
#define TELL_EACH_NS 5000000000U

static void found(void *context, const char *json, size_t size)
{
    track_tell(context, json, size);
}

static void say(void *context, const char *line)
{
    tc_app_say(context, "%s", line);
}

static bool is_for_trackers(const struct onlinecheck *online)
{
    return online->track.fd >= 0 && tc_clock_ns() - online->told_ns >= TELL_EACH_NS;
}

static bool is_due(void *context)
{
    const struct onlinecheck *online = context;

    return is_for_trackers(online) || tc_app_is_progress_due(online->app);
}

static void hide(void *context)
{
    tc_app_hide_progress(((struct onlinecheck *)context)->app);
}

/* 1,240 */
static void add_whole(struct tc_strbuf *out, uint64_t n)
{
    if (n >= 1000) {
        add_whole(out, n / 1000);
        tc_strbuf_addf(out, ",%03" PRIu64, n % 1000);
    } else {
        tc_strbuf_addf(out, "%" PRIu64, n);
    }
}

/* 0.0, 12.3, 1,240; with hundredths also 0.05, of what is never below 0 */
static void add_number(struct tc_strbuf *out, double x, bool has_hundredths)
{
    if (x >= 99.95)
        add_whole(out, (uint64_t)(x + 0.5));
    else
        tc_strbuf_addf(out, has_hundredths && x >= 0.005 && x < 0.995 ? "%.2f" : "%.1f", x);
}

static void tell_trackers(struct onlinecheck *online, const struct tc_online_standing *s)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    online->told_ns = tc_clock_ns();
    tc_strbuf_addf(&line, "{\"standing\":{\"step\":%" PRId64 ",\"lag_s\":%.3f}}\n", s->step,
                   s->lag_s);
    track_tell(&online->track, line.text, line.size);
    tc_strbuf_release(&line);
}

static void show_line(struct tc_app *app, const struct tc_online_standing *s)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, "step ");
    add_whole(&text, (uint64_t)s->step);
    tc_strbuf_adds(&text, "  ");
    add_number(&text, s->steps_per_s, true);
    tc_strbuf_adds(&text, " steps/s  ");
    add_whole(&text, s->n_findings);
    tc_strbuf_adds(&text, s->n_findings == 1 ? " finding  lag " : " findings  lag ");
    add_number(&text, s->lag_s, false);
    tc_strbuf_adds(&text, " s");
    tc_app_show_progress(app, "%s", text.text);
    tc_strbuf_release(&text);
}

static void show(void *context, const struct tc_online_standing *s)
{
    struct onlinecheck *online = context;

    if (is_for_trackers(online))
        tell_trackers(online, s);
    if (tc_app_is_progress_due(online->app))
        show_line(online->app, s);
}

static void tell_hang(void *context, const struct tc_json *finding)
{
    struct onlinecheck *online = context;

    online->is_hung = true;
    hang_tell(online->app, online->options, &online->track, finding);
}

enum tc_status onlinecheck_run(struct tc_app *app, void *options_, struct tc_error *err)
{
    struct check_options *options = options_;
    struct tc_check_result result = {0};
    const char *folder = options->watch      ? options->watch
                         : options->traces.n ? options->traces.items[0]
                                             : "";
    if (tc_bytes_is_remote(folder))
        return tc_error_set(
            err, TC_E_USAGE,
            "%s: a live check follows a folder of this machine; libtraincheck.check() "
            "of the Python package reads paths with a scheme",
            folder);
    if (options->watch)
        return check_watch(app, options, err);
    tc_loop_use_own_memory();
    enum tc_status status = check_begin(app, options, err);
    if (status != TC_OK)
        return status;

    struct tc_notes *notes = tc_notes_new();
    struct tc_online_config config = {
        .check = check_config(app, options),
        .lateness_s = options->lateness_s,
        .idle_s = options->idle_s,
        .report_interval_s = options->report_interval_s,
        .on_violation = options->on_violation,
        .on_violation_limit_s = options->on_violation_limit_s,
        .state = options->state,
        .say = say,
        .found = found,
    };
    struct onlinecheck online = {.app = app, .options = options};
    const struct tc_online_watch watch = {.is_due = is_due,
                                          .show = show,
                                          .hide = hide,
                                          .hang_after_s = options->hang_after_s,
                                          .hung = tell_hang,
                                          .delete_checked = options->delete_checked,
                                          .context = &online};
    config.check.progress = tc_app_no_progress; /* its standing is shown */
    config.found_context = &online.track;
    track_begin(&online.track, app, options);
    status = tc_online_run_watched(&config, &watch, &result, notes, err);
    track_end(&online.track, status == TC_OK || (status == TC_E_INTERRUPTED && result.n_records));
    check_end(app, options, status, &result, notes);
    if (online.is_hung && !status)
        hang_end(app, options);
    tc_notes_free(notes);
    return status;
}
