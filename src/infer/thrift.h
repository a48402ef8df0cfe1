/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift.h - which APIs a lean set does without
 */
#ifndef TC_INFER_THRIFT_H
#define TC_INFER_THRIFT_H

#include "base/json.h"
#include "base/strtab.h"
#include <traincheck/infer.h>
#include <traincheck/trace.h>

/* What was chosen. */
struct tc_thrift {
    size_t n_apis, n_left_out;
    uint64_t n_records, n_left; /* in the traces, and without the calls that are left out */
};

/* Add to names the APIs whose calls tell least for what they cost, so that about half of the
 * records are left. */
enum tc_status tc_thrift_choose(const char *const *traces, size_t n, struct tc_strtab *names,
                                struct tc_thrift *out, struct tc_error *err);

/* Of a lean file: {"left_out":[names]}, in their order. */
struct tc_json *tc_thrift_to_json(const struct tc_strtab *names);

/* Add what was left out when the traces were taken. */
enum tc_status tc_thrift_told(const char *const *traces, size_t n, struct tc_strtab *names,
                              struct tc_error *err);

/* As tc_infer_run, of traces without what the header of a file leaves out. */
enum tc_status tc_infer_run_as(const struct tc_infer_config *config, const struct tc_json *header,
                               struct tc_infer_result *result, struct tc_notes *notes,
                               struct tc_error *err);

#endif /* TC_INFER_THRIFT_H */
