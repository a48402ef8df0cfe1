"""traincheck-collect --plan: what the plan of a step holds. Torch does the work, the ranks are those of a fake process
group; one job runs for real, over gloo."""
import json
import unittest

from traced import BIN, PYTHON, Case

HEADER = """
import os, sys, torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist
"""

TENSOR_PARALLEL = HEADER + """
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad

class Mlp(nn.Module):
    def __init__(self, rank, world):
        super().__init__()
        self.world = world
        self.up = nn.Parameter(torch.randn(6 * 4, 5).chunk(world)[rank].clone())
        self.down = nn.Parameter(torch.randn(5, 6 * 4).chunk(world, 1)[rank].clone())
        self.norm = nn.BatchNorm1d(5)
    def forward(self, x):
        hidden = torch.tanh(self.norm(x) @ self.up.t())  # LINE OF MM
        out = hidden @ self.down.t()
        return Sum.apply(out) if self.world > 1 else out

rank, world = 0, 1
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = Mlp(rank, world)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
for step in range(4):
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(step))[2:]
    keep = torch.arange(6) % 2 == 0
    loss = (model(x)[keep] ** 2).mean()
    loss.backward()
    total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    if total.item() > 1e9:
        print("never")
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    print("step", step, flush=True)
"""


class Plan:
    """The lines of a plan by kind."""

    def __init__(self, path):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.head = lines[0]
        self.ops = [o for o in lines if "op" in o]
        self.inits = {o["name"]: o for o in lines if "init" in o}
        self.consts = {o["const"]: o for o in lines if "const" in o}
        self.results = {o["result"]: o for o in lines if "result" in o}

    def named(self, name):
        return [o for o in self.ops if o["op"].rpartition(".")[0] == name or o["op"] == name]

    def names(self):
        return [o["op"] for o in self.ops]


class PlanCase(Case):
    def plan(self, text, *options, args=(), folder="plan", code=0):
        command = [BIN / "traincheck-collect", "--python", PYTHON, "--plan", self.work / folder, *options]
        run = self.execute([*command, self.script(text), *args], self.work / folder)
        self.assertEqual(run.code, code, run.err + run.said)
        return run

    def read(self, folder="plan"):
        return [Plan(path) for path in sorted((self.work / folder).glob("plan-*.jsonl"))]

    def line_of(self, text, mark):
        return next(n for n, line in enumerate(text.splitlines(), 1) if mark in line)


