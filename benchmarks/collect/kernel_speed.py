#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the kernel of looks (src/collect/agent/look/kernel.c) is on this machine's device, and whether it says what torch's operators say.

usage: kernel_speed.py [--check | --libraries]

Compiles the kernel as the agent does, by NVRTC or hipRTC, and launches it on torch's current stream. --check: no times, as under compute-sanitizer.
--libraries: the driver and the compiler alone. Without a device of CUDA or HIP in torch it takes the CPU and whatever libcuda.so.1 is on
LD_LIBRARY_PATH, as the stand-in in build/tests/python/standin; with STANDIN_HIP libamdhip64.so.7."""
import argparse
import ctypes
import os
import pathlib
import sys
import time
from unittest import mock

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "src" / "collect" / "python")]
import test_nvrtc  # noqa: E402

sys.modules.setdefault("_traincheck_agent", mock.MagicMock())  # the agent's module, of which nothing is called here
from traincheck_agent import device as agent_device  # noqa: E402

DIGEST, MAGNITUDE = 1, 2  # as in kernel.h
NUMBERS = {torch.float16: 1, torch.bfloat16: 2, torch.float32: 3, torch.float64: 4}
GROUP, MAX_TILES, MAX_DIMS = 65536, 2048, 6
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
STANDS_IN = DEVICE.type == "cpu"
HIP = bool(os.environ.get("STANDIN_HIP")) if STANDS_IN else torch.version.hip is not None
OF_HIP = {"cuInit": "hipInit", "cuModuleLoadData": "hipModuleLoadData", "cuModuleGetFunction": "hipModuleGetFunction",
          "cuMemsetD8Async": "hipMemsetD8Async", "cuLaunchKernel": "hipModuleLaunchKernel"}


class Item(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("data", "other", "size", "at", "tile", "seed", "begins")] \
        + [(name, ctypes.c_uint32) for name in ("what", "number", "item_size", "is_signed", "n_columns", "n_rows", "n_pieces", "piece_size",
                                                "n_dims")] \
        + [("shape", ctypes.c_uint64 * MAX_DIMS), ("stride", ctypes.c_uint64 * MAX_DIMS)]


class Tile(ctypes.Structure):
    _fields_ = [("item", ctypes.c_uint32), ("number", ctypes.c_uint32)]


def first_of(paths):
    """The agent loads the first that can be loaded, too. With its path, as it was found."""
    for path in paths:
        try:
            return ctypes.CDLL(path), path
        except OSError:
            pass
    return None, None


def driver():
    if STANDS_IN:
        return first_of(["libamdhip64.so.7" if HIP else "libcuda.so.1"])
    torch.zeros(1, device=DEVICE)  # torch loads its own copy of HIP, and makes its context
    return first_of(agent_device.driver_paths()[1])


def compiler():
    if STANDS_IN:
        return first_of(["libhiprtc.so.7"] if HIP else ["libnvrtc.so.13"])
    return first_of(agent_device.compiler_paths())


def target():
    """Options of the compiler, as compiler.c has them."""
    if HIP:
        name = "gfx90a:sramecc+:xnack-" if STANDS_IN else agent_device.architecture(torch.cuda.current_device())
        return [f"--offload-arch={name}".encode(), b"-ffp-contract=off"]
    major, minor = (9, 0) if STANDS_IN else torch.cuda.get_device_capability()
    return [f"--gpu-architecture=sm_{major}{minor}".encode()]


class Kernel:
    def __init__(self):
        self.driver = driver()[0] or sys.exit("no driver is here")
        module, self.function, context = (ctypes.c_void_p() for _ in range(3))
        self.call("cuInit", 0)
        if HIP:
            self.call("hipSetDevice", 0 if STANDS_IN else torch.cuda.current_device())
        else:
            device = ctypes.c_int()
            self.call("cuDeviceGet", ctypes.byref(device), 0 if STANDS_IN else torch.cuda.current_device())
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.call("cuCtxPushCurrent_v2", context)
        self.call("cuModuleLoadData", ctypes.byref(module), self.compile())
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"tc_look")

    def call(self, name, *args):
        name = OF_HIP.get(name, name) if HIP else name
        said = getattr(self.driver, name)(*args)
        if said:
            sys.exit(f"{name}: error {said}")

    @staticmethod
    def compile():
        library, path = compiler()
        if library is None:
            sys.exit("no compiler of torch's " + ("ROCm" if HIP else "CUDA: pip install nvidia-cuda-nvrtc"))
        of = "hiprtc" if HIP else "nvrtc"
        source = test_nvrtc.device_text().encode()
        program, size, options = ctypes.c_void_p(), ctypes.c_size_t(), target()
        getattr(library, f"{of}CreateProgram")(ctypes.byref(program), source, b"kernel.c", 0, None, None)
        said = getattr(library, f"{of}CompileProgram")(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if said:
            sys.exit(f"{path}: error {said} of {options}\n" + log_of(library, of, program))
        getattr(library, "hiprtcGetCodeSize" if HIP else "nvrtcGetCUBINSize")(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        getattr(library, "hiprtcGetCode" if HIP else "nvrtcGetCUBIN")(program, code)
        return code


def log_of(library, of, program):
    size = ctypes.c_size_t()
    getattr(library, f"{of}GetProgramLogSize")(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    getattr(library, f"{of}GetProgramLog")(program, log)
    return log.value.decode(errors="replace")


def version_of(library, name, n):
    """By a function that stores n numbers."""
    if not hasattr(library, name):
        return "of no version"
    numbers = [ctypes.c_int() for _ in range(n)]
    said = getattr(library, name)(*map(ctypes.byref, numbers))
    return ".".join(str(number.value) for number in numbers) if said == 0 else f"its version is error {said}"


def print_libraries():
    library, path = driver()
    if library is None:
        print(f"{'HIP' if HIP else 'libcuda.so.1'}: NOT FOUND, so that operators of torch would be asked")
    else:
        print(f"{path}: " + version_of(library, "hipDriverGetVersion" if HIP else "cuDriverGetVersion", 1))
    library, path = compiler()
    if library is None:
        print("its compiler: NOT FOUND, so that operators of torch would be asked" + ("" if HIP else ": pip install nvidia-cuda-nvrtc"))
    else:
        print(f"{path}: " + version_of(library, "hiprtcVersion" if HIP else "nvrtcVersion", 2))


def on_device(array):
    """In memory that the device reads: as the agent, from pinned memory of the host."""
    data = torch.frombuffer(bytearray(array), dtype=torch.uint8)
    return data.pin_memory() if DEVICE.type == "cuda" else data.clone()


class Look:
    """Of the digest and the largest magnitude of these tensors: 16 bytes each."""

    def __init__(self, kernel, tensors):
        self.kernel, self.tensors, tiles = kernel, tensors, []
        items = (Item * len(tensors))()
        for i, (item, tensor) in enumerate(zip(items, tensors)):
            item.data, item.size, item.at = tensor.data_ptr(), tensor.numel() * tensor.element_size(), 16 * i
            item.what, item.number, item.item_size = DIGEST | MAGNITUDE, NUMBERS[tensor.dtype], tensor.element_size()
            groups = -(-item.size // GROUP)
            item.tile = -(-groups // MAX_TILES) * GROUP
            tiles += [Tile(i, n) for n in range(-(-item.size // item.tile))]
            if not tensor.is_contiguous():
                item.n_dims = tensor.dim()
                for d in range(tensor.dim()):
                    item.shape[d], item.stride[d] = tensor.shape[d], tensor.stride(d) * tensor.element_size()
        self.n_tiles = len(tiles)
        self.table = on_device(items), on_device((Tile * len(tiles))(*tiles))
        self.answers = torch.zeros(2 * len(tensors), dtype=torch.int64).to(DEVICE)
        self.host = torch.zeros_like(self.answers, device="cpu", pin_memory=DEVICE.type == "cuda")

    def launch(self):
        addresses = [ctypes.c_uint64(t.data_ptr()) for t in (*self.table, self.answers)]
        parameters = (ctypes.c_void_p * 3)(*(ctypes.addressof(a) for a in addresses))
        stream = torch.cuda.current_stream().cuda_stream if DEVICE.type == "cuda" else 0
        if self.n_tiles > len(self.tensors):
            self.kernel.call("cuMemsetD8Async", addresses[2], ctypes.c_ubyte(0), ctypes.c_size_t(8 * self.answers.numel()),
                             ctypes.c_void_p(stream))
        self.kernel.call("cuLaunchKernel", self.kernel.function, self.n_tiles, 1, 1, 256, 1, 1, 0, ctypes.c_void_p(stream), parameters, None)
        self.host.copy_(self.answers, non_blocking=True)

    def seconds(self, n=20):
        """Of one, by the device's own clock where there is one."""
        self.launch()
        if DEVICE.type != "cuda":
            began = time.perf_counter()
            self.launch()
            return time.perf_counter() - began
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(100_000_000)  # so long that all is launched meanwhile: Python takes longer than the device
        begin.record()
        for _ in range(n):
            self.launch()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / n

    def check(self):
        """Is each digest that of torch's operators, and each magnitude the largest?"""
        from traincheck_agent import lanes
        self.launch()
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()
        sums = lanes.sums([t.contiguous().reshape(-1).view(torch.uint8) for t in self.tensors]).cpu()
        found = self.host.view(-1, 2)
        for i, tensor in enumerate(self.tensors):
            largest = found[i, 1:].view(torch.float64 if tensor.dtype is torch.float64 else torch.float32)[0].item()
            if found[i, 0] != sums[i] or largest != tensor.abs().max().item():
                sys.exit(f"{tensor.dtype} {tuple(tensor.shape)} {tensor.stride()}: not what torch says")


