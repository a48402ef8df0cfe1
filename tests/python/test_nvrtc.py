#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel of accelerators compiles to machine code: for all generations of devices, by NVRTC, which needs no device.

usage: test_nvrtc.py [--nvrtc libnvrtc.so.13] [--only 90]

NVRTC is that of CUDA's toolkit or of PyPI (pip install nvidia-cuda-nvrtc, beside the interpreter that runs this). Where there is none
nothing is compiled: a line says so, and the exit status is 77."""
import argparse
import ctypes
import glob
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOOK = ROOT / "src" / "collect" / "agent" / "look"
GENERATIONS = (75, 80, 90, 100, 120)
MISSING = 77


def device_text():
    """The kernel as a device's compiler gets it: what kernel.c includes, and itself."""
    kernel = (LOOK / "kernel.c").read_text()
    return "".join((LOOK / name).read_text() for name in re.findall(r'include "collect/agent/look/(\w+\.h)"', kernel)) + kernel


def candidates():
    yield from ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12")
    for folder in [f"{path}/nvidia/*/lib" for path in sys.path] + ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib"]:
        yield from sorted(glob.glob(f"{folder}/libnvrtc.so.1[0-9]"))


def find(given):
    for path in [given] if given else candidates():
        try:
            if "/" in path:  # it loads these by their name, and has no path to where it lies itself
                for builtins in sorted(pathlib.Path(path).parent.glob("libnvrtc-builtins.so.*")):
                    ctypes.CDLL(str(builtins))
            return ctypes.CDLL(path)
        except OSError:
            if given:
                raise
    return None


def log_of(nvrtc, program):
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode()


def compile_for(nvrtc, source, generation):
    """What is wrong, or None; and the bytes of the code."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"--gpu-architecture=sm_{generation}".encode()]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.c", 0, None, None)
    said = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if said or "warning" in log_of(nvrtc, program):  # only newer releases can make errors of warnings
        return f"error {said}: {log_of(nvrtc, program)}", 0
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, code)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if code.raw[:4] != b"\x7fELF" or b"tc_look" not in code.raw:
        return "no machine code with a kernel tc_look", 0
    return None, size.value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvrtc", help="its library")
    parser.add_argument("--only", type=int, choices=GENERATIONS, help="one generation of devices")
    args = parser.parse_args()
    nvrtc = find(args.nvrtc)
    if nvrtc is None:
        print(f"NOT DONE: no libnvrtc is here, so the kernel was not compiled for sm_{', sm_'.join(map(str, GENERATIONS))}. "
              "pip install nvidia-cuda-nvrtc brings it.")
        sys.exit(MISSING)
    source = device_text().encode()
    n_wrong = 0
    for generation in [args.only] if args.only else GENERATIONS:
        wrong, size = compile_for(nvrtc, source, generation)
        n_wrong += wrong is not None
        print(f"sm_{generation}: " + (wrong or f"{size:,} bytes of machine code"))
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
