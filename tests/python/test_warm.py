# SPDX-License-Identifier: Apache-2.0
"""What tests run in children of an interpreter with torch leaves the trace, the output and the exit status of a process of its own."""
import json
import unittest

from traced import Case, Warm

TRAINING = """
import atexit, sys
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm, self.head = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(F.dropout(F.relu(self.norm(self.layer(x))), 0.1, self.training))

def train(net, loader):
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return loss.item()

atexit.register(print, "at exit")
torch.manual_seed(1)
data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randint(2, (32,)))
loss = train(Net(), torch.utils.data.DataLoader(data, batch_size=8, shuffle=True))
print(__name__, sys.argv[1:], loss, sys.stdin.read())
"""

SPAWNING = """
import sys
import torch
from torch import multiprocessing

def work(rank, n):
    torch.manual_seed(rank)
    for _ in range(n + rank):
        torch.ones(2)

def fail(rank):
    torch.ones(3)
    sys.exit(3)

if __name__ == "__main__":
    torch.manual_seed(1)
    multiprocessing.spawn(work, (5,), nprocs=2)
    process = multiprocessing.get_context("spawn").Process(target=fail, args=(0,))
    process.start()
    process.join()
    server = multiprocessing.get_context("forkserver").Process(target=work, args=(2, 5))
    server.start()
    server.join()
    print(process.exitcode, server.exitcode, __file__.rpartition("/")[2])
"""

ENDS = {
    "raises": "def f(): raise ValueError('no')\nf()",
    "is ended by itself": "import sys; sys.exit(3)",
    "says why": "import sys; sys.exit('a reason')",
    "is killed": "import os; os.kill(os.getpid(), 9)",
    "is ended by os._exit": "import os; os._exit(5)",
}
# Clocks and processes.
OF_A_RUN = "t", "pid", "ppid", "monotonic_ns", "unix_ns"


class Same(Warm):
    """As in a process of its own."""

    def cold(self, text, *args):
        return self.collect("--overwrite", self.script(text), *args, python=Case.python, folder="cold", stdin="input")

    def warm(self, text, *args, env=None):
        return self.collect("--overwrite", self.script(text), *args, stdin="input", env=env)

    def content(self, run):
        file, = run.files()
        return [json.dumps({key: value for key, value in record.items() if key not in OF_A_RUN}) for record in run.records(file)]

    def test_of_a_training(self):
        cold, warm = self.cold(TRAINING, "a", "b"), self.warm(TRAINING, "a", "b")
        self.assertEqual((warm.code, warm.out, warm.err), (cold.code, cold.out, cold.err))
        self.assertEqual(warm.out.splitlines()[-1], "at exit")
        self.assertGreater(len(warm.records()), 400)
        self.assertEqual(self.content(warm), self.content(cold))
        self.assert_whole(warm)

    def test_of_a_job_that_spawns_its_processes(self):
        """As test_children.py asks of real interpreters."""
        run = self.warm(SPAWNING, env={"WARM_SPAWNS": "1"})
        self.assertEqual((run.code, run.out, run.err), (0, "3 0 script.py\n", ""))
        traces = [run.records(file) for file in run.files()]
        parents = {t[0]["pid"]: t[0]["ppid"] for t in traces}
        self.assertEqual(sum(ppid in parents for ppid in parents.values()), 3)  # the parent of the fourth is the fork server
        calls = [[r["fn"] for r in t if r["type"] == "call"] for t in traces]
        found = sorted((fns.count("torch.ones"), fns.count("torch.manual_seed")) for fns in calls)
        self.assertEqual(found, [(0, 1), (1, 0), (5, 1), (6, 1), (7, 1)])
        self.assert_whole(run)

    def test_of_a_script_that_ends_otherwise(self):
        for how, text in ENDS.items():
            with self.subTest(how):
                cold, warm = self.cold(text), self.warm(text)
                self.assertEqual((warm.code, warm.out, warm.err), (cold.code, cold.out, cold.err))


if __name__ == "__main__":
    unittest.main()