def tensors(n, size, dtype, offset=0):
    """Copied there, which compute-sanitizer's initcheck sees: of other kernels than this one it is told nothing."""
    n_elements = size // dtype.itemsize
    return [torch.randn(n_elements + offset).to(dtype).to(DEVICE)[offset:] for _ in range(n)]


def looks(kernel):
    mib = 1 << 20
    yield "16 MiB, float32, 16 of them", Look(kernel, tensors(16, 16 * mib, torch.float32))
    yield "16 MiB, bfloat16, 16 of them", Look(kernel, tensors(16, 16 * mib, torch.bfloat16))
    yield "16 MiB, float32, one", Look(kernel, tensors(1, 16 * mib, torch.float32))
    yield "16 MiB, float32, at an odd place", Look(kernel, tensors(4, 16 * mib, torch.float32, 1))
    yield "16 MiB, bfloat16, at an odd place", Look(kernel, tensors(4, 16 * mib, torch.bfloat16, 1))
    yield "16 MiB, float32, transposed", Look(kernel, [torch.randn(2048, 2048).to(DEVICE).t() for _ in range(4)])
    yield "4 KiB, float32, 200 of them", Look(kernel, tensors(200, 4096, torch.float32))
    yield "odd sizes, 40 of them", Look(kernel, [torch.randn(n).to(d).to(DEVICE) for n in range(1, 9000, 900) for d in NUMBERS])


