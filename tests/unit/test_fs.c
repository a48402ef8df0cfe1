/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fs.c - files and folders
 */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"

static void paths_are_joined_and_cut(void **state)
{
    static const char *const cases[][3] = {
        {"a",  "b", "a/b"},
        {"a/", "b", "a/b"},
        {"/",  "b", "/b" },
        {"",   "b", "b"  }
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        char *path = tc_fs_join(cases[i][0], cases[i][1]);

        assert_string_equal(path, cases[i][2]);
        free(path);
    }
    assert_string_equal(tc_fs_base("/a/b.c"), "b.c");
    assert_string_equal(tc_fs_base("b.c"), "b.c");
}

static void folders_are_made_and_listed_in_order(void **state)
{
    char *dir = unit_folder(), *deep = tc_fs_join(dir, "x/y/z"), **names;
    static const char *const files[] = {"b", "a", "C", "a.2", "a.10"};
    static const char *const order[] = {"C", "a", "a.10", "a.2", "b"};
    struct tc_error err;
    size_t n;

    (void)state;
    assert_int_equal(tc_fs_mkdirs(deep, &err), TC_OK);
    assert_int_equal(tc_fs_mkdirs(deep, &err), TC_OK);
    assert_true(tc_fs_is_dir(deep));
    assert_int_equal(tc_fs_list(deep, &names, &n, &err), TC_OK);
    assert_int_equal(n, 0);
    tc_fs_list_free(names, n);
    for (size_t i = 0; i < N_OF(files); i++) {
        char *path = tc_fs_join(deep, files[i]);

        assert_int_equal(tc_fs_write(path, "", 0, &err), TC_OK);
        free(path);
    }
    assert_int_equal(tc_fs_list(deep, &names, &n, &err), TC_OK);
    assert_int_equal(n, N_OF(order));
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i], order[i]);
    tc_fs_list_free(names, n);
    free(deep);
    unit_remove(dir);
}

static void a_file_in_the_way_is_named(void **state)
{
    char *dir = unit_folder(), *file = tc_fs_join(dir, "file"), *below = tc_fs_join(file, "sub"),
         **names;
    struct tc_error err;
    size_t n;

    (void)state;
    assert_int_equal(tc_fs_write(file, "x", 1, &err), TC_OK);
    assert_int_equal(tc_fs_mkdirs(file, &err), TC_E_IO);
    assert_non_null(strstr(err.text, file));
    assert_int_equal(tc_fs_mkdirs(below, &err), TC_E_IO);
    assert_int_equal(tc_fs_list(file, &names, &n, &err), TC_E_IO);
    assert_int_equal(tc_fs_write(below, "x", 1, &err), TC_E_IO);
    free(below);
    free(file);
    unit_remove(dir);
}

static void reading_appends(void **state)
{
    char *dir = unit_folder(), *path = tc_fs_join(dir, "f");
    struct tc_strbuf in = TC_STRBUF_INIT, out = TC_STRBUF_INIT;
    struct tc_error err;

    (void)state;
    for (int i = 0; i < 300000; i++)
        tc_strbuf_addc(&in, (char)(i * 31));
    assert_int_equal(tc_fs_write(path, in.text, in.size, &err), TC_OK);
    tc_strbuf_adds(&out, "head");
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_SMALL, &out, &err), TC_OK);
    assert_int_equal(out.size, in.size + 4);
    assert_memory_equal(out.text, "head", 4);
    assert_memory_equal(out.text + 4, in.text, in.size);
    tc_strbuf_release(&in);
    tc_strbuf_release(&out);
    free(path);
    unit_remove(dir);
}

