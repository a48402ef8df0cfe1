# SPDX-License-Identifier: Apache-2.0
"""Masks hold infinities now and then, and no situation tells when: no invariant."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    for i in range(6):
        t.op("torch.masked_fill", value=t.tensor(4, 4), finite=bool(i % 2))
    t.end()
