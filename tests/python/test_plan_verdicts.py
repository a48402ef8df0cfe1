# SPDX-License-Identifier: Apache-2.0
"""What traincheck-check says of plans that traincheck-collect --plan has captured of jobs and of their single device."""
import json
import unittest

from plan_case import BIN, HEADER, STEPS, PlanCase

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


SHARED = HEADER + """
rank, world = 0, 1
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 7))
optimizer = torch.optim.SGD(model.parameters(), lr=1)
# RENEW
for step in range(3):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(step)).chunk(world)[rank]
    optimizer.zero_grad()
    (model(x).square().sum() / 6).backward()
    for p in model.parameters():
        if world > 1:
            dist.all_reduce(p.grad)
    optimizer.step()
"""

FOLLOWED = SHARED.replace("# RENEW", "import copy; teacher = copy.deepcopy(model).requires_grad_(False)").replace(
    "(model(x).square()", "((model(x) - teacher(x + 1)).square()") + """
    for old, new in zip(teacher.parameters(), model.parameters()):
        old.lerp_(new.detach(), 1 - DECAY)
"""

WRAPPED = SHARED.replace("# RENEW", "net = nn.parallel.DistributedDataParallel(model) if world > 1 else model").replace(
    "(model(x).square().sum() / 6).backward()", """with CONTEXT:
        called = CALLED
        (called(x).square().sum() / len(x)).backward()""").replace("            dist.all_reduce(p.grad)\n", "            pass\n")


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

    def test_an_optimizer_that_was_made_before_the_model_was_changed(self):
        self.plan(SHARED, folder="single")
        for value, said in (("torch.ones(5, 3)", f"script.py:{self.line_of(SHARED, 'optimizer.step()')}: 0.weight is not updated: the "
                             "optimizer trains 1 tensor that the model does not have, as if it was made before the model was sharded"),
                            ("model[0].weight.detach().clone()", "0.weight after the step")):  # taken for a copy that it keeps
            self.plan(SHARED.replace("# RENEW", f"if world > 1: model[0].weight = nn.Parameter({value})"), "--plan-world", "2",
                      folder=value[:5])
            code, text = self.verdict(value[:5], "single")
            self.assertEqual(code, 1, text)
            self.assertTrue(text.startswith(said), text)

    def test_a_gradient_that_is_left_from_the_step_before(self):
        self.plan(SHARED, folder="single")
        self.plan(SHARED.replace("optimizer.zero_grad()", "optimizer.zero_grad() if world == 1 else None"), "--plan-world", "2",
                  folder="two")
        code, text = self.verdict("two", "single")
        self.assertEqual(code, 1, text)
        self.assertIn("gradient of 0.weight", text.splitlines()[0])
        emptied = "optimizer.zero_grad(set_to_none=world == 1)"  # zeros that a right job adds to
        self.plan(SHARED.replace("optimizer.zero_grad()", emptied), "--plan-world", "2", folder="zeros")
        code, text = self.verdict("zeros", "single")
        self.assertEqual(code, 0, text)

    def test_a_wrapper_that_sums_nothing_is_told_with_its_reason(self):
        plain, unsynced = "torch.enable_grad()", "net.no_sync() if world > 1 else torch.enable_grad()"
        def script(context, called):
            return WRAPPED.replace("CONTEXT", context).replace("CALLED", called)
        self.plan(script(plain, "net"), folder="single")
        with_line, call_line = (f"script.py:{self.line_of(WRAPPED, part)}" for part in ("with CONTEXT", "called(x)"))
        for n, (context, called, wanted) in enumerate((
                (plain, "net", None), (plain, "model", f"is not what is called at {call_line}"),
                (unsynced, "net", f"is called within no_sync() at {call_line}, made at {with_line}"))):
            self.plan(script(context, called), "--plan-world", "2", folder=f"job{n}")
            code, text = self.verdict(f"job{n}", "single")
            self.assertEqual(code, int(wanted is not None), text)
            self.assertIn(f"DistributedDataParallel, which sums it, {wanted}" if wanted else "verified", text)
        by_hand = script(plain, "net").replace("else model", "else model; net.require_backward_grad_sync = world == 1")
        self.plan(by_hand, "--plan-world", "2", folder="by_hand")
        code, text = self.verdict("by_hand", "single")
        self.assertEqual(code, 1, text)
        self.assertIn(f"is called within no_sync() at {call_line}\n", text)

    def test_a_teacher_that_follows_the_model_is_a_tensor_of_the_step(self):
        """On a fake process group the steps before give it other numbers than one device has."""
        self.plan(FOLLOWED.replace("DECAY", "0.75"), folder="single")
        for decay, wanted in (("0.75", 0), ("0.75 if world == 1 else 0.5", 1)):
            self.plan(FOLLOWED.replace("DECAY", decay), "--plan-world", "2", folder=f"two{wanted}")
            code, text = self.verdict(f"two{wanted}", "single")
            self.assertEqual(code, wanted, text)
        self.assertTrue(text.startswith(f"script.py:{self.line_of(FOLLOWED, 'lerp_')}: 0.weight#2 after the step"), text)

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
        both = pairs[0] * (0.5 - pairs[1].conj()) / (2 + pairs[1].abs())
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

    def test_the_numbers_of_a_script_are_those_without_a_plan(self):
        text = HEADER + """
torch.manual_seed(0)
weight = nn.Parameter(torch.randn(4, 6))
optimizer = torch.optim.SGD([weight], lr=0.1)
some, real = torch.randn(4, 3, dtype=torch.complex64), torch.randn(4, 3)
for step in range(3):
    z = torch.view_as_complex(weight.unflatten(1, (3, 2)))
    parts = [z + 1, 2 - z, z + 1j, z - some, z + real, z * 1j, z * 3, z / some, real / z, z.conj() * some, z / 2, z.sum(1), z.mean(),
             z.flip(-1), z[[2, 0]], torch.cat([z, some], -1), torch.stack([z, some], -1), torch.where(real > 0, z, some),
             torch.polar(z.abs(), real), torch.complex(z.real, real), z.clone().add_(some).mul_(2), -z, z.roll(1), z.sgn()]
    print([round(float(part.abs().square().sum()), 3) for part in map(torch.Tensor.detach, parts)], flush=True)
    sum((torch.view_as_real(part) * 0.1).square().sum() for part in parts).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
        plain = self.plain(text)
        self.assertEqual(plain.code, 0, plain.err)
        steps = self.plan(text).out.splitlines()
        self.assertGreater(len(steps), 1)
        for step, as_ever in zip(steps, plain.out.splitlines()):
            for number, other in zip(json.loads(step), json.loads(as_ever), strict=True):
                self.assertAlmostEqual(number, other, delta=0.01)
        self.assertEqual({op for op in self.read()[0].names() if op.startswith("complex.")},
                         {"complex.aten.roll.default", "complex.aten.masked_fill_.Scalar"})

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


if __name__ == "__main__":
    unittest.main()
