# SPDX-License-Identifier: Apache-2.0
"""What is recorded of parameters of which each process holds a part: FSDP2 on gloo, on two ranks, and on four of which two
hold the same part (HSDP)."""
import math
import unittest

from traced import BIN, Warm

# Ranks that one interpreter forks. The last layer is too small for two.
SCRIPT = """
import hashlib, math, os, sys
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

shape = tuple(map(int, sys.argv[2:]))
world = math.prod(shape)
def train(rank):
    dist.init_process_group("gloo", init_method="file://" + os.getcwd() + "/" + sys.argv[1], rank=rank, world_size=world)
    torch.manual_seed(0); torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicas", "parts")[-len(shape):])
    fully_shard(model[0], mesh=mesh); fully_shard(model, mesh=mesh)
    o = torch.optim.AdamW(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for step in range(3):
        o.zero_grad(); model(torch.randn(8, 4)).pow(2).mean().backward(); o.step()
    parts = [p.to_local().detach().numpy().tobytes() for p in model.parameters()]
    state = hashlib.sha256(b"".join(parts) + torch.get_rng_state().numpy().tobytes())
    os.write(1, f"{rank} {state.hexdigest()}\\n".encode())
    dist.destroy_process_group()

children = []
for rank in range(world):
    children.append(os.fork())
    if not children[-1]:
        train(rank)
        sys.exit()
for child in children: os.waitpid(child, 0)
"""

# One rank holds the whole, or each of several a part of it; they share each batch. 13 rows of a parameter split unevenly.
JOB = """
import os, sys
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

def train(rank, world, rate):
    torch.manual_seed(0); torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(5, 13), nn.Tanh(), nn.Linear(13, 1))
    if world > 1:
        dist.init_process_group("gloo", init_method="file://" + os.getcwd() + f"/{world}{rate}", rank=rank, world_size=world)
        fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    o = torch.optim.SGD(model.parameters(), lr=rate)
    draws = torch.Generator().manual_seed(1)
    for step in range(6):
        x = torch.randn(12, 5, generator=draws).chunk(world)[rank]
        o.zero_grad(); model(x).pow(2).mean().backward(); o.step()
    if world > 1: dist.destroy_process_group()

world, rate = int(sys.argv[1]), float(sys.argv[2])
if world == 1: train(0, 1, rate)
else:
    children = []
    for rank in range(world):
        children.append(os.fork())
        if not children[-1]:
            train(rank, world, rate)
            sys.exit()
    for child in children: os.waitpid(child, 0)
"""


