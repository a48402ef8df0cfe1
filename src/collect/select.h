/*
 * select.h - what the agent is told: one environment variable of lines key=value
 */
#ifndef TC_COLLECT_SELECT_H
#define TC_COLLECT_SELECT_H

#include "base/strbuf.h"
#include "collect/collect.h"
#include <traincheck/error.h>

#define TC_SETTINGS_VARIABLE "TRAINCHECK_COLLECT"

/*
 * Render the settings of a run. output_dir is absolute; the closing line is left to the process
 * main_pid (0: to the caller). TC_E_USAGE for options that this version does not have.
 */
enum tc_status tc_select_settings(const struct tc_collect_config *config, const char *output_dir,
                                  const char *inject, long main_pid, struct tc_strbuf *out,
                                  struct tc_error *err);

#endif /* TC_COLLECT_SELECT_H */
