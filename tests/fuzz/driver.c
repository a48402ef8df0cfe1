/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - runs a fuzz target over the files of corpus folders, without libFuzzer
 */
#include <stdio.h>

#include "base/fs.h"
#include "base/vec.h"
#include "fuzz.h"

static enum tc_status run_file(const char *path, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, &text, err);

    if (status == TC_OK)
        LLVMFuzzerTestOneInput((const uint8_t *)text.text, text.size);
    tc_strbuf_release(&text);
    return status;
}

static enum tc_status run_folder(const char *dir, size_t *n_run, struct tc_error *err)
{
    char **names;
    size_t n;
    enum tc_status status = tc_fs_list(dir, &names, &n, err);

    for (size_t i = 0; i < n && status == TC_OK; i++, ++*n_run) {
        char *path = tc_fs_join(dir, names[i]);

        status = run_file(path, err);
        tc_free(path);
    }
    tc_fs_list_free(names, n);
    return status;
}

int main(int argc, char **argv)
{
    struct tc_error err;
    size_t n_run = 0;

    for (int i = 1; i < argc; i++) {
        if (run_folder(argv[i], &n_run, &err) != TC_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    }
    printf("%zu inputs\n", n_run);
    return n_run ? 0 : 1;
}
