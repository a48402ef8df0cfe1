# SPDX-License-Identifier: Apache-2.0
"""traincheck-collect --plan: what the plan of a step holds. Torch does the work, the ranks are those of a fake process
group; one job runs for real, over gloo."""
import json
import unittest

from traced import BIN, PYTHON, Warm

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
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.head = lines[0]
        self.ops = [o for o in lines if "op" in o]
        self.inits = {o["name"]: o for o in lines if "init" in o}
        self.consts = {o["const"]: o for o in lines if "const" in o}
        self.results = {o["result"]: o for o in lines if "result" in o}

    def named(self, name):
        return [o for o in self.ops if o["op"].rpartition(".")[0] == name or o["op"] == name]

    def names(self):
        return [o["op"] for o in self.ops]


class PlanCase(Warm):
    def plan(self, text, *options, args=(), folder="plan", code=0, env=None):
        command = [BIN / "traincheck-collect", "--python", self.python, "--plan", self.work / folder, *options]
        run = self.execute([*command, self.script(text), *args], self.work / folder, env)
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
        run = self.execute([BIN / "traincheck-collect", "--plan", self.work / "waits", "--", PYTHON, "-m", "torch.distributed.run",
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


STEPS = """
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


COUNTED = HEADER + """
rank, world = 0, 1
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(13, 7), nn.Linear(7, 13))
optimizer = torch.optim.SGD(model.parameters(), lr=1)
for step in range(3):
    made = torch.Generator().manual_seed(step + 5)
    text, tags = (torch.randint(13, (6, 5), generator=made) for _ in range(2))
    tags[:2, :3] = -100
    text, tags = text.chunk(world)[rank], tags.chunk(world)[rank]
    tokens = (tags != -100).sum()
    if world > 1:
        dist.all_reduce(tokens)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(text).flatten(0, 1), tags.flatten(), reduction="sum", ignore_index=-100)
    (loss / tokens).backward()
    if world > 1:
        for p in model.parameters():
            dist.all_reduce(p.grad)
    optimizer.step()
"""


class VerdictCase(PlanCase):
    def verdict(self, parallel, single):
        done = self.execute([BIN / "traincheck-check", "--plan", self.work / parallel, "--plan-reference", self.work / single,
                             "-o", self.work / "report"], None)
        return done.code, done.out + done.err


class TestExchanges(VerdictCase):
    """What ranks give each other of constants, before the step begins."""

    @classmethod
    def setUpClass(cls):
        host = cls()
        host.setUp()
        cls.addClassCleanup(host.doCleanups)
        host.plan(COUNTED, folder="single")
        cls.folder = host.work

    def judged(self, right="", wrong=""):
        self.plan(COUNTED.replace(right, wrong) if right else COUNTED, "--plan-world", "2")
        return self.verdict("plan", self.folder / "single")

    def test_a_count_of_all_ranks_divides_the_loss(self):
        code, text = self.judged()
        self.assertEqual(code, 0, text)
        counts = [o for plan in self.read() for o in plan.named("c10d.allreduce_") if o["out"][0][3] == []]
        self.assertEqual(len(counts), 6)  # of three steps, on two ranks: that of the third comes before it begins

    def test_a_count_of_its_own_is_refuted(self):
        code, text = self.judged("dist.all_reduce(tokens)", "pass")
        self.assertEqual(code, 1, text)

    def test_what_python_computes_from_a_count_is_unjudged_with_its_line(self):
        code, text = self.judged("loss / tokens", "loss / tokens.item()")
        self.assertEqual(code, 3, text)
        self.assertIn(f"script.py:{self.line_of(COUNTED, 'loss / tokens')}: Python read ", text)

    def test_what_is_only_printed_changes_no_verdict(self):
        code, text = self.judged("optimizer.zero_grad()", "optimizer.zero_grad(); print(tokens.item())")
        self.assertEqual(code, 0, text)


OBJECTS = HEADER + """
rank, world = 0, 1
settings = {"rate": 0.5}
if "WORLD_SIZE" in os.environ:
    import torch.distributed.checkpoint as checkpoint
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    box = [settings if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    rows = [None]
    dist.scatter_object_list(scatter_object_output_list=rows, scatter_object_input_list=["even", "odd"] if rank == 0 else None, src=0)
    assert rows[0] == ("even", "odd")[rank], rows
    said = [None] * world
    dist.all_gather_object(said, rank)
    dist.barrier()
    settings = box[0]
torch.manual_seed(0)
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=settings["rate"])
for step in range(3):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(step))[rank::world]
    model(x).square().mean().backward()
    if world > 1:
        for p in model.parameters():
            dist.all_reduce(p.grad, dist.ReduceOp.AVG)
    optimizer.step()
    optimizer.zero_grad()
    if world > 1:
        dist.barrier()
        checkpoint.load({"model": model.state_dict()}, checkpoint_id="nowhere")
        checkpoint.save({"model": model.state_dict()}, checkpoint_id="checkpoint")
