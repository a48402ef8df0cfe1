# SPDX-License-Identifier: Apache-2.0
"""Run by a traced process before its script, where two runs are to leave the same trace: what the script's seeds leave open is settled.

Python's and numpy's own random numbers, the names of temporary folders, identifiers, and how many workers a loader has: of two the batches come in an
order, and so the records of their memory, that only the clock decides. Of one they do not."""
import os
import random
import tempfile
import uuid

random.seed(0)
tempfile._RandomNameSequence.rng = property(lambda self: names)
names = random.Random(os.environ.get("RANK", ""))
uuid.uuid4 = lambda: uuid.UUID(int=names.getrandbits(128), version=4)

try:
    import numpy
    import torch.utils.data
except ImportError:
    pass
else:
    numpy.random.seed(0)
    set_attribute = torch.utils.data.DataLoader.__setattr__

    def with_one_worker(self, name, value):
        set_attribute(self, name, min(value, 1) if name == "num_workers" else value)

    torch.utils.data.DataLoader.__setattr__ = with_one_worker
