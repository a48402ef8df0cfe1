# SPDX-License-Identifier: Apache-2.0
"""A device of torch's kind PrivateUse1 that needs no hardware: own_device.cpp, and what torch asks a module of a device for.

build() compiles it with g++, load() makes it the device "own" of this process."""
import ctypes
import importlib.util
import pathlib
import subprocess
import types

SOURCE = pathlib.Path(__file__).with_suffix(".cpp")


def build(library):
    """Returns what the compiler said, None if it did well. Takes ten seconds."""
    torch = pathlib.Path(importlib.util.find_spec("torch").origin).parent  # to import it takes longer
    folder = torch / "lib"
    includes = [f"-isystem{torch / path}" for path in ("include", "include/torch/csrc/api/include")]
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", *includes, str(SOURCE), "-o", str(library), f"-L{folder}", "-lc10", "-ltorch_cpu",
               "-ltorch", f"-Wl,-rpath,{folder}"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.stderr if done.returncode else None


def _module(driver):
    class Event:
        def record(self, _stream=None):
            self.number = driver.own_device_record()

        def query(self):
            return driver.own_device_query(self.number)

        def synchronize(self):
            driver.own_device_wait(self.number)

    module = types.ModuleType("torch.own")
    module.Event = Event
    module.driver = driver
    module.is_available = module.is_initialized = lambda: True
    module.device_count = lambda: 1
    module.current_device = lambda: 0
    module.current_stream = lambda _device=None: None
    module.manual_seed_all = lambda _seed: None  # the operators are the CPU's, and so is what they draw
    module._is_in_bad_fork = lambda: False
    module._lazy_init = lambda: None
    return module


def load(library):
    import torch
    driver = ctypes.CDLL(str(library))
    driver.own_device_record.restype = ctypes.c_uint64
    driver.own_device_query.argtypes = driver.own_device_wait.argtypes = ctypes.c_uint64,
    driver.own_device_query.restype = ctypes.c_bool
    torch.utils.rename_privateuse1_backend("own")
    driver.own_device_begin()
    torch._register_device_module("own", _module(driver))
    torch.utils.generate_methods_for_privateuse1_backend(for_packed_sequence=False)