"""


class TestObjects(VerdictCase):
    def test_what_one_rank_gives_to_others_and_a_checkpoint(self):
        self.plan(OBJECTS, folder="single")
        self.plan(OBJECTS, "--plan-world", "2")
        code, text = self.verdict("plan", "single")
        self.assertEqual(code, 0, text)
        self.assertFalse((self.work / "checkpoint").exists())

    def test_a_rank_that_does_not_run_gives_nothing(self):
        late = OBJECTS.replace("rank == 0 else None", "rank == 1 else None").replace("src=0", "src=1").replace(
            "settings = box[0]", "settings = box[0] or settings").replace("assert rows", "assert rank == 0 or rows")
        self.plan(late, "--plan-world", "2", "-j", "1")
        self.assertEqual(len(self.read()), 2)


BY_HAND = HEADER + """
rank, world = 0, 1
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
params = list(model.parameters())
whole = torch.cat([p.detach().flatten() for p in params])
size = -(-whole.numel() // world)
part = F.pad(whole, (0, size * world - whole.numel()))[rank * size:][:size].clone()
momentum = torch.zeros_like(part)
for step in range(3):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(step)).chunk(world)[rank]
    model(x).square().mean().backward()
    with torch.no_grad():
        grad = torch.cat([p.grad.flatten() for p in params])
        if world > 1:
            dist.all_reduce(grad)
        grad = F.pad(grad / world, (0, size * world - grad.numel()))
        momentum.mul_(0.5).add_(grad[rank * size:][:size])
        part.sub_(momentum)
        parts = [torch.empty(size) for _ in range(world)]
        dist.all_gather(parts, part) if world > 1 else parts[0].copy_(part)
        for p, new in zip(params, torch.cat(parts)[:whole.numel()].split([p.numel() for p in params])):
            p.copy_(new.view_as(p))
            p.grad = None
"""


PADDED = HEADER + """
rank, world = 0, 1
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Linear(3, 2)
grads, at = torch.zeros(10), 0  # two more than there are
for p in model.parameters() if world > 1 else ():
    p.grad = grads[at:at + p.numel()].view_as(p)
    at += p.numel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(3):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(step)).chunk(world)[rank]
    model(x).square().mean().backward()
    if world > 1:
        dist.all_reduce(grads)
        grads /= world
    else:
        grads = torch.cat([p.grad.flatten() for p in model.parameters()])
    norm = grads.norm()
    for p in model.parameters():
        p.grad /= norm
    optimizer.step()
    if world > 1:
        grads.zero_()
    else:
        optimizer.zero_grad()  # there is no gradient then
"""


TAUGHT = HEADER + """
teacher, model = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(3):
    with torch.no_grad():
        print(model(torch.ones(7, 3)).sigmoid().mean())  # an evaluation, while gradients of the last step are there
    optimizer.zero_grad()
    x = torch.randn(6, 3)
    with torch.no_grad():
        wanted = teacher(x).tanh()
    (model(x) - wanted).square().mean().backward()
    optimizer.step()