class Shards(Warm):
    def ranks(self, run):
        """Records of parameters of each rank."""
        out = {}
        for file in run.files():
            records = run.records(file)
            names = {r["var"]: r["name"] for r in records if r["type"] == "var" and "name" in r}
            settings = {r["var"] for r in records if r.get("kind") == "param_group"}
            rank = next((r["text"] for r in records if r.get("code") == "rank"), None)
            if rank:
                out[rank] = [(names[r["var"]], r) for r in records if r["type"] == "var" and r["var"] not in settings]
        return out

    def both(self, *shape):
        """The traced run, once it has been seen to compute what the plain one does."""
        plain, run = (which(SCRIPT, name, *map(str, shape)) for which, name in ((self.plain, "plain"), (self.traced, "traced")))
        self.assertEqual(len(plain.out.splitlines()), math.prod(shape), plain.err)
        self.assertEqual(sorted(run.out.splitlines()), sorted(plain.out.splitlines()))
        self.assert_no_errors(run)
        return run, self.ranks(run)

    def contents(self, variables, wanted):
        return [r["attrs"]["data"] for name, r in variables if name == wanted and "data" in r["attrs"]]

    def test_two_ranks(self):
        run, ranks = self.both(2)
        self.assertEqual(sorted(ranks), ["0/2", "1/2"])
        digests = {}
        for rank, variables in ranks.items():
            first = {name: r["attrs"] for name, r in variables if "owner" in r["attrs"]}
            self.assertEqual(sorted(first), ["model.0.bias", "model.0.weight", "model.2.bias", "model.2.weight"])
            for _, r in variables:
                if "kind" in r:
                    self.assertEqual((r["attrs"]["sharded"], r["attrs"]["placements"], r["attrs"]["mesh"]),
                                     (True, ["S(0)"], [2]))
            shapes = sorted(r["attrs"]["shape"] for _, r in variables if "kind" in r)
            self.assertEqual(shapes, [[1], [1, 6], [6], [6, 4]])
            self.assertEqual({tuple(r["attrs"]["part"]) for _, r in variables if "kind" in r}, {(int(rank[0]),)})
            begins = {name: r["attrs"]["begin"] for name, r in variables if "kind" in r}
            self.assertEqual(begins, {"model.0.weight": 12, "model.0.bias": 3, "model.2.weight": 6, "model.2.bias": 1}
                             if rank == "1/2" else dict.fromkeys(begins, 0))
            digests[rank] = self.contents(variables, "model.0.weight")
            self.assertEqual(len(set(digests[rank])), 4)  # at first, and after each of three steps
            empty = {r["attrs"].get("data") for name, r in variables if name == "model.2.weight"}
            self.assertEqual(empty - {None} == set(), rank == "1/2")
        self.assertFalse(set(digests["0/2"]) & set(digests["1/2"]))

    def test_each_part_on_two_ranks(self):
        """Ranks 0 and 2 hold one half, 1 and 3 the other; gradients are averaged over the four."""
        run, ranks = self.both(2, 2)
        self.assertEqual(sorted(ranks), [f"{rank}/4" for rank in range(4)])
        digests = {}
        for rank, variables in ranks.items():
            first = [r["attrs"] for _, r in variables if "kind" in r]
            self.assertEqual({(tuple(a["placements"]), tuple(a["mesh"]), tuple(a["part"])) for a in first},
                             {(("R", "S(0)"), (2, 2), (int(rank[0]) % 2,))})
            digests[rank] = self.contents(variables, "model.0.weight")
            self.assertEqual(len(set(digests[rank])), 4)
        self.assertEqual((digests["0/4"], digests["1/4"]), (digests["2/4"], digests["3/4"]))
        self.assertFalse(set(digests["0/4"]) & set(digests["1/4"]))
        self.assert_compared(run)

    def test_parts_on_all_ranks_compare_with_the_whole(self):
        """With sketches; the last weights and biases are one row: all but the first rank hold nothing of them."""
        for name, world, rate in ("one", 1, 0.1), ("two", 2, 0.1), ("three", 3, 0.1), ("fast", 2, 0.2):
            run = self.collect("--content", "full", self.script(JOB), world, rate, folder=name)
            self.assertEqual(run.code, 0, run.err)
        for name, against, differs in ("two", "one", False), ("three", "one", False), ("three", "two", False), ("fast", "one", True):
            with self.subTest(name, against=against):
                done = self.execute([BIN / "traincheck-check", name, "--against", against, "-q", "-o", f"{name}-{against}", "-v"], None)
                self.assertEqual(done.code, differs, done.out + done.err)
                self.assertEqual(" of 4 variables of all ranks together are other than those of the reference" in " ".join(done.out.split()), differs, done.out)

    def assert_compared(self, run):
        """The parts are what the invariant is judged on: in the whole nothing may be said of data."""
        (self.work / "i.jsonl").write_text(
            '{"traincheck": "invariants", "schema": 1}\n{"relation": "Consistent/replica", "when": [], '
            '"params": [{"variable": "Parameter", "attr": "data", "to": "equal"}]}\n')
        done = self.execute([BIN / "traincheck-check", run.folder, "-i", "i.jsonl", "-o", "report"], None)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("1 passed", done.err)


if __name__ == "__main__":
    unittest.main()
