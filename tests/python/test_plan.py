# SPDX-License-Identifier: Apache-2.0
"""traincheck-collect --plan: what the plan of a step holds. Torch does the work, the ranks are those of a fake process
group; one job runs for real, over gloo."""
import json
import unittest

from plan_case import BIN, HEADER, STEPS, PlanCase
from traced import PYTHON

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
                         {n + ":momentum_buffer" for n in ("up", "down", "norm.weight", "norm.bias")})

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
        self.assertIn(self.single.results["up.grad"]["t"][1], clones)  # as the next zero_grad() writes the gradient
        self.assertEqual(len(clones), 4)
        self.assertEqual(self.single.results["up"]["t"][1], self.single.inits["up"]["t"][1])

    def test_only_the_first_rank_is_heard(self):
        self.assertEqual(self.run_of_two.out.count("step 0"), 1)
        self.assertIn("2 of 2 ranks", self.run_of_two.said)

    def test_a_step_of_a_real_job_has_the_same_plan(self):
        command = [self.python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29871"]
        self.work.joinpath("layout").write_text("mesh tp=2\nup 0 tp\ndown 1 tp\n")
        run = self.execute([BIN / "traincheck-collect", "--plan", self.work / "real", "--plan-layout",
                            self.work / "layout", "--", *command, self.script(TENSOR_PARALLEL)], self.work)
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("2 plans in", run.said)
        for real, fake in zip(self.read("real"), self.ranks, strict=True):
            self.assertEqual(real.ops, [{**o, "value": r["value"]} if "value" in o else o
                                        for o, r in zip(fake.ops, real.ops, strict=True)])
            self.assertEqual((real.inits, real.results, real.consts), (fake.inits, fake.results, fake.consts))


    def test_a_world_of_one_axis_needs_no_mesh_line(self):
        self.work.joinpath("short").write_text("up 0 world\ndown 1 world\n")
        self.plan(TENSOR_PARALLEL, "--plan-world", "2", "--plan-layout", self.work / "short", folder="short_plans")
        for short, plan in zip(self.read("short_plans"), self.ranks, strict=True):
            self.assertEqual(short.head["mesh"], [{"name": "world", "ranks": [0, 1]}])
            places = [{n: {**i, "by": None} for n, i in p.inits.items()} for p in (short, plan)]
            self.assertEqual(*places)

    def test_a_dimension_over_two_axes(self):
        self.work.joinpath("short").write_text("mesh outer=1 tp=2\nup 0 outer\nup 0 tp\ndown 1 tp\n")
        self.plan(TENSOR_PARALLEL, "--plan-world", "2", "--plan-layout", self.work / "short", folder="short_plans")
        for short, plan in zip(self.read("short_plans"), self.ranks, strict=True):
            self.assertEqual((short.inits["up"]["global"], short.inits["up"]["at"]),
                             (plan.inits["up"]["global"], plan.inits["up"]["at"]))
            self.assertEqual(short.inits["up"]["by"], [[0, "outer"], [0, "tp"]])

    def test_what_gloo_copies_while_a_job_waits_is_no_operator(self):
        script = self.script(HEADER + """
dist.init_process_group("gloo")
model = nn.Linear(4, 6, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    part = torch.empty(12)
    dist.reduce_scatter_tensor(part, model.weight.grad.view(-1))
    dist.all_gather_into_tensor(model.weight.grad.view(-1), part)
    optimizer.step()
dist.destroy_process_group()
""")
        run = self.execute([BIN / "traincheck-collect", "--plan", self.work / "waits", "--", self.python, "-m", "torch.distributed.run",
                            "--standalone", "--nproc-per-node", "2", script], self.work)
        self.assertEqual(run.code, 0, run.err)
        for plan in self.read("waits"):
            self.assertEqual(len(plan.named("c10d._reduce_scatter_base_")), 1)
            self.assertEqual(plan.named("aten.copy_"), [])


LIBRARY = HEADER + """
import contextlib
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

kind = sys.argv[1]
dist.init_process_group("nccl")  # which this machine has not
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(6), nn.Linear(6, 16), nn.Linear(16, 6)
    def forward(self, x):
        return self.down(torch.relu(self.up(self.norm(x))))  # LINE OF DOWN
torch.manual_seed(0)
model = net = Mlp()
if kind == "tensor":
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    parallelize_module(model, mesh, {"norm": SequenceParallel(sequence_dim=0), "up": ColwiseParallel(input_layouts=Shard(0)),
                                     "down": RowwiseParallel()})
elif kind == "fsdp":
    fully_shard(model, mesh=init_device_mesh("cpu", (2,), mesh_dim_names=("dp",)))
else:
    net = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for step in range(3):
    rows = torch.randn(4, 6)
    for i, part in enumerate(rows.chunk(2)):
        with net.no_sync() if kind == "ddp" and i == 0 else contextlib.nullcontext():
            net(part).square().mean().backward()
    if kind != "tensor":
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    torch.save(model.state_dict(), "checkpoint.pt")
"""


class TestLibraries(PlanCase):
    """What PyTorch's own parallel APIs do below what a script says."""

    def test_tensor_parallelism_of_dtensor(self):
        self.plan(LIBRARY, "--plan-world", "2", args=["tensor"])
        plans = self.read()
        for rank, plan in enumerate(plans):
            self.assertEqual((plan.inits["up.weight"]["at"], plan.inits["down.weight"]["at"]),
                             ([8 * rank, 0], [0, 8 * rank]))
            self.assertEqual(plan.inits["up.weight:exp_avg"]["at"], [8 * rank, 0])
            self.assertEqual(plan.head["mesh"], [{"name": "tp", "ranks": [0, 1]}])
        plan = plans[0]
        implicit = {name for name in plan.names() if name.startswith("_c10d_functional.")}
        self.assertTrue({"_c10d_functional.all_gather_into_tensor.default",
                         "_c10d_functional.all_reduce.default"} <= implicit, implicit)
        self.assertNotIn("_c10d_functional.wait_tensor.default", implicit)
        self.assertEqual({tuple(o["pg"][1]) for o in (op["a"] for op in plan.ops) if "pg" in o}, {(0, 1)})
        self.assertEqual(plan.results["norm.weight.grad"]["partial"], ["tp"])  # which the optimizer finishes
        reads = [ref[1] for op in plan.ops for ref in op["a"].values() if isinstance(ref, list) and ref[:1] == ["t"]]
        written = {t[1] for op in plan.ops for t in op["out"] if t} | set(plan.consts)
        self.assertTrue(set(reads) <= written | {i["t"][1] for i in plan.inits.values()})  # nothing comes from nowhere

    def test_a_strided_shard_lies_in_pieces(self):
        self.plan(HEADER + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.distributed.tensor.placement_types import _StridedShard
class Fused(nn.Module):  # gate and up projection in one: each rank has a part of both
    def __init__(self, mesh):
        super().__init__()
        self.weight = nn.Parameter(distribute_tensor(torch.ones(12, 5), mesh, [_StridedShard(0, split_factor=2)]))
    def forward(self, x):
        return self.weight.to_local() @ x
dist.init_process_group("gloo")
model = Fused(init_device_mesh("cpu", (2,)))
optimizer = torch.optim.SGD(model.parameters(), lr=1)
for step in range(3):
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
""", "--plan-world", "2")
        self.assertEqual([(p.inits["weight"]["global"], p.inits["weight"]["pieces"]) for p in self.read()],
                         [([12, 5], [[[3 * k, 0], [3, 5], [6 * k + 3 * rank, 0]] for k in range(2)]) for rank in range(2)])

    def test_shards_and_gathers_of_fsdp2(self):
        self.plan(LIBRARY, "--plan-world", "2", args=["fsdp"])
        first, second = self.read()
        self.assertEqual([p.inits["up.weight"]["at"] for p in (first, second)], [[0, 0], [8, 0]])
        gather, = {o["out"][0][3][0] for o in first.named("fsdp.all_gather_copy_in")}
        self.assertEqual(gather, (6 + 6 + 96 + 16 + 96 + 6) // 2)  # its own part, not all
        self.assertTrue(first.named("c10d._allgather_base_") and first.named("c10d._reduce_scatter_base_"))
        self.assertFalse((self.work / "checkpoint.pt").exists())

    def test_buckets_of_ddp_and_a_part_without_reduction(self):
        self.plan(LIBRARY, "--plan-world", "2", args=["ddp"])
        plan, _ = self.read()
        self.assertEqual(len(plan.named("c10d.allreduce_")), 1)  # of two backward passes
        self.assertEqual(set(plan.results), {n + g for g in ("", ".grad") for n in (
            "norm.weight", "norm.bias", "up.weight", "up.bias", "down.weight", "down.bias")})
        line = self.line_of(LIBRARY, "LINE OF DOWN")
        down = [o for o in plan.named("aten.addmm") if o["mod"] == "down"]
        self.assertEqual([o["src"][0] for o in down], [f"script.py:{line}, in forward"] * 2)

    def test_a_rank_that_was_not_captured_is_like_one_that_was(self):
        self.plan(LIBRARY.replace("init_device_mesh(\"cpu\", (2,), mesh_dim_names=(\"dp\",))",
                                  "init_device_mesh(\"cpu\", (2, 2), mesh_dim_names=(\"copy\", \"dp\"))"),
                  "--plan-world", "4", "--plan-ranks", "0,1", args=["fsdp"])
        lines = [json.loads(line) for line in (self.work / "plan" / "plan-like.jsonl").read_text().splitlines()]
        heads = [line for line in lines if "plan" in line]
        self.assertEqual([(h["rank"], h["like"]) for h in heads], [(2, 0), (3, 1)])
        self.assertEqual(heads[1]["mesh"], [{"name": "copy", "ranks": [1, 3]}, {"name": "dp", "ranks": [2, 3]}])
        self.assertEqual([line for line in lines if "plan" not in line], [])  # the copies lie where the others do


PIPELINE = HEADER + """
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
dist.init_process_group()
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.ModuleDict({str(rank): nn.Linear(3, 3)})
example = torch.empty(2, 3)
stage = PipelineStage(model[str(rank)], rank, 2, torch.device("cpu"), input_args=(example.clone().requires_grad_(rank > 0),),
                      output_args=(example.clone().requires_grad_(),))
schedule = Schedule1F1B(stage, 2, loss_fn=nn.functional.mse_loss)
optimizer = torch.optim.SGD(model.parameters(), lr=1)
for step in range(3):
    schedule.step(*([torch.ones(4, 3)] if rank == 0 else []), **({"target": torch.zeros(4, 3)} if rank else {}))
    optimizer.step()
    optimizer.zero_grad()
"""


class TestPipeline(PlanCase):
    def test_messages_between_stages_meet_although_a_receive_comes_before_the_first_forward(self):
        self.plan(PIPELINE, "--plan-world", "2", "-j", "2")
        first, last = self.read()
        self.assertEqual([(len(p.named("c10d.send")), len(p.named("c10d.recv_"))) for p in (first, last)], [(2, 2)] * 2)
        self.assertEqual(last.ops[0]["op"], "c10d.recv_.default")
        self.assertEqual((sorted(first.inits), sorted(last.inits)), (["0.bias", "0.weight"], ["1.bias", "1.weight"]))


class TestNames(PlanCase):
    def test_names_that_the_locale_has_no_letters_for(self):
        self.plan(HEADER + """
model = nn.ModuleDict({"größe": nn.Linear(3, 2)})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    model["größe"](torch.ones(1, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
        plan, = self.read()
        self.assertTrue({"größe.weight", "größe.bias"} <= set(plan.inits), set(plan.inits))


    def test_a_wrapper_adds_nothing_though_fsdp_derives_a_class_of_it(self):
        self.plan(HEADER + """
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
model = nn.Sequential(checkpoint_wrapper(nn.Linear(3, 2)), nn.Linear(2, 2))
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""", "--plan-world", "2")
        self.assertEqual(set(self.read()[0].inits), {"0.weight", "0.bias", "1.weight", "1.bias"})


class TestMade(PlanCase):
    def test_what_python_chose_is_known_by_its_line(self):
        text = HEADER + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.first = 1  # LINE OF MEMBER
    def forward(self, x):
        gain = 3.0  # LINE OF NUMBER
        stop = self.first + 2  # LINE OF INDEX
        y = self.inner(x)
        z = [y, x][0]  # LINE OF TENSOR
        part = y[:, self.first:stop].tanh()
        return (z * gain).exp(), part
def run():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # LINE OF OPTIMIZER
    for step in range(3):
        optimizer.zero_grad()
        sum(part.sum() for part in model(torch.ones(2, 4))).backward()
        optimizer.step()
run()
"""
        self.plan(text)
        plan, line = self.read()[0], lambda mark: f"script.py:{self.line_of(text, 'LINE OF ' + mark)}"
        self.assertEqual(plan.named("aten.mul")[0]["made"], [line("TENSOR"), line("NUMBER")])
        self.assertEqual(plan.named("aten.tanh")[0]["made"][:2], [line("MEMBER"), line("INDEX")])
        self.assertIn(line("NUMBER"), plan.named("aten.mul")[1]["made"])  # of the backward
        self.assertIn(line("OPTIMIZER"), plan.named("aten.add_")[0]["made"])

    def test_what_is_computed_between_steps_is_known_by_its_line(self):
        text = HEADER + """
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
table = torch.rand(8, 3)
for step in range(3):
    x = table * 2  # THE LINE
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
        self.plan(text)
        product, = self.read()[0].named("aten.addmm")
        self.assertEqual(product["made"], [f"script.py:{self.line_of(text, 'THE LINE')}"])


class TestWithoutTorch(PlanCase):
    python = PYTHON

    def test_a_script_without_torch_makes_no_plan_and_says_so(self):
        run = self.plan("print(1)\n", code=125)
        self.assertIn("the script ended without importing torch: there is no plan", run.said)


class TestFailures(PlanCase):
    def test_a_script_without_a_step_fails(self):
        run = self.plan(HEADER + "nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()\n", code=125)
        self.assertIn("nothing has written the parameters of a model after a backward: there is no step", run.said)

    def test_a_rank_that_fails_is_named_with_what_it_said(self):
        run = self.plan(HEADER + """
if os.environ["RANK"] == "1":
    sys.exit("no data")
""", "--plan-world", "2", "--plan-step", "1", code=125)
        self.assertIn("rank 0 of 2: the script ended after 0 optimizer steps", run.said)

    def test_no_plans_are_left_of_a_job_of_which_a_rank_fails(self):
        run = self.plan(HEADER + """
dist.init_process_group("gloo")
if os.environ["RANK"] == "1":
    raise ValueError("no data")
""" + STEPS, "--plan-world", "2", code=1)
        self.assertIn("rank 1 of 2: the script ended with status 1 and no plan", run.said)
        self.assertEqual(self.read(), [])

    def test_a_job_that_calls_no_init_process_group_is_no_job_of_two(self):
        run = self.plan(HEADER + STEPS, "--plan-world", "2", code=125)
        self.assertIn("rank 0 of 2: the script is a job of 1: it calls no init_process_group", run.said)
        self.assertEqual(self.read(), [])

    def test_quiet_hides_no_error(self):
        for more in ((), ("--plan-world", "2")):
            run = self.plan(HEADER + "sys.exit(0)\n", "-q", *more, code=125)
            self.assertIn("the script ended after 0 optimizer steps", run.said)
        self.plan(HEADER + STEPS, "-q")
        self.assertEqual(len(self.read()), 1)

    def test_torch_that_was_imported_before_the_script_is_captured(self):
        (self.work / "early").mkdir()
        (self.work / "early/sitecustomize.py").write_text("import torch\n")
        self.plan(HEADER + STEPS, env={"PYTHONPATH": str(self.work / "early")})
        self.assertEqual(len(self.read()), 1)

    def test_another_number_of_ranks_in_the_script_is_an_error(self):
        run = self.plan(HEADER + 'dist.init_process_group("gloo", rank=0, world_size=4)\n', "--plan-world", "2", code=1)
        self.assertIn("the script says world_size=4, but --plan-world 2 was given", run.err)


class TestScalars(PlanCase):
    """A parameter with one element and no dimension has moments of the same form as the number of steps."""

    TEXT = """
import torch

scale = torch.nn.Parameter(torch.tensor(1.3))
optimizer = torch.optim.Adam([scale])
for _ in range(3):
    optimizer.zero_grad()
    (scale ** 2).backward()
    optimizer.step()
"""

    def test_its_moments_are_starts_and_the_number_of_steps_is_a_constant(self):
        self.plan(self.TEXT)
        plan, = self.read()
        states = [name.rpartition(":")[2] for name, init in plan.inits.items() if init["init"] == "state"]
        self.assertEqual(sorted(states), ["exp_avg", "exp_avg_sq"])
        self.assertIn([1.0], [const["data"] for const in plan.consts.values()])


if __name__ == "__main__":
    unittest.main()