"""


APPLIED = HEADER + """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2  # LINE OF BACKWARD
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    rows = torch.randperm(6)[:4]  # LINE OF ROWS
    y = Twice.apply(model(torch.ones(6, 3)))  # LINE OF APPLY
    part = y[:, 1:]  # LINE OF PART
    (y[rows].sum() + part.exp().sum()).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


OWNED = HEADER + """
rank, world = 0, 1
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
params = list(model.parameters())
optimizer = torch.optim.Adam(params[rank::world], lr=0.1, eps=0.1)
for step in range(3):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(step)).chunk(world)[rank]
    model.zero_grad()
    model(x).square().mean().backward()
    for number, p in enumerate(params if world > 1 else ()):
        dist.reduce(p.grad, number % world, dist.ReduceOp.AVG)
    optimizer.step()
    for number, p in enumerate(params if world > 1 else ()):
        dist.broadcast(p.data, number % world)
"""


class TestAnyOptimizer(VerdictCase):
    """Steps that no torch.optim.Optimizer makes, and scripts with fewer steps than asked for."""

    def test_what_writes_parameters_after_a_backward_is_a_step(self):
        run = self.plan(BY_HAND, folder="single")
        self.assertIn("step 1, ", run.said)
        self.assertIn("the script writes the parameters itself: step 1 is captured", run.said)
        self.plan(BY_HAND, "--plan-world", "3", folder="three")  # 26 elements over 3 ranks: one is padding
        single, = self.read("single")
        self.assertEqual(set(single.results), {n + s for n in ("0.weight", "0.bias", "2.weight", "2.bias") for s in ("", ".grad")})
        code, text = self.verdict("three", "single")
        self.assertEqual(code, 0, text)

    def test_a_buffer_of_gradients_that_is_zero_and_padded_holds_numbers(self):
        self.plan(PADDED, folder="single")
        self.plan(PADDED, "--plan-world", "2", folder="two")
        for plan in self.read("two"):
            self.assertEqual({n for n, i in plan.inits.items() if i["init"] == "state"}, set())
            self.assertEqual([c["data"] for c in plan.consts.values() if c["n"] == 10], [[0.0]])
        code, text = self.verdict("two", "single")
        self.assertEqual(code, 0, text)

    def test_what_a_frozen_teacher_computes_before_is_part_of_the_step(self):
        self.plan(TAUGHT)
        plan, = self.read()
        self.assertEqual((plan.head["step"], len(plan.named("aten.tanh"))), (2, 1))  # exact, where a float was rounded
        self.assertEqual(plan.named("aten.sigmoid"), [])
        self.assertNotIn("weight.grad", plan.inits)

    def test_lines_of_an_applied_function_of_constants_and_of_views(self):
        self.plan(APPLIED)
        plan, = self.read()
        line = {mark: f"script.py:{self.line_of(APPLIED, 'LINE OF ' + mark)}" for mark in ("BACKWARD", "ROWS", "APPLY", "PART")}
        (back,) = [o for o in plan.named("aten.mul") if "back" in o]
        self.assertEqual((back["src"][0], back["back"]), (line["BACKWARD"] + ", in backward", [line["APPLY"]]))
        self.assertEqual([o["made"] for o in plan.named("aten.index")], [[line["ROWS"]]])
        self.assertEqual([o["made"] for o in plan.named("aten.exp")], [[line["PART"]]])

    def test_a_parameter_may_be_in_the_optimizer_of_another_rank(self):
        self.plan(OWNED, folder="single")
        self.plan(OWNED, "--plan-world", "2", folder="two")
        for plan in self.read("two"):
            self.assertEqual({n for n, i in plan.inits.items() if i["init"] == "param"},
                             {"0.weight", "0.bias", "2.weight", "2.bias"})
        code, text = self.verdict("two", "single")
        self.assertEqual(code, 0, text)
        self.plan(OWNED.replace("dist.broadcast(p.data, number % world)", "pass"), "--plan-world", "2", folder="kept")
        code, text = self.verdict("kept", "single")
        self.assertEqual(code, 1, text)

    def test_a_wrong_step_by_hand_is_refuted(self):
        self.plan(BY_HAND, folder="single")
        bugs = (("grad / world", "grad"), ("dist.all_reduce(grad)", "pass"),
                ("part.sub_(momentum)", "part.sub_(momentum) if rank else None"))
        for number, (right, wrong) in enumerate(bugs):
            self.plan(BY_HAND.replace(right, wrong), "--plan-world", "2", folder=f"wrong{number}")
            code, text = self.verdict(f"wrong{number}", "single")
            self.assertEqual(code, 1, wrong + text)

    def test_an_optimizer_of_torch_is_the_same_step(self):
        text = BY_HAND.partition("rank, world")[0] + """
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1, momentum=0.5)
x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
model(x).square().mean().backward()
optimizer.step()
"""
        run = self.plan(text, folder="single")
        self.assertIn("the script has no step 2: step 1, its last one, is captured", run.said)
        self.plan(BY_HAND, "--plan-world", "2", folder="two")
        code, text = self.verdict("two", "single")
        self.assertEqual(code, 0, text)

    def test_what_a_script_keeps_from_an_earlier_step_has_no_place(self):
        run = self.plan(BY_HAND, "--plan-step", "2")
        plan, = self.read()
        self.assertEqual(plan.head["step"], 1)
        self.assertIn("the script keeps a tensor that an earlier step has written", run.said)

    def test_a_step_beyond_the_last_takes_the_last(self):
        run = self.plan(HEADER + STEPS, "--plan-step", "9")
        self.assertIn("the script has no step 9: step 4, its last one, is captured", run.said)
        self.plan(HEADER + STEPS, "--plan-step", "4", folder="fourth")
        (last,), (fourth,) = self.read(), self.read("fourth")
        self.assertEqual((last.head["step"], last.ops, last.inits, last.results),
                         (4, fourth.ops, fourth.inits, fourth.results))


