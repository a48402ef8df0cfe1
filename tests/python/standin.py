# SPDX-License-Identifier: Apache-2.0
"""Run by a traced script: answers of accelerators come late, as those of the stand-in of the driver (standin_cuda.c) do.

STANDIN is its path. With ASKS_DRIVER the agent may ask the driver for an event, else Python alone. From query number STANDIN_FAILS_AT on the
device is lost. `waited` has an entry for each time that a thread waited for an event."""
import ctypes
import os
import random

from traincheck_agent import device

driver = ctypes.CDLL(os.environ["STANDIN"])
driver.standin_copy.restype = ctypes.c_void_p
driver.standin_copy.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
driver.standin_wait.argtypes = driver.cuEventQuery.argtypes = ctypes.c_void_p,
driver.standin_fail_at(int(os.environ.get("STANDIN_FAILS_AT", "0")))
chance = random.Random(5)
waited = []
kept = []  # memory that a copy may still be on its way to


class Event:
    def __init__(self, host, data):
        kept.append((host, data))
        self.event = driver.standin_copy(host.data_ptr(), data.data_ptr(), data.numel(), chance.choice((0, 0, 100, 3000)))
        if "ASKS_DRIVER" in os.environ:
            self.cuda_event = self.event

    def query(self):
        said = driver.cuEventQuery(self.event)
        if said not in (0, 600):
            raise RuntimeError("the device is lost")
        return said == 0

    def synchronize(self):
        waited.append(1)
        driver.standin_wait(self.event)


def to_host(answers):
    import torch  # which may come later than this
    data = torch.cat(answers.parts)
    host = torch.full_like(data, 0xAA)
    return host, Event(host, data)


device._to_host = to_host