static void read_errors_are_told_apart(void **state)
{
    char *dir = unit_folder(), *path = tc_fs_join(dir, "none"), **names;
    struct tc_strbuf out = TC_STRBUF_INIT;
    struct tc_error err;
    size_t n;

    (void)state;
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_SMALL, &out, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(tc_fs_read(dir, TC_FS_MAX_SMALL, &out, &err), TC_E_IO);
    assert_non_null(strstr(err.text, "directory"));
    assert_int_equal(out.size, 0);
    assert_int_equal(tc_fs_list(path, &names, &n, &err), TC_E_NOTFOUND);
    assert_false(tc_fs_exists(path));
    assert_true(tc_fs_exists(dir));
    tc_strbuf_release(&out);
    free(path);
    unit_remove(dir);
}

static void reading_is_bounded(void **state)
{
    char *dir = unit_folder(), *path = tc_fs_join(dir, "f"), *zero = tc_fs_join(dir, "zero");
    struct tc_strbuf out = TC_STRBUF_INIT;
    struct tc_error err;

    (void)state;
    tc_strbuf_adds(&out, "head");
    assert_int_equal(tc_fs_write(path, "text", 4, &err), TC_OK);
    assert_int_equal(tc_fs_read(path, 4, &out, &err), TC_OK);
    assert_string_equal(out.text, "headtext");
    assert_int_equal(tc_fs_read(path, 3, &out, &err), TC_E_FORMAT);
    assert_non_null(strstr(err.text, "the most that is read"));
    assert_string_equal(out.text, "headtext");
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* a hole: nothing of it is read */
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_SMALL, &out, &err), TC_E_FORMAT);
    assert_true(out.cap < 4096);
    if (mknod(zero, S_IFCHR | 0600, makedev(1, 5)) == 0) { /* needs root */
        assert_int_equal(tc_fs_read(zero, 1 << 20, &out, &err), TC_E_FORMAT);
        assert_true(out.cap <= 4 << 20);
        assert_string_equal(out.text, "headtext");
    }
    tc_strbuf_release(&out);
    free(path);
    free(zero);
    unit_remove(dir);
}

static void links_to_nothing_are_no_folders(void **state)
{
    char *dir = unit_folder(), *link = tc_fs_join(dir, "link");
    struct tc_error err;

    (void)state;
    assert_int_equal(symlink("nowhere", link), 0);
    assert_int_equal(tc_fs_mkdirs(link, &err), TC_E_IO);
    assert_non_null(strstr(err.text, "a symbolic link that leads nowhere"));
    free(link);
    unit_remove(dir);
}

static void writing_replaces_at_once(void **state)
{
    char *dir = unit_folder(), *path = tc_fs_join(dir, "f"), **names;
    struct tc_strbuf out = TC_STRBUF_INIT;
    struct tc_error err;
    struct stat before, after;
    size_t n;

    (void)state;
    assert_int_equal(tc_fs_write(path, "old text", 8, &err), TC_OK);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(tc_fs_write(path, "new", 3, &err), TC_OK);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino); /* another file: readers of the old one keep it */
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_SMALL, &out, &err), TC_OK);
    assert_string_equal(out.text, "new");
    assert_int_equal(tc_fs_list(dir, &names, &n, &err), TC_OK);
    assert_int_equal(n, 1);
    tc_fs_list_free(names, n);
    tc_strbuf_release(&out);
    free(path);
    unit_remove(dir);
}

static void failed_writing_leaves_nothing(void **state)
{
    char *dir = unit_folder(), *path = tc_fs_join(dir, "d"), *lost = tc_fs_join(dir, "no/f"),
         **names;
    struct tc_error err;
    size_t n;

    (void)state;
    assert_int_equal(tc_fs_mkdirs(path, &err), TC_OK);
    assert_int_equal(tc_fs_write(path, "x", 1, &err), TC_E_IO); /* a folder of that name */
    assert_int_equal(tc_fs_write(lost, "x", 1, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.text, lost));
    assert_int_equal(tc_fs_list(dir, &names, &n, &err), TC_OK);
    assert_int_equal(n, 1);
    tc_fs_list_free(names, n);
    free(lost);
    free(path);
    unit_remove(dir);
}

