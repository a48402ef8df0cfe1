/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.c - the kernel's source, compiled for one device by NVRTC or hipRTC
 *
 * Two ways: exact code for this device, or PTX of the newest kind that the compiler knows, which
 * every later device of CUDA runs, too. To find the target may ask the policy and needs the
 * interpreter's lock; compiling needs no Python and takes long. NULL and false leave what failed
 * in tc_driver_failure().
 */
#include "collect/agent/look/compiler.h"

#include <stdio.h>

#include "collect/agent/embedded.h"

#define MAJOR 75 /* of the version of machine code, an attribute of a device of CUDA */
#define MINOR 76

/* Products are rounded before they are added, as on the CPU. */
#define NO_FUSING "-ffp-contract=off"

/* ---- for which device ---- */

static bool find_cuda(int device, struct tc_target *out)
{
    int handle;

    if (!tc_driver_ok(tc_driver.device_of(&handle, device), TC_CALL_device_of) ||
        !tc_driver_ok(tc_driver.attribute(&out->major, MAJOR, handle), TC_CALL_attribute) ||
        !tc_driver_ok(tc_driver.attribute(&out->minor, MINOR, handle), TC_CALL_attribute))
        return false;
    snprintf(out->option, sizeof(out->option), "--gpu-architecture=sm_%d%d", out->major,
             out->minor);
    return true;
}

/* As "gfx90a:sramecc+:xnack-". The properties that HIP itself tells differ in layout from release
 * to release. */
static bool find_hip(int device, struct tc_target *out)
{
    PyObject *told = tc_policy_call("architecture", "(i)", device);
    const char *name = told && PyUnicode_Check(told) ? PyUnicode_AsUTF8(told) : NULL;
    const int n = name ? snprintf(out->option, sizeof(out->option), "--offload-arch=%s", name) : -1;

    Py_XDECREF(told);
    PyErr_Clear();
    return (n > 0 && (size_t)n < sizeof(out->option)) || tc_driver_ok(-1, TC_LACKS_ARCHITECTURE);
}

bool tc_target_find(int device, struct tc_target *out)
{
    *out = (struct tc_target){.major = 0};
    return tc_driver_is_hip() ? find_hip(device, out) : find_cuda(device, out);
}

/* ---- code ---- */

static char *take_code(void *program, int (*size_of)(void *, size_t *),
                       int (*code_of)(void *, char *), enum tc_driver_call of_size,
                       enum tc_driver_call of_code)
{
    size_t size = 0;
    char *code;

    if (!tc_driver_ok(size_of(program, &size), of_size) || !size)
        return NULL;
    code = tc_malloc(size);
    if (tc_driver_ok(code_of(program, code), of_code))
        return code;
    tc_free(code);
    return NULL;
}

/* The newest that this compiler knows and that the device runs, 0: there is none. */
static int newest_known(const struct tc_target *target)
{
    int n = 0, newest = 0, known[256] = {0};

    if (tc_compiler.n_known(&n) != 0 || n < 0 || n > 256 || tc_compiler.known(known) != 0)
        return 0;
    for (int i = 0; i < n; i++)
        if (known[i] > newest && known[i] <= 10 * target->major + target->minor)
            newest = known[i];
    return newest;
}

static char *compile_exact(void *program, const struct tc_target *target)
{
    const char *options[] = {target->option, NO_FUSING};
    const int said = tc_compiler.compile(program, tc_driver_is_hip() ? 2 : 1, options);

    return tc_driver_ok(said, TC_CALL_compile)
               ? take_code(program, tc_compiler.code_size, tc_compiler.code, TC_CALL_code_size,
                           TC_CALL_code)
               : NULL;
}

/* What every later device runs, too. */
static char *compile_for_any(void *program, const struct tc_target *target)
{
    char option[96];
    const char *options[] = {option};
    const int newest = newest_known(target);

    snprintf(option, sizeof(option), "--gpu-architecture=compute_%d", newest);
    if (!newest || !tc_driver_ok(tc_compiler.compile(program, 1, options), TC_CALL_compile))
        return NULL;
    return take_code(program, tc_compiler.ptx_size, tc_compiler.ptx, TC_CALL_ptx_size, TC_CALL_ptx);
}

static char *with_source(const struct tc_target *target,
                         char *(*compile)(void *program, const struct tc_target *target))
{
    struct tc_strbuf source = TC_STRBUF_INIT;
    void *program = NULL;
    char *code = NULL;

    for (size_t i = 0; tc_kernel_source[i]; i++)
        tc_strbuf_adds(&source, tc_kernel_source[i]);
    if (tc_driver_ok(tc_compiler.create(&program, source.text, "kernel.c", 0, NULL, NULL),
                     TC_CALL_create))
        code = compile(program, target);
    if (program)
        tc_compiler.destroy(&program);
    tc_strbuf_release(&source);
    return code;
}

char *tc_compile_kernel(const struct tc_target *target)
{
    return with_source(target, compile_exact);
}

char *tc_compile_portable(const struct tc_target *target)
{
    return tc_driver_is_hip() ? NULL : with_source(target, compile_for_any);
}
