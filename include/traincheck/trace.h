/* SPDX-License-Identifier: Apache-2.0 */
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

/* A growing list; owns its strings. Wherever one is asked for NULL will do: nobody wants to know.
 */
struct tc_notes;

TC_API struct tc_notes *tc_notes_new(void);
TC_API void tc_notes_free(struct tc_notes *notes);
TC_PRINTF(5, 6)
TC_API void tc_notes_add(struct tc_notes *notes, const char *code, const char *file, uint64_t line,
                         const char *fmt, ...);
TC_API size_t tc_notes_count(const struct tc_notes *notes);
TC_API const struct tc_note *tc_notes_get(const struct tc_notes *notes, size_t i);

struct tc_trace_file;
struct tc_arena; /* base/arena.h */

/*
 * Open one trace file (.jsonl.zst, or plain .jsonl) and parse its process record.
 * TC_E_NOTFOUND, TC_E_IO; TC_E_FORMAT if it is no trace (empty, foreign, no process record);
 * TC_E_VERSION if its schema is above TC_TRACE_SCHEMA (the text names both numbers).
 * notes is borrowed and must outlive the file.
 */
TC_API enum tc_status tc_trace_file_open(const char *path, struct tc_notes *notes,
                                         struct tc_trace_file **out, struct tc_error *err);
TC_API void tc_trace_file_close(struct tc_trace_file *file);
/* The same for a file that is being written: its process record must be there with its newline. */
TC_API enum tc_status tc_trace_file_open_whole(const char *path, struct tc_notes *notes,
                                               struct tc_trace_file **out, struct tc_error *err);

/*
 * The next record after the process record, valid until the next call; TC_END after the last whole
 * line. Called again after TC_END it looks whether the file has grown. Reads ahead by one frame.
 * A file that ends within a frame or a line is noted as torn; when the rest has come, the note is
 * taken back at the next TC_END.
 */
TC_API enum tc_status tc_trace_file_next(struct tc_trace_file *file, const struct tc_record **out,
                                         struct tc_error *err);

/*
 * As tc_trace_file_next, but the record and all that it points to are put into the arena and live
 * as long as that; but for a record of another tool's trace (`foreign` is set), which lives until
 * the next call.
 */
TC_API enum tc_status tc_trace_file_take(struct tc_trace_file *file, struct tc_arena *arena,
                                         const struct tc_record **out, struct tc_error *err);

/* Will the next record come without reading from the disk? */
TC_API bool tc_trace_file_is_waiting(const struct tc_trace_file *file);
/* Give back the file descriptor and nearly all memory of a file that is not read for now; the next
 * read opens it again. The last record is no longer valid. */
TC_API void tc_trace_file_park(struct tc_trace_file *file);

/* The process record: lives as long as the file. */
TC_API const struct tc_record *tc_trace_file_process(const struct tc_trace_file *file);
/* Is it of another tool? */
TC_API bool tc_trace_file_is_foreign(const struct tc_trace_file *file);
TC_API const char *tc_trace_file_path(const struct tc_trace_file *file);
TC_API const char *tc_trace_file_name(const struct tc_trace_file *file);
/* Bytes read and bytes of JSON decoded so far, for progress and throughput. */
TC_API uint64_t tc_trace_file_bytes(const struct tc_trace_file *file);
TC_API uint64_t tc_trace_file_json_bytes(const struct tc_trace_file *file);

struct tc_trace_folder;

/*
 * Open every trace file of a folder (or a single file given by its path), in order of name.
 * Files that are no traces are noted; TC_E_NOTFOUND if none is left, TC_E_VERSION at once.
 * Few files are open at a time, and memory is that of few: a folder may have thousands.
 */
TC_API enum tc_status tc_trace_folder_open(const char *path, struct tc_notes *notes,
                                           struct tc_trace_folder **out, struct tc_error *err);
TC_API void tc_trace_folder_close(struct tc_trace_folder *folder);
TC_API size_t tc_trace_folder_n_files(const struct tc_trace_folder *folder);
TC_API struct tc_trace_file *tc_trace_folder_file(const struct tc_trace_folder *folder, size_t i);

/*
 * The next record. Files are read in turns of about one frame: the turn goes to the file that is
 * behind the others, by step, then by wall-clock time (the anchor of the process plus t), then by
 * its place in the folder. So all processes move on together, each in the order of its file.
 * *file_index says whose record it is; TC_END when all files are read to their ends. A live folder
 * may have more after it was refreshed.
 */
TC_API enum tc_status tc_trace_folder_next(struct tc_trace_folder *folder, size_t *file_index,
                                           const struct tc_record **out, struct tc_error *err);

/* As tc_trace_folder_next, of a record as from tc_trace_file_take. */
TC_API enum tc_status tc_trace_folder_take(struct tc_trace_folder *folder, struct tc_arena *arena,
                                           size_t *file_index, const struct tc_record **out,
                                           struct tc_error *err);
/* Bytes of JSON decoded so far, of all files. */
TC_API uint64_t tc_trace_folder_json_bytes(const struct tc_trace_folder *folder);

/*
 * A folder (or file) that is being written and need not be there yet: nothing is read before it is
 * refreshed. close, n_files, file and next as above; n_files grows as files come.
 */
TC_API struct tc_trace_folder *tc_trace_folder_watch(const char *path, struct tc_notes *notes);

/*
 * Look for files that are new or have grown; *n_grown counts them. A file is taken once its process
 * record is whole. TC_E_NOTFOUND if there is no such folder now; TC_E_VERSION for a newer schema.
 */
TC_API enum tc_status tc_trace_folder_refresh(struct tc_trace_folder *folder, size_t *n_grown,
                                              struct tc_error *err);

/* Nothing more will come: take files that a whole last line lacks only its newline, and those that
 * other tools wrote, which are read as a whole; note those that never became traces. Read on to
 * TC_END. */
TC_API void tc_trace_folder_finish(struct tc_trace_folder *folder);

/* Where the reading of a file stands. */
struct tc_trace_progress {
    int64_t step;   /* the highest read */
    int64_t size;   /* bytes of the file at the last refresh */
    bool is_dry;    /* all of it was read */
    bool has_ended; /* its process wrote that it has ended */
};

TC_API struct tc_trace_progress tc_trace_folder_progress(const struct tc_trace_folder *folder,
                                                         size_t i);
/* Files that may yet become traces: without a whole process record. */
TC_API size_t tc_trace_folder_n_candidates(const struct tc_trace_folder *folder);

/* Give no turn to a file that has passed this step, until the next call; INT64_MAX: no limit. */
TC_API void tc_trace_folder_limit(struct tc_trace_folder *folder, int64_t step);

#endif /* TRAINCHECK_TRACE_H */
