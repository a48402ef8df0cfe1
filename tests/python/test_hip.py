#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel of accelerators compiles to machine code for those of AMD, which needs no device: by hipRTC as the agent has it compiled, and
by clang.

usage: test_hip.py [--clang clang-19] [--hiprtc libhiprtc.so.7] [--only gfx90a]

hipRTC is that of ROCm, or Debian's (apt install libamdhip64-5 libhiprtc-builtins5); clang any with AMD's devices among its targets, and lld
of the same version (apt install clang lld). What a compiler does not know is told, and compiled by the other. Where there is neither nothing
is compiled: a line says so, and the exit status is 77."""
import argparse
import ctypes
import functools
import glob
import re
import shutil
import subprocess
import sys

from test_nvrtc import device_text

# Groups of 64 threads, and of 32.
DEVICES = "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1200"
OPTION = "-ffp-contract=off"  # as in driver.c
THREADS = 256    # as in kernel.h
ROOM = 64 << 10   # of the threads of a block, in bytes
MISSING = 77
UNKNOWN = "not among its devices"

# What hipRTC knows without a header, as far as the kernel has it.
PRELUDE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define BOTH static __device__ __forceinline__

struct thread_index { BOTH_OF(unsigned, __builtin_amdgcn_workitem_id_x()) };
struct block_index { BOTH_OF(unsigned, __builtin_amdgcn_workgroup_id_x()) };
static __device__ const thread_index threadIdx;
static __device__ const block_index blockIdx;

BOTH void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
template <class T> BOTH T atomicAdd(T *p, T x) { return __atomic_fetch_add(p, x, __ATOMIC_RELAXED); }
template <class T> BOTH T atomicOr(T *p, T x) { return __atomic_fetch_or(p, x, __ATOMIC_RELAXED); }
template <class T> BOTH T atomicMax(T *p, T x) { return __atomic_fetch_max(p, x, __ATOMIC_RELAXED); }
BOTH int __popc(unsigned x) { return __builtin_popcount(x); }
BOTH double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
BOTH long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
BOTH float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
BOTH unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
""".replace("BOTH_OF(unsigned, ", "struct { __device__ operator unsigned() const { return ").replace("()) };", "(); } } x; };")


# ---- clang ----

@functools.lru_cache
def lld_is_beside(clang):
    said = subprocess.run([clang, "--print-prog-name=ld.lld"], capture_output=True, text=True, check=False).stdout.strip()
    return shutil.which(said) is not None


def find_clang(given):
    names = [given] if given else [*(f"clang-{n}" for n in range(25, 13, -1)), "clang"]
    for name in names:
        path = shutil.which(name)
        if path and "amdgcn" in subprocess.run([path, "--print-targets"], capture_output=True, text=True, check=False).stdout:
            return path
    return None


def compile_by_clang(clang, device):
    """What is wrong, or None; and what is told of the code."""
    command = [clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={device}", "-nogpulib", "-nogpuinc", "-std=c++17", "-O3", "-Wall",
               "-Wno-unused-function", "-Werror", OPTION, "-S", "-o", "-", "-"]
    done = subprocess.run(command, input=PRELUDE + device_text(), capture_output=True, text=True, errors="replace", check=False)
    if "invalid target ID" in done.stderr or "unsupported HIP gpu architecture" in done.stderr:
        return UNKNOWN, ""
    if done.returncode:
        return done.stderr, ""
    told = {name: int(n) for name, n in re.findall(r"^ +\.(\w+): +(\d+)$", done.stdout, re.MULTILINE)}
    if told["vgpr_spill_count"] or told["group_segment_fixed_size"] > ROOM or told["max_flat_workgroup_size"] != THREADS:
        return f"does not fit: {told}", ""
    text = f"{told['vgpr_count']} registers, {told['group_segment_fixed_size']:,} bytes for a block, groups of {told['wavefront_size']}"
    return link(clang, device, done.stdout), text + ("" if lld_is_beside(clang) else "; not linked, as there is no lld")


def link(clang, device, assembly):
    """What is wrong, or None: lld names what is called and not there."""
    if not lld_is_beside(clang):
        return None
    command = [clang, "--target=amdgcn-amd-amdhsa", f"-mcpu={device}", "-nogpulib", "-Wl,--no-undefined", "-x", "assembler", "-", "-o", "/dev/null"]
    done = subprocess.run(command, input=assembly, capture_output=True, text=True, errors="replace", check=False)
    return (done.stderr or "not linked") if done.returncode else None


# ---- hipRTC ----

def hiprtc_names():
    for name in "libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5":  # a part of that once
        yield name
    for folder in [f"{path}/{of}" for path in sys.path for of in ("torch/lib", "_rocm_sdk_core/lib")] + ["/opt/rocm*/lib"]:
        yield from sorted(glob.glob(f"{folder}/libhiprtc.so*"))


def find_hiprtc(given):
    for name in [given] if given else hiprtc_names():
        try:
            if hasattr(ctypes.CDLL(name), "hiprtcCompileProgram"):
                return name
        except OSError:
            if given:
                raise
    return None


def log_of(hiprtc, program):
    size = ctypes.c_size_t()
    hiprtc.hiprtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    hiprtc.hiprtcGetProgramLog(program, log)
    return log.value.decode(errors="replace")


def child(name, device):
    """In a process of its own: a release that does not know the device may crash."""
    hiprtc, program, size = ctypes.CDLL(name), ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"--offload-arch={device}".encode(), OPTION.encode()]
    hiprtc.hiprtcCreateProgram(ctypes.byref(program), device_text().encode(), b"kernel.c", 0, None, None)
    if hiprtc.hiprtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        sys.exit(log_of(hiprtc, program))
    hiprtc.hiprtcGetCodeSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    hiprtc.hiprtcGetCode(program, code)
    if b"\x7fELF" not in code.raw or b"tc_look" not in code.raw:
        sys.exit("no machine code with a kernel tc_look")
    print(f"{size.value:,} bytes of machine code")


def compile_by_hiprtc(name, device):
    done = subprocess.run([sys.executable, "-B", __file__, "--hiprtc", name, "--only", device, "--child"], capture_output=True, text=True,
                          check=False)
    if done.returncode < 0 or re.search("invalid target|unsupported.*arch|unknown target", done.stderr):
        return UNKNOWN, ""
    return (done.stderr or "no word", "") if done.returncode else (None, done.stdout.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clang", help="the compiler")
    parser.add_argument("--hiprtc", help="the library")
    parser.add_argument("--only", help="one device")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.hiprtc, args.only)
        return
    clang, hiprtc = None if args.hiprtc else find_clang(args.clang), None if args.clang else find_hiprtc(args.hiprtc)
    if not (clang or hiprtc):
        print("NOT DONE: neither clang for AMD's devices nor hipRTC is here, so the kernel was not compiled for them. "
              "apt install clang lld, or libamdhip64-5 and libhiprtc-builtins5, brings one.")
        sys.exit(MISSING)
    n_wrong, done = 0, set()
    for name, compiler, compile_for in (("clang", clang, compile_by_clang), ("hipRTC", hiprtc, compile_by_hiprtc)):
        print(f"{name}: {compiler or 'is not here'}")
        for device in ([args.only] if args.only else DEVICES) if compiler else ():
            wrong, text = compile_for(compiler, device)
            n_wrong += wrong not in (None, UNKNOWN)
            done |= {device} if wrong is None else set()
            print(f"  {device}: {wrong or text}", flush=True)
    sys.exit(n_wrong > 0 or not done)


if __name__ == "__main__":
    main()
