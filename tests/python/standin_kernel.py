# SPDX-License-Identifier: Apache-2.0
"""Run by a traced script whose tensors on the CPU are taken for those of a device of CUDA (TRAINCHECK_TEST_ELSEWHERE=cuda), which
standin_cuda.c and standin_nvrtc.c on LD_LIBRARY_PATH are; with STANDIN_HIP for those of a device of HIP, which standin_hip.c is.

torch knows of no such device: its current stream is told here. A build of torch for CUDA has loaded a compiler of its own. With
STANDIN_REPORT what was called of the driver is written to that file at the end; {} in its name is the number of the process."""
import atexit
import contextlib
import ctypes
import json
import os
import sys
import types

from traincheck_agent import device, policy

HIP = bool(os.environ.get("STANDIN_HIP"))
driver = ctypes.CDLL("libamdhip64.so.7" if HIP else "libcuda.so.1")
driver.standin_calls.argtypes = ctypes.c_char_p,
driver.standin_bytes.restype = driver.standin_answers.restype = ctypes.c_size_t
driver.standin_capture.argtypes = ctypes.c_void_p, ctypes.c_bool
driver.standin_delays.argtypes = ctypes.c_bool,
driver.standin_delays("STANDIN_PROMPT" not in os.environ)
STREAM = 16
NAMES = ("cuLaunchKernel", "cuMemsetD8Async", "cuMemcpyDtoHAsync_v2", "cuEventSynchronize", "cuMemAlloc_v2", "cuMemHostAlloc",
         "cuEventQuery")

told = []  # addresses of what is read, of which the allocator hears


def stream_of(index, tensors):
    told[:] = [tensor.data_ptr() for tensor in tensors]
    return STREAM + index


policy.stream_of = stream_of


@contextlib.contextmanager
def torch_of_hip():
    """What a build of torch for HIP tells of itself and of its devices."""
    torch = sys.modules["torch"]
    real = torch.version.hip, torch.cuda.get_device_properties
    torch.version.hip = "7.0.51831"
    torch.cuda.get_device_properties = lambda _index: types.SimpleNamespace(gcnArchName="gfx90a:sramecc+:xnack-")
    try:
        yield
    finally:
        torch.version.hip, torch.cuda.get_device_properties = real


def as_hip(function):
    def asked(*args):
        with torch_of_hip():
            return function(*args)
    return asked


if HIP:
    for name in "driver_paths", "compiler_paths", "architecture":
        setattr(policy, name, as_hip(getattr(device, name)))
else:
    policy.compiler_paths = lambda: [os.path.join(os.path.dirname(os.environ.get("STANDIN", "")), "libnvrtc.so.13")]


class Stream:
    """As torch.cuda.Stream. An event behind what is put on it is the stream itself: whoever waits, waits for all that comes late there."""
    device_index, device_type = 0, 1

    def __init__(self, number):
        import torch  # which may come later than this
        self.device, self.stream_id, self.late, self.kept, self.n_waits = torch.device("cuda", 0), number, None, [], 0

    def record_event(self):
        return self

    def wait_event(self, event):
        self.n_waits += 1
        if event.late:
            driver.standin_wait(event.late)

    def write_late(self, tensor):
        """What the tensor holds is written after a fifth of a second; until then it holds something else."""
        at, size = tensor.data_ptr(), tensor.nbytes
        self.kept.append(ctypes.create_string_buffer(ctypes.string_at(at, size), size))
        ctypes.memset(at, 7, size)
        self.late = driver.standin_copy(at, self.kept[-1], size, 200_000)


def two_streams():
    """The current one of the device, and another."""
    import torch
    streams = Stream(0), Stream(1)
    current = [streams[0]]

    def become(stream_id, **_):
        current[0] = streams[stream_id]

    torch.cuda._set_stream_by_id, torch.cuda.current_stream = become, lambda _device=None: current[0]
    driver.standin_copy.restype = ctypes.c_void_p
    driver.standin_copy.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
    driver.standin_wait.argtypes = ctypes.c_void_p,
    return streams


ANSWERS = {"digests": 1, "magnitudes": 2, "finite": 4, "same": 8, "first": 16, "summaries": 32, "ranges": 64, "scales": 128,
           "stripes": 256, "rows": 512, "whole": 1024}  # kernel.h


def counts():
    asked = {f"bytes of {name}": driver.standin_answers(flag) for name, flag in ANSWERS.items()}
    return {name: driver.standin_calls(name.encode()) for name in NAMES} \
        | {"bytes": driver.standin_bytes(), "tensors": driver.standin_tensors()} | asked


def report():
    with open(os.environ["STANDIN_REPORT"].format(os.getpid()), "w", encoding="utf-8") as file:
        json.dump(counts(), file)


if "STANDIN_REPORT" in os.environ:
    atexit.register(report)
