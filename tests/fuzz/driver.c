/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - runs a fuzz target without libFuzzer, with any compiler
 *
 *   fuzz_trace_corpus [-n N] [-o FILE] FOLDER...
 *
 * Each file of the folders is an input. Then come N changed ones, the same N each time; -o keeps
 * the one that is running in FILE, for when it crashes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/vec.h"
#include "fuzz.h"
#include "scratch.h"

#define MAX_SIZE    65536
#define MAX_CHANGES 4

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
/* That of json_mutate.c, in targets that have it. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                                                     unsigned seed);

static TC_VEC(struct tc_strbuf) inputs;
static uint64_t state = 1;

static size_t below(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % n;
}

/* What libFuzzer has under that name, in few lines: flip, insert or drop a byte, repeat a part. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    size_t at = size ? below(size) : 0, n = size ? 1 + below(size - at) : 0, how = below(4);

    if (!size || (how == 0 && size < max)) {
        memmove(data + at + 1, data + at, size - at);
        data[at] = (uint8_t)below(256);
        return size + 1;
    }
    if (how == 1) {
        memmove(data + at, data + at + 1, size - at - 1);
        return size - 1;
    }
    if (how == 2 && size + n <= max) {
        memmove(data + at + n, data + at, size - at);
        return size + n;
    }
    data[at] ^= (uint8_t)(1u << below(8));
    return size;
}

static void run_changed(const struct tc_strbuf *input, const char *kept)
{
    static uint8_t data[MAX_SIZE];
    size_t size = input->size < MAX_SIZE ? input->size : MAX_SIZE;

    if (size)
        memcpy(data, input->text, size);
    for (size_t n = 1 + below(MAX_CHANGES); n--;)
        size = LLVMFuzzerCustomMutator
                   ? LLVMFuzzerCustomMutator(data, size, MAX_SIZE, (unsigned)below(1u << 30))
                   : LLVMFuzzerMutate(data, size, MAX_SIZE);
    if (kept)
        fuzz_put(kept, data, size);
    LLVMFuzzerTestOneInput(data, size);
}

static enum tc_status read_folder(const char *dir, struct tc_error *err)
{
    char **names;
    size_t n;
    enum tc_status status = tc_fs_list(dir, &names, &n, err);

    for (size_t i = 0; i < n && status == TC_OK; i++) {
        char *path = tc_fs_join(dir, names[i]);
        struct tc_strbuf text = TC_STRBUF_INIT;

        status = tc_fs_read(path, TC_FS_MAX_SMALL, &text, err);
        tc_vec_push(&inputs, text);
        tc_free(path);
    }
    tc_fs_list_free(names, n);
    return status;
}

static void run_all(long n_changed, const char *kept)
{
    for (size_t i = 0; i < inputs.n; i++)
        LLVMFuzzerTestOneInput((const uint8_t *)inputs.items[i].text, inputs.items[i].size);
    for (long i = 0; inputs.n && i < n_changed; i++)
        run_changed(&inputs.items[below(inputs.n)], kept);
    printf("%zu inputs, %ld changed\n", inputs.n, n_changed);
}

int main(int argc, char **argv)
{
    struct tc_error err = {TC_OK, ""};
    const char *kept = NULL;
    long n_changed = 0;
    enum tc_status status = TC_OK;

    for (int option; (option = getopt(argc, argv, "n:o:")) != -1;) {
        if (option == 'n')
            n_changed = atol(optarg);
        else if (option == 'o')
            kept = optarg;
        else
            return 2;
    }
    for (int i = optind; i < argc && status == TC_OK; i++)
        status = read_folder(argv[i], &err);
    if (status == TC_OK && !inputs.n)
        status = tc_error_set(&err, TC_E_NOTFOUND, "no inputs");
    if (status == TC_OK)
        run_all(n_changed, kept);
    else
        fprintf(stderr, "%s\n", err.text);
    for (size_t i = 0; i < inputs.n; i++)
        tc_strbuf_release(&inputs.items[i]);
    tc_vec_release(&inputs);
    return status != TC_OK;
}