class TestStep(PlanCase):
    """What belongs to the step, by one capture of a single-device job and one of two ranks that are not there."""

    @classmethod
    def setUpClass(cls):
        host = cls()
        host.setUp()
        cls.addClassCleanup(host.doCleanups)
        cls.single_run = host.plan(TENSOR_PARALLEL, folder="single")
        host.work.joinpath("layout").write_text("mesh tp=2  # of all ranks\nup 0 tp\ndown 1 tp\n")
        cls.run_of_two = host.plan(TENSOR_PARALLEL, "--plan-world", "2", "--plan-layout", host.work / "layout",
                                   folder="two")
        cls.single, = host.read("single")
        cls.ranks = host.read("two")

    def test_the_second_step_is_captured_and_the_script_ends_after_it(self):
        self.assertEqual(self.single.head["step"], 2)
        self.assertEqual(self.single_run.out.split("\n")[:3], ["step 0", "step 1", ""])
        self.assertIn("the script ends here", self.single_run.said)

    def test_each_rank_is_a_process_that_sees_the_world(self):
        self.assertEqual([(p.head["rank"], p.head["world"]) for p in self.ranks], [(0, 2), (1, 2)])
        for plan in self.ranks:
            groups = {tuple(o["a"]["process_group"][1]) for o in plan.named("c10d.allreduce_")}
            self.assertEqual(groups, {(0, 1)})

    def test_a_state_of_the_optimizer_that_exists_is_a_start(self):
        self.assertEqual({n for n, i in self.single.inits.items() if i["init"] == "state"},
                         {n + s for n in ("up", "down", "norm.weight", "norm.bias")
                          for s in (":momentum_buffer", ".grad")})

    def test_a_buffer_that_steps_change_is_a_symbol(self):
        buffers = {n for n, i in self.single.inits.items() if i["init"] == "buffer"}
        self.assertEqual(buffers, {"norm.running_mean", "norm.running_var"})

    def test_views_are_no_operators_but_geometry(self):
        for plan in (self.single, *self.ranks):
            self.assertFalse({"aten.t.default", "aten.view.default", "aten.detach.default"} & set(plan.names()))
        mm = self.single.named("aten.mm")[0]
        self.assertEqual(mm["a"]["mat2"][3:5], [[5, 24], [1, 5]])  # of a transposed weight

    def test_what_comes_from_no_parameter_is_a_constant(self):
        norm, = self.single.named("aten.native_batch_norm")
        const = self.single.consts[norm["a"]["input"][1]]
        self.assertEqual((const["n"], norm["a"]["input"][2]), (30, 0))  # the rows that are read, and not all
        self.assertNotIn("aten.arange.default", self.single.names())

    def test_statistics_that_the_schema_does_not_show_are_written(self):
        norm, = self.single.named("aten.native_batch_norm")
        written = [t[1] for t in norm["out"][3:]]
        self.assertEqual(written, [self.single.inits["norm.running_mean"]["t"][1],
                                   self.single.inits["norm.running_var"]["t"][1]])

    def test_arithmetic_of_the_gradient_that_starts_is_exact(self):
        start = [o for o in self.single.named("aten.div.Scalar") if o["src"][1] == "MeanBackward0"]
        self.assertEqual([o["a"]["other"] for o in start], [15])

    def test_a_backward_operator_has_the_line_and_the_module_of_its_forward(self):
        line = self.line_of(TENSOR_PARALLEL, "LINE OF MM")
        tanh, = self.single.named("aten.tanh_backward")
        self.assertEqual(tanh["src"], [f"script.py:{line}, in forward", "TanhBackward0"])
        norm, = self.single.named("aten.native_batch_norm_backward")
        self.assertEqual(norm["mod"], "norm")

    def test_a_value_that_python_reads_is_told(self):
        line = self.line_of(TENSOR_PARALLEL, "total.item()")
        self.assertIn(f"script.py:{line}", self.single.head["notes"][0])
        self.assertEqual(len(self.single.named("aten._local_scalar_dense")), 1)
        self.assertIn("note: values are read", self.single_run.said)

    def test_the_layout_places_plain_tensors(self):
        self.assertEqual([p.inits["up"]["at"] for p in self.ranks], [[0, 0], [12, 0]])
        self.assertEqual([p.inits["down"]["at"] for p in self.ranks], [[0, 0], [0, 12]])
        self.assertEqual([p.results["down.grad"]["global"] for p in self.ranks], [[5, 24]] * 2)
        self.assertEqual([p.inits["norm.weight"]["at"] for p in self.ranks], [[0], [0]])
        self.assertEqual(self.ranks[1].head["mesh"], [{"name": "tp", "ranks": [0, 1]}])

    def test_results_are_gradients_at_the_step_and_parameters_after_it(self):
        names = {"up", "down", "norm.weight", "norm.bias"}
        self.assertEqual(set(self.single.results), names | {n + ".grad" for n in names})
        clones = {o["out"][0][1] for o in self.single.named("aten.clone")}
        self.assertIn(self.single.results["up.grad"]["t"][1], clones)
        self.assertEqual(self.single.results["up"]["t"][1], self.single.inits["up"]["t"][1])

    def test_only_the_first_rank_is_heard(self):
        self.assertEqual(self.run_of_two.out.count("step 0"), 1)
        self.assertIn("2 of 2 ranks", self.run_of_two.said)

    def test_a_step_of_a_real_job_has_the_same_plan(self):
        command = [PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29871"]
        self.work.joinpath("layout").write_text("mesh tp=2\nup 0 tp\ndown 1 tp\n")
        run = self.execute([BIN / "traincheck-collect", "--plan", self.work / "real", "--plan-layout",
                            self.work / "layout", "--", *command, self.script(TENSOR_PARALLEL)], self.work)
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("2 plans in", run.said)
        for real, fake in zip(self.read("real"), self.ranks, strict=True):
            self.assertEqual(real.ops, [{**o, "value": r["value"]} if "value" in o else o
                                        for o, r in zip(fake.ops, real.ops, strict=True)])
            self.assertEqual((real.inits, real.results, real.consts), (fake.inits, fake.results, fake.consts))


class TestFailures(PlanCase):
    def test_a_script_that_ends_too_early_fails(self):
        run = self.plan(HEADER + """
            model = nn.Linear(2, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=1)
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            """.replace("\n            ", "\n"), code=125)
        self.assertIn("the script ended after 1 optimizer step; --plan-step 2 captures number 2", run.said)

    def test_a_rank_that_fails_is_named_with_what_it_said(self):
        run = self.plan(HEADER + """
if os.environ["RANK"] == "1":
    sys.exit("no data")
""", "--plan-world", "2", "--plan-step", "1", code=125)
        self.assertIn("rank 0 of 2: the script ended after 0 optimizer steps", run.said)


if __name__ == "__main__":
    unittest.main()
