/*
 * trace.h - reading traces: one file, or a folder of one file per process
 *
 * What is damaged is noted and skipped; only a file that cannot be opened, is
 * no trace at all, or has a newer schema is an error.
 */
#ifndef TRAINCHECK_TRACE_H
#define TRAINCHECK_TRACE_H

#include <stddef.h>

#include <traincheck/error.h>
#include <traincheck/record.h>

/* Things a reader met that a person should know: one note per (file, code), with a count. */
struct tc_note {
    const char *code; /* "torn-tail", "bad-json", ...: docs/trace-format.md */
    const char *file; /* name of the file inside its folder */
    uint64_t line;    /* of the first occurrence; 0 if it has none */
    uint64_t count;
    char text[200]; /* one plain sentence about the first occurrence */
};

struct tc_notes; /* a growing list; owns its strings */

struct tc_notes *tc_notes_new(void);
void tc_notes_free(struct tc_notes *notes);
TC_PRINTF(5, 6)
void tc_notes_add(struct tc_notes *notes, const char *code, const char *file, uint64_t line,
                  const char *fmt, ...);
size_t tc_notes_count(const struct tc_notes *notes);
const struct tc_note *tc_notes_get(const struct tc_notes *notes, size_t i);

struct tc_trace_file;

/*
 * Open one trace file (.jsonl.zst, or plain .jsonl) and parse its process record.
 * TC_E_NOTFOUND, TC_E_IO; TC_E_FORMAT if it is no trace (empty, foreign, no process record);
 * TC_E_VERSION if its schema is above TC_TRACE_SCHEMA (the text names both numbers).
 * notes is borrowed and must outlive the file.
 */
enum tc_status tc_trace_file_open(const char *path, struct tc_notes *notes,
                                  struct tc_trace_file **out, struct tc_error *err);
void tc_trace_file_close(struct tc_trace_file *file);

/*
 * The next record after the process record, valid until the next call; TC_END after the last whole
 * line. Called again after TC_END it looks whether the file has grown. Reads ahead by one frame.
 * A file that ends within a frame or a line is noted as torn; when the rest has come, the note is
 * taken back at the next TC_END.
 */
enum tc_status tc_trace_file_next(struct tc_trace_file *file, const struct tc_record **out,
                                  struct tc_error *err);

/* The process record: lives as long as the file. */
const struct tc_record *tc_trace_file_process(const struct tc_trace_file *file);
const char *tc_trace_file_name(const struct tc_trace_file *file);
/* Bytes read and bytes of JSON decoded so far, for progress and throughput. */
uint64_t tc_trace_file_bytes(const struct tc_trace_file *file);
uint64_t tc_trace_file_json_bytes(const struct tc_trace_file *file);

struct tc_trace_folder;

/*
 * Open every trace file of a folder (or a single file given by its path), in order of name.
 * Files that are no traces are noted; TC_E_NOTFOUND if none is left, TC_E_VERSION at once.
 */
enum tc_status tc_trace_folder_open(const char *path, struct tc_notes *notes,
                                    struct tc_trace_folder **out, struct tc_error *err);
void tc_trace_folder_close(struct tc_trace_folder *folder);
size_t tc_trace_folder_n_files(const struct tc_trace_folder *folder);
struct tc_trace_file *tc_trace_folder_file(const struct tc_trace_folder *folder, size_t i);

/*
 * The next record of all files in order of wall-clock time (the anchor of each process plus t),
 * ties by file; the order within a file is kept even where its times go back. *file_index says
 * whose it is.
 */
enum tc_status tc_trace_folder_next(struct tc_trace_folder *folder, size_t *file_index,
                                    const struct tc_record **out, struct tc_error *err);

#endif /* TRAINCHECK_TRACE_H */