ROTATIONS = HEADER + """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.out = nn.Linear(7, 6), nn.Linear(7, 6), nn.Linear(3, 1)
    def forward(self, x, turns):
        pairs = [torch.view_as_complex(y.unflatten(-1, (-1, 2))) * turns for y in (self.query(x), self.key(x))]
        both = pairs[0] * pairs[1].conj() / (2 + pairs[1].abs())
        return self.out(both.abs() + both.imag + torch.view_as_real(pairs[0] + pairs[1]).sum(-1))

torch.manual_seed(0)
ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
if ranks > 1:
    dist.init_process_group("gloo")
model = Attention()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
angles = torch.outer(torch.arange(10.0), 0.3 ** torch.arange(3.0))
turns = torch.polar(torch.ones_like(angles), angles)
for step in range(3):
    x = torch.randn(5, 10, 7, generator=torch.Generator().manual_seed(step)).chunk(ranks, 1)[rank]
    own = turns.chunk(ranks)[0 if "same" in sys.argv else rank]  # THE PLACE
    optimizer.zero_grad()
    model(x, own).square().mean().backward()
    for p in model.parameters():
        if ranks > 1:
            dist.all_reduce(p.grad)
            p.grad /= ranks
    optimizer.step()
"""

EXPERTS = HEADER + """
torch.manual_seed(0)
ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
if ranks > 1:
    dist.init_process_group("gloo")
router, experts = nn.Linear(7, 3), nn.ModuleList(nn.Linear(7, 4) for _ in range(3))
parameters = [*router.parameters(), *experts.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for step in range(3):
    x = torch.randn(46, 7, generator=torch.Generator().manual_seed(step)).chunk(ranks)[rank]
    weight, chosen = router(x).softmax(-1).max(-1)
    counts = torch.bincount(chosen, minlength=3)
    parts = (x * weight[:, None])[chosen.argsort()].split(counts.tolist() if "--lists" in sys.argv else [len(x), 0, 0])
    loss = sum(expert(part).square().sum() for expert, part in zip(experts, parts)) / 46
    print(int(counts[0]))
    optimizer.zero_grad()
    loss.backward()
    for p in parameters:
        if ranks > 1:
            dist.all_reduce(p.grad)
    optimizer.step()
"""


