# SPDX-License-Identifier: Apache-2.0
"""Processes of a job: one file each, no call lost, none twice. Each process makes a number of calls of its own.

What a script starts anew is a real interpreter."""
import collections
import re
import unittest

from traced import BIN, PYTHON, Warm


class Children(Warm):
    def counts(self, run, fn="torch.ones"):
        """How often each process called fn, and its role."""
        found = []
        for f in run.files():
            records = run.records(f)
            calls = [r for r in records if r["type"] == "call"]
            ids = [r["id"] for r in calls]
            # threads write in turns: the order is each one's own
            self.assertEqual(sorted(ids), list(range(len(ids))), f.name)
            ends = collections.Counter(r["id"] for r in records if r["type"] in ("return", "raise"))
            self.assertEqual(ends, {i: 1 for i in ids}, f.name)
            found.append((records[0]["role"], sum(r["fn"] == fn for r in calls)))
        return sorted(found)

    def healthy(self, run):
        """It ends well, and complains of nothing but of what it complains of untraced, as Python 3.13.5 in forked processes."""
        untraced = run.err and self.execute([PYTHON, self.work / "script.py"], None).err
        self.assertEqual((run.code, self.masked(run.err)), (0, self.masked(untraced)))
        self.assert_no_errors(run)

    def masked(self, text):
        return re.sub(r"0x[0-9a-f]+", "0x", text)

    def test_every_way_to_make_a_process(self):
        run = self.traced("""
            import multiprocessing, os, subprocess, sys, torch
            import torch.multiprocessing
            def work(n, *_):
                for _ in range(n): torch.ones(1)
            def ranked(rank, n):
                work(n + rank)
            def python(n):
                return [sys.executable, "-c", f"import torch\\nfor i in range({n}): torch.ones(1)"]
            if __name__ == "__main__":
                work(1)
                for method, n in (("fork", 2), ("spawn", 3), ("forkserver", 4)):
                    p = multiprocessing.get_context(method).Process(target=work, args=(n,))
                    p.start(); p.join(); assert p.exitcode == 0
                torch.multiprocessing.spawn(ranked, (5,), nprocs=2)
                subprocess.run(python(7), check=True)
                if os.fork() == 0:
                    work(8)
                    os._exit(0)
                os.wait()
                if os.fork() == 0:  # a child that traces and then becomes another program
                    work(9)
                    os.execv(sys.executable, python(10))
                os.wait()
                if os.fork() == 0:
                    if os.fork() == 0:  # a child of a child
                        work(11)
                        os._exit(0)
                    os.wait()
                    sys.exit(0)
                os.wait()
                work(1)
        """)
        self.healthy(run)
        # two of the script itself; the child of a fork has not its parent's calls
        self.assertEqual(self.counts(run), [("main", n) for n in (2, *range(2, 12))])
        self.assertIn("of 11 processes", run.said)
        self.all_count_alike(run)

    def all_count_alike(self, run):
        """Who writes, who reads and the end of each file tell of the same number of records: that of the lines."""
        traces = [run.records(f) for f in run.files()]
        ended = [t for t in traces if t[-1]["type"] == "end"]
        self.assertEqual(len(ended), 10)  # all but the one that became another program
        self.assertEqual([t[-1]["events"] for t in ended], [len(t) - 1 for t in ended])
        lines = sum(map(len, traces))
        self.assertIn(f" {lines} records, ", run.said)
        read = self.execute([BIN / "traincheck-infer", run.folder, "-o", self.work / "i.jsonl"], None)
        self.assertIn(f"read {lines} records (", read.err)

    def test_fork_while_threads_trace(self):
        run = self.traced("""
            import os, threading, torch, warnings
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and newer advise against it
            def work(n):
                for _ in range(n): torch.ones(1)
            threads = [threading.Thread(target=work, args=(3000,)) for _ in range(3)]
            [t.start() for t in threads]
            for i in range(8):
                if os.fork() == 0:
                    work(100 + i)
                    os._exit(0)
                work(10)
            [t.join() for t in threads]
            for i in range(8): assert os.wait()[1] == 0
        """)
        self.healthy(run)
        self.assertEqual(self.counts(run), [("main", 100 + i) for i in range(8)] + [("main", 9080)])

    def test_data_loader_workers(self):
        run = self.traced("""
            import torch
            from torch.utils.data import DataLoader, Dataset
            class Data(Dataset):
                def __len__(self): return 12
                def __getitem__(self, i): return torch.full((2,), i)
            if __name__ == "__main__":
                for options in ({"num_workers": 0}, {"num_workers": 2},
                                {"num_workers": 2, "persistent_workers": True},
                                {"num_workers": 1, "multiprocessing_context": "spawn"},
                                {"num_workers": 1, "multiprocessing_context": "forkserver"}):
                    loader = DataLoader(Data(), batch_size=3, **options)
                    for epoch in range(1 if "multiprocessing_context" in options else 2):
                        print(sum(batch.sum().item() for batch in loader))
        """)
        self.healthy(run)
        self.assertEqual(run.out, "132\n" * 8)
        # The first loader has no workers; then two and two (an epoch each), two for both epochs, one
        # and one. Each epoch reads each of the 12 items once.
        counts = self.counts(run, "torch.full")
        self.assertEqual(counts, [("main", 24)] + [("worker", 6)] * 4 + [("worker", 12)] * 4)
        items = collections.Counter(r["args"]["fill_value"] for r in self.calls(run, fn="torch.full"))
        self.assertEqual(items, {i: 8 for i in range(12)})
        for f in run.files():
            records = run.records(f)
            if records[0]["role"] == "worker":
                self.assertEqual({r["type"] for r in records} & {"var", "step"}, set())


if __name__ == "__main__":
    unittest.main()
