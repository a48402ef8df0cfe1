# SPDX-License-Identifier: Apache-2.0
"""Every way in which a job is started: launchers, modules, and how the interpreter is found."""
import os
import pathlib
import unittest

from traced import Case, PYTHON, warm_python

PREFIX = pathlib.Path(PYTHON).parent

DDP = """
    import time, torch, torch.distributed as dist
    from torch import nn
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    ddp = nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    data = torch.Generator().manual_seed(rank)
    for step in range(3):
        opt.zero_grad()
        ddp(torch.randn(8, 4, generator=data)).square().mean().backward()
        opt.step()
    dist.destroy_process_group()
    time.sleep(0.2)  # a thread of gloo that drops its last work while Python ends aborts the process, traced or not
"""

# torchrun starts its ranks by PYTHON_EXEC: a real interpreter and, as each does the same, warm ones.
RANKS = """\
#!/bin/sh
[ "$LOCAL_RANK" = 0 ] && exec '{real}' "$@"
exec '{warm}' "$@"
"""

# How a script is started is no matter of what it imports: all but one call a small package, as to import torch takes longer than all else.
YARD = "def work(): pass\n"
SAY = "import sys, yard; yard.work(); print(sys.argv[1:], __name__)\n"


class Launch(Case):
    def setUp(self):
        super().setUp()
        self.script(YARD, "yard.py")
        self.env = {"PATH": f"{PREFIX}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(self.work)}

    def command(self, *args, folder="trace", options=(), **env):
        return self.collect("--instrument", "yard", *options, "--", *args, folder=folder, env={**self.env, **env})

    def works(self, run):
        """How often each process called yard.work."""
        return sorted(sum(r["type"] == "call" and r["fn"] == "yard.work" for r in run.records(f))
                      for f in run.files())

    def digests(self, records):
        """Content of each variable at the end of each step."""
        names, now, found = {}, {}, []
        for r in records:
            if r["type"] == "var":
                names[r["var"]] = r.get("name", names.get(r["var"]))
                if "data" in r["attrs"]:
                    now[r["var"]] = r["attrs"]["data"]
            elif r["type"] == "step":
                found.append({names[var]: data for var, data in now.items()})
        return found

    def replicas_agree(self, n):
        python = self.script(RANKS.format(real=PYTHON, warm=warm_python(OMP_NUM_THREADS="1")), "python.sh")
        python.chmod(0o755)
        run = self.command("torchrun", "--standalone", "--nproc-per-node", n, self.script(DDP), PYTHON_EXEC=str(python))
        self.assertEqual(run.code, 0, run.err)
        self.assert_no_errors(run)
        traces = [run.records(f) for f in run.files()]
        first = [t[0] for t in traces]
        self.assertEqual(sorted((p["rank"], p["local_rank"], p["world_size"], p["role"]) for p in first),
                         [(rank, rank, n, "main") for rank in range(n)])
        self.assertEqual(sorted(f"trace_{p['host']}_r{p['rank']}_p{p['pid']}.jsonl.zst" for p in first),
                         [f.name for f in run.files()])
        steps = [self.digests(t) for t in traces]
        self.assertEqual(len(steps[0]), 4)  # the beginning and three steps
        self.assertEqual(len(steps[0][-1]), 4)  # two layers with weight and bias
        for other in steps[1:]:
            self.assertEqual(other, steps[0])
        self.assertEqual([a == b for a, b in zip(steps[0], steps[0][1:])], [False] * 3)
        self.assertIn("3 steps, ", run.said)
        self.assertIn(f" of {n} processes", run.said)

    def test_torchrun(self):
        self.replicas_agree(3)

    @unittest.skipUnless((PREFIX / "accelerate").exists(), "needs accelerate")
    def test_accelerate(self):
        config = self.script('{compute_environment: LOCAL_MACHINE, distributed_type: "NO", '
                             'num_processes: 1, use_cpu: true}', "accelerate.yaml")
        run = self.command("accelerate", "launch", "--config_file", config, self.script(SAY), "x")
        self.assertEqual((run.code, run.out), (0, "['x'] __main__\n"), run.err)
        self.assertEqual(self.works(run), [1])

    def test_shell_script(self):
        self.script(SAY, "say.py")
        shell = self.script("""
            python say.py a
            python -m say b c
            python -c 'import torch, yard; yard.work()'
            echo 'import yard; yard.work()' | python -
            python -c 'print("no torch")'
            exit 4
        """, "run.sh")
        run = self.command("bash", shell)
        self.assertEqual((run.code, run.err), (4, ""))
        self.assertEqual(run.out, "['a'] __main__\n['b', 'c'] __main__\nno torch\n")
        self.assertEqual(self.works(run), [1, 1, 1, 1])
        self.assertIn("of 4 processes", run.said)

    def test_nothing_of_torch(self):
        run = self.command("sh", "-c", "echo hello")
        self.assertEqual((run.code, run.out, run.err), (0, "hello\n", ""))
        self.assertIn("nothing was traced", run.said)
        self.assertEqual(run.files(), [])

    def test_a_command_that_is_not_there(self):
        run = self.command("nosuchcommand")
        self.assertEqual(run.code, 125)
        self.assertEqual(run.said, "traincheck-collect: error: nosuchcommand: No such file or directory\n")

    def test_module_of_a_package(self):
        (self.work / "pkg").mkdir()
        self.script("", "pkg/__init__.py")
        self.script(SAY, "pkg/train.py")
        run = self.collect("--instrument", "yard", "-m", "pkg.train", "-o", "x", env=self.env)
        self.assertEqual((run.code, run.out, run.err), (0, "['-o', 'x'] __main__\n", ""))
        self.assertEqual(self.works(run), [1])

    def test_script_from_stdin_and_from_a_folder(self):
        self.script("x = 1\n", "job.py")
        (self.work / "job").mkdir()
        self.script(SAY, "job/__main__.py")
        run = self.collect("--instrument", "yard", "job", "y", env=self.env)
        self.assertEqual((run.code, run.out), (0, "['y'] __main__\n"), run.err)
        self.assertEqual(self.works(run), [1])
        run = self.command("sh", "-c", f"exec '{PYTHON}' - z <job/__main__.py", folder="stdin")
        self.assertEqual((run.code, run.out, self.works(run)), (0, "['z'] __main__\n", [1]))


if __name__ == "__main__":
    unittest.main()