def copy_speed():
    """Bytes a second that a copy within the device reads and writes: what its memory gives."""
    if DEVICE.type != "cuda":
        return None
    a = torch.empty(1 << 28, dtype=torch.uint8, device=DEVICE)
    b, (begin, end) = torch.empty_like(a), (torch.cuda.Event(enable_timing=True) for _ in range(2))
    b.copy_(a)
    begin.record()
    for _ in range(20):
        b.copy_(a)
    end.record()
    end.synchronize()
    return 20 * 2 * a.numel() / (begin.elapsed_time(end) / 1e3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="no times")
    parser.add_argument("--libraries", action="store_true", help="what would be loaded")
    args = parser.parse_args()
    if args.libraries:
        print_libraries()
        return
    kernel, best = Kernel(), None if args.check else copy_speed()
    print(f"device: {torch.cuda.get_device_name() if DEVICE.type == 'cuda' else 'the CPU, by a stand-in for the driver of ' + ('HIP' if HIP else 'CUDA')}"
          + (f"; a copy reads and writes {best / 1e9:,.0f} GB/s" if best else ""))
    for name, look in looks(kernel):
        look.check()
        if args.check:
            print(f"{name}: as torch says", flush=True)
            continue
        seconds, size = look.seconds(), sum(t.numel() * t.element_size() for t in look.tensors)
        of = f", {100 * size / seconds / best:.0f} % of that" if best else ""
        print(f"{name}: {seconds * 1e6:,.1f} us, {size / seconds / 1e9:,.1f} GB/s{of}", flush=True)


if __name__ == "__main__":
    main()
