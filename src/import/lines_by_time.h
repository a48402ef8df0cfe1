/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines_by_time.h - the records of one file of the Python tool, in order of time
 *
 * Its variable trackers write the time of the change and not that of the writing, so times go back
 * within a file. A window of lines is held back and sorted; what comes later than that is handed
 * out late and noted.
 */
#ifndef TC_IMPORT_LINES_BY_TIME_H
#define TC_IMPORT_LINES_BY_TIME_H

#include <traincheck/trace.h>

#define TC_LINES_HELD_BACK 64

struct tc_lines_by_time;

/* One record; what it points to lives until the next one is asked for. */
struct tc_python_line {
    const struct tc_value *object;
    struct tc_str type;
    int64_t time, process, thread;
    uint64_t number; /* line of the file, from 1 */
};

enum tc_status tc_lines_by_time_open(const char *path, struct tc_notes *notes,
                                     struct tc_lines_by_time **out, struct tc_error *err);
void tc_lines_by_time_close(struct tc_lines_by_time *lines);

/* TC_END after the last whole line; asked again it looks whether the file has grown. What is no
 * record is noted ("bad-json", "bad-record", "torn-tail") and skipped. */
enum tc_status tc_lines_by_time_next(struct tc_lines_by_time *lines, struct tc_python_line *out,
                                     struct tc_error *err);

/* As tc_trace_file_is_waiting and tc_trace_file_park; lines that are held back stay. */
bool tc_lines_by_time_is_waiting(const struct tc_lines_by_time *lines);
void tc_lines_by_time_park(struct tc_lines_by_time *lines);

const char *tc_lines_by_time_name(const struct tc_lines_by_time *lines);
uint64_t tc_lines_by_time_bytes(const struct tc_lines_by_time *lines);
uint64_t tc_lines_by_time_json_bytes(const struct tc_lines_by_time *lines);

/* Is the object a record of the Python tool? If not, *why says what it lacks. */
bool tc_python_line_parse(const struct tc_value *object, struct tc_python_line *out,
                          const char **why);

#endif /* TC_IMPORT_LINES_BY_TIME_H */