MASTERS = HEADER + """
ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
if ranks > 1:
    dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 9), nn.LayerNorm(9), nn.Tanh(), nn.LayerNorm(9), nn.Linear(9, 4))
whole = list(model.parameters())
sizes = [p.numel() for p in whole]
padding = -sum(sizes) % ranks

def flat(tensors):
    return F.pad(torch.cat([t.reshape(-1) for t in tensors]), (0, padding))

shard = nn.Parameter(flat([p.detach() for p in whole]).chunk(ranks)[rank].clone())
optimizer = torch.optim.AdamW([shard] if ranks > 1 else whole, lr=0.01, eps=1e-3)
for step in range(3):
    x = torch.randn(12, 7, generator=torch.Generator().manual_seed(step)).chunk(ranks)[rank]
    (model(x).square().sum() / 48).backward()
    if ranks > 1:
        shard.grad = torch.empty_like(shard)
        dist.reduce_scatter_tensor(shard.grad, flat([p.grad for p in whole]))
        if "halved" in sys.argv:
            shard.grad /= 2  # THE PLACE
    optimizer.step()
    for p in whole:
        p.grad = None
    if ranks > 1:
        gathered = torch.empty(sum(sizes) + padding)
        dist.all_gather_into_tensor(gathered, shard.detach())
        for p, part in zip(whole, gathered[:sum(sizes)].split(sizes)):
            p.data.copy_(part.view_as(p))
"""


class TestCopies(VerdictCase):
    """An optimizer that trains flat shards in place of the parameters."""

    def test_its_shards_and_their_moments_are_those_of_parameters(self):
        self.plan(MASTERS, folder="single")
        self.plan(MASTERS, "--plan-world", "2", folder="two")
        plan = self.read("two")[1]
        self.assertEqual(plan.head["step"], 2)
        self.assertEqual({n for n in plan.inits if n.startswith("4.weight")}, {"4.weight", "4.weight:exp_avg", "4.weight:exp_avg_sq"})
        self.assertEqual(plan.inits["4.weight:exp_avg"]["flat"], 0)
        code, text = self.verdict("two", "single")
        self.assertEqual(code, 0, text)

    def test_a_wrong_one_is_told_of_the_parameters_after_the_step(self):
        self.plan(MASTERS, folder="single")
        self.plan(MASTERS, "--plan-world", "2", folder="two", args=["halved"])
        code, text = self.verdict("two", "single")
        self.assertEqual(code, 1, text)
        self.assertIn(f"script.py:{self.line_of(MASTERS, 'THE PLACE')}", text.splitlines()[0])


class TestValues(VerdictCase):
    """Complex numbers, and numbers that Python reads."""

    def judge(self, text, *args):
        self.plan(text, folder="single", args=[a for a in args if a.startswith("--")])
        self.plan(text, "--plan-world", "2", folder="two", args=args)
        return self.verdict("two", "single")

    def test_rotations_by_complex_numbers_are_verified(self):
        code, text = self.judge(ROTATIONS)
        self.assertEqual(code, 0, text)

    def test_rotations_by_the_positions_of_another_rank_are_refuted(self):
        code, text = self.judge(ROTATIONS, "same")
        self.assertEqual(code, 1, text)
        self.assertIn("departs at aten.mul", text)

    def test_counts_that_become_sizes_leave_a_plan_unjudged(self):
        code, text = self.judge(EXPERTS, "--lists")
        self.assertEqual(code, 3, text)
        self.assertIn("and made a size of it. It depends on parameters", text)

    def test_a_factor_before_a_sum_is_written(self):
        self.plan(ROTATIONS.replace("dist.all_reduce(p.grad)", "dist.all_reduce(p.grad, dist._make_nccl_premul_sum(0.25))"),
                  "--plan-world", "2", folder="two")
        plan, _ = self.read("two")
        self.assertEqual({o["a"]["reduce_op"] for o in plan.named("c10d.allreduce_")}, {"premul_sum:0.25"})

    def test_counts_that_are_printed_do_not(self):
        self.assertEqual(self.judge(EXPERTS)[0], 0)


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
