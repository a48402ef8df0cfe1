#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the kernel of looks (src/collect/agent/look/kernel.c) is on this machine's device, and whether it says what torch's operators say.

usage: kernel_speed.py [--check | --libraries]

Compiles the kernel as the agent does and launches it on torch's current stream. --check: no times, as under compute-sanitizer.
--libraries: the driver and the compiler alone. Without CUDA in torch it takes the CPU and whatever libcuda.so.1 is on LD_LIBRARY_PATH, as
the stand-in in build/tests/python/standin."""
import argparse
import contextlib
import ctypes
import pathlib
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "src" / "collect" / "python")]
import test_nvrtc  # noqa: E402

DIGEST, MAGNITUDE = 1, 2  # as in kernel.h
NUMBERS = {torch.float16: 1, torch.bfloat16: 2, torch.float32: 3, torch.float64: 4}
GROUP, MAX_TILES, MAX_DIMS = 65536, 2048, 6
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Item(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("data", "other", "size", "at", "tile", "seed", "begins")] \
        + [(name, ctypes.c_uint32) for name in ("what", "number", "item_size", "is_signed", "n_columns", "n_rows", "n_pieces", "piece_size",
                                                "n_dims")] \
        + [("shape", ctypes.c_uint64 * MAX_DIMS), ("stride", ctypes.c_uint64 * MAX_DIMS)]


class Tile(ctypes.Structure):
    _fields_ = [("item", ctypes.c_uint32), ("number", ctypes.c_uint32)]


class Kernel:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        module, self.function, context, handle = (ctypes.c_void_p() for _ in range(4))
        torch.zeros(1, device=DEVICE)  # the context of torch
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)
        self.call("cuModuleLoadData", ctypes.byref(module), self.compile())
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"tc_look")

    def call(self, name, *args):
        said = getattr(self.cuda, name)(*args)
        if said:
            sys.exit(f"{name}: error {said}")

    @staticmethod
    def compile():
        nvrtc = find_nvrtc()
        if nvrtc is None:
            sys.exit("no libnvrtc of torch's CUDA is here: pip install nvidia-cuda-nvrtc")
        source = b"".join((test_nvrtc.LOOK / name).read_bytes() for name in ("kernel.h", "kernel.c"))
        major, minor = torch.cuda.get_device_capability() if DEVICE.type == "cuda" else (9, 0)
        option = f"--gpu-architecture=sm_{major}{minor}".encode()
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.c", 0, None, None)
        if nvrtc.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(option)):
            sys.exit(test_nvrtc.log_of(nvrtc, program))
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, code)
        return code


def find_nvrtc():
    """That of torch's CUDA, as the agent has it: what another one makes the driver may not load."""
    version = (torch.version.cuda or "").split(".")[0]
    for path in test_nvrtc.candidates():
        if path.endswith(f".so.{version}" if version else ""):
            with contextlib.suppress(OSError):
                return test_nvrtc.find(path)
    return None


def print_libraries():
    version, more = ctypes.c_int(), ctypes.c_int()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        said = cuda.cuDriverGetVersion(ctypes.byref(version)) if hasattr(cuda, "cuDriverGetVersion") else -1
        print("libcuda.so.1: " + (f"for CUDA {version.value // 1000}.{version.value % 1000 // 10}" if said == 0 else "of no version"))
    except OSError as e:
        print(f"libcuda.so.1: NOT FOUND, so that operators of torch would be asked: {e}")
    nvrtc = find_nvrtc()
    if nvrtc is None:
        print("NVRTC: NOT FOUND, so that operators of torch would be asked: pip install nvidia-cuda-nvrtc")
        return
    if hasattr(nvrtc, "nvrtcVersion"):
        nvrtc.nvrtcVersion(ctypes.byref(version), ctypes.byref(more))
        print(f"NVRTC: {nvrtc._name}, {version.value}.{more.value}")
    else:
        print(f"NVRTC: {nvrtc._name}, of no version")


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
    print(f"device: {torch.cuda.get_device_name() if DEVICE.type == 'cuda' else 'the CPU, by a stand-in for the driver'}"
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