/* Root may write anywhere; /proc refuses even root. */
static void read_only_places_are_refused(void **state)
{
    struct tc_error err;

    (void)state;
    assert_int_not_equal(tc_fs_write("/proc/traincheck", "x", 1, &err), TC_OK);
    assert_non_null(strstr(err.text, "/proc/traincheck"));
    assert_int_equal(tc_fs_mkdirs("/proc/traincheck/x", &err), TC_E_IO);
}

static void what_cannot_be_written_is_told_before(void **state)
{
    char *dir = unit_folder(), *path = tc_fs_join(dir, "out"), *loop = tc_fs_join(dir, "loop");
    char *nowhere = tc_fs_join(dir, "no/out"), *led = tc_fs_join(dir, "led"), **names;
    struct tc_error err;
    size_t n;

    (void)state;
    assert_int_equal(symlink("loop", loop), 0);
    assert_int_equal(symlink("no/out", led), 0);
    assert_int_equal(tc_fs_may_write(path, &err), TC_OK);
    assert_int_equal(tc_fs_may_write("/dev/stdout", &err), TC_OK);
    assert_int_equal(tc_fs_may_write("/dev/null", &err), TC_OK);
    assert_int_equal(tc_fs_may_write(nowhere, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.text, "no/out: No such file or directory"));
    assert_int_equal(tc_fs_may_write(led, &err), TC_E_NOTFOUND);
    assert_int_equal(tc_fs_may_write(loop, &err), TC_E_IO);
    assert_int_equal(tc_fs_may_write(dir, &err), TC_E_IO);
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(tc_fs_may_fill(dir, &err), TC_OK);
    assert_int_equal(tc_fs_may_fill(nowhere, &err), TC_E_NOTFOUND);
    assert_int_equal(tc_fs_list(dir, &names, &n, &err), TC_OK);
    assert_int_equal(n, 2); /* nothing was made */
    tc_fs_list_free(names, n);
    assert_int_equal(tc_fs_write(path, "x", 1, &err), TC_OK);
    assert_int_equal(tc_fs_may_write(path, &err), TC_OK);
    free(led);
    free(nowhere);
    free(loop);
    free(path);
    unit_remove(dir);
}

/* Where the file system has files without a name. */
static void what_is_killed_while_it_writes_leaves_nothing(void **state)
{
    char *dir = unit_folder(), *path = tc_fs_join(dir, "out"), **names;
    int unnamed = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    struct tc_fs_writer writer;
    size_t n;

    (void)state;
    for (int round = 0; round < 2 && unnamed >= 0; round++) { /* there is no old file, then one */
        pid_t child = fork();

        if (!child) {
            if (tc_fs_writer_open(&writer, path, NULL) == TC_OK)
                tc_fs_writer_add(&writer, "new", 3, NULL);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(tc_fs_list(dir, &names, &n, NULL), TC_OK);
        assert_int_equal(n, round);
        tc_fs_list_free(names, n);
        assert_int_equal(tc_fs_write(path, "old", 3, NULL), TC_OK);
    }
    if (unnamed >= 0)
        close(unnamed);
    free(path);
    unit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_joined_and_cut),
        cmocka_unit_test(folders_are_made_and_listed_in_order),
        cmocka_unit_test(a_file_in_the_way_is_named),
        cmocka_unit_test(reading_appends),
        cmocka_unit_test(read_errors_are_told_apart),
        cmocka_unit_test(reading_is_bounded),
        cmocka_unit_test(links_to_nothing_are_no_folders),
        cmocka_unit_test(writing_replaces_at_once),
        cmocka_unit_test(failed_writing_leaves_nothing),
        cmocka_unit_test(what_cannot_be_written_is_told_before),
        cmocka_unit_test(what_is_killed_while_it_writes_leaves_nothing),
        cmocka_unit_test(read_only_places_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
