# SPDX-License-Identifier: Apache-2.0
"""Random traces: training loops that forget, repeat and reorder, with numbers from one seed."""
import random

from trace_writer import FORWARD, Trace

FUNCTIONS = ("torch.relu", "torch.nn.functional.mse_loss", "torch.nn.functional.softmax", "torch.nn.functional.dropout", "torch.add", "torch.equal",
             "torch.nn.functional.embedding", "torch.usual")
DEFAULTS = {"torch.usual": {"p": 0.5, "largest": True, "mode": "mean", "eps": 0.0}}
LOADS = ("torch.nn.Module.load_state_dict", "torch.optim.Optimizer.load_state_dict", "torch.load")
OPTIMIZERS = ("torch.optim.SGD", "torch.optim.Adam")
GRADS = ("non_zero", "non_zero", "non_zero", "zero", "tiny")


def some(rng, items):
    return [x for x in items if rng.random() < 0.6]


class RandomRun:
    def __init__(self, rng, folder, rank=None, world=1, pid=100):
        self.rng = rng
        self.t = Trace(folder, rank=rank, world=world, pid=pid)
        if rng.random() < 0.6:
            self.t.call("lib.Engine.prepare", role="library", at="train.py:2")
        self.model, self.batch = self.random_model("model"), 8000
        self.optimizers = [self.random_optimizer() for _ in range(rng.choice((1, 1, 2)))]
        self.groups = [self.t.settings(f"optimizer{i}.param_groups[0]", lr=opt["lr"], idle=True)
                       for i, opt in enumerate(self.optimizers)]
        self.idle = self.groups[1:] if rng.random() < 0.5 else []  # of optimizers that are never seen at work
        self.scheduled = rng.choice(self.groups)
        # a habit holds in most steps; what is no habit happens now and then
        self.habits = {word: rng.choice((0.05, 0.5, 0.95, 1, 1, 1)) for word in
                       ("zero_grad", "forward", "backward", "step", "schedule", "clip", "unscale", "autocast",
                        "changes", "reaches", "reduce", "turns", "log", "restores", "loads_all", "is_whole", "fits",
                        "is_itself", "is_told", "tied", "in_pairs")}
        if self.are_twins:
            self.habits.update(reaches=1, changes=1)

    def random_model(self, name):
        rng, variables = self.rng, {}
        self.are_twins = rng.random() < 0.3
        if self.are_twins:
            return self.t.model(name, {n: {"content": 70, "owner": rng.choice(("torch.nn.Linear", "torch.nn.Embedding"))}
                                       for n in rng.choice((("a.weight", "b.weight"), ("w0", "w1"), ("a.w", "b.v")))})
        contents, shapes = rng.choice(((None, 70), (None,), (70,))), rng.choice((([4], [4, 4]), ([4, 4],)))
        for i in range(rng.randint(1, 4)):
            spec = {"content": rng.choice(contents), "shape": rng.choice(shapes),
                    "requires_grad": rng.random() < 0.8}
            if rng.random() < 0.2:
                spec["attrs"] = {"tensor_model_parallel": True}
            if rng.random() < 0.2:
                spec.setdefault("attrs", {})["dtype"] = "bfloat16"
            if rng.random() < 0.05:
                spec.setdefault("attrs", {}).update({"sharded": True}, **rng.choice(({}, {"part": [0]}, {"part": [1]})))
            variables[f"w{i}"] = {k: v for k, v in spec.items() if v is not None}
        if rng.random() < 0.5:
            variables["running_mean"] = {"kind": "buffer"}
        return self.t.model(name, variables)

    def random_optimizer(self):
        params = some(self.rng, self.model.parameters) if self.rng.random() < 0.7 else None
        return self.t.optimizer(self.model, lr=self.rng.choice((0.1, 0.1, 0.0)), params=params or None,
                                cls=self.rng.choice(OPTIMIZERS))

    def is_due(self, word):
        return self.rng.random() < self.habits[word]

    def declare(self, fn):
        if fn in DEFAULTS and fn not in self.t.declared:
            self.t.declared.add(fn)
            self.t.write({"type": "api", "fn": fn, "role": "function", "defaults": DEFAULTS[fn]})

    def function(self):
        t, rng = self.t, self.rng
        shape = rng.choice(((4, 8), (2, 4, 8)))
        args = {"input": t.tensor(*shape, dtype=rng.choice(("float32", "float32", "bfloat16")))}
        fn = rng.choice(FUNCTIONS)
        result = {"value": t.tensor(*shape), "finite": rng.choice((True, True, True, None, False))}
        if fn.endswith("softmax"):
            args["dim"] = rng.choice((-1, -1, -1, len(shape) - 1, 0))
        elif fn.endswith("dropout"):
            args["training"] = t.stage == "training" if rng.random() < 0.9 else rng.random() < 0.5
            args["p"] = rng.choice((0.5, 0.0))
            result["same"] = ["args.input"] if not args["training"] and self.is_due("is_itself") else []
        elif fn.endswith("add"):
            args["other"] = t.tensor(*rng.choice((shape, shape, (1,))))
        elif fn.endswith("loss"):  # sometimes of what has no gradient, and sometimes of two that have
            asks = rng.random() < 0.95, rng.random() < 0.05
            args.update((k, {**t.tensor(*shape), "requires_grad": a}) for k, a in zip(("input", "target"), asks))
            result = {"value": t.tensor()}
        elif fn.endswith("equal"):
            args["other"] = t.tensor(*shape)
            result = {"value": self.is_due("is_itself")}
        elif fn.endswith("embedding"):
            args["indices"] = t.tensor(*shape[:-1], dtype="int64")
        elif fn.endswith("usual"):
            self.declare(fn)
            args.update(p=rng.choice((0.5, 0.5, 0.1)), largest=rng.random() < 0.9, mode=rng.choice(("mean", "mean", "sum")), eps=0.0)
        if t.ctx and self.is_due("fits"):
            result["value"] = t.tensor(*shape, dtype="bfloat16")
        t.op(fn, at="train.py:30", args=args, **result)

    def layer(self):
        t = self.t
        args = {"input": t.tensor(4, 8)}
        t.enter("torch.nn.Dropout.forward", role="layer", args=args,
                self={"object": "torch.nn.Dropout", "id": 6000, "attrs": {"training": t.stage == "training", "p": 0.25}})
        t.op("torch.nn.functional.dropout", args={**args, "training": t.stage == "training", "p": 0.25}, value=t.tensor(4, 8))
        t.leave(value=t.tensor(4, 8))

    def generate(self):
        """A method of the script, asked for so many tokens."""
        t, rng = self.t, self.rng
        n = rng.choice((3, 5, 8))
        got = n if self.is_due("fits") else rng.choice((n - 1, n, n + 1))
        t.op("__main__.Net.generate", role="method", at="train.py:40", args={"n": n, "beams": 1}, value=t.tensor(4, got))

    def flip(self):
        """Images in pairs, now more and now fewer of them."""
        for _ in range(self.rng.choice((2, 4, 6)) + (not self.is_due("in_pairs"))):
            self.t.op("torch.flip", at="train.py:45")

    def load(self):
        """State that was saved comes back, all of it or a part."""
        t, rng = self.t, self.rng
        for fn in LOADS:
            if rng.random() < 0.3:
                t.call(fn.replace("load_", ""), role="save", at="train.py:4")
        for fn in LOADS:
            if not self.is_due("loads_all"):
                continue
            t.enter(fn, role="load", at="train.py:5", args={"strict": self.is_due("is_whole")} if "Module" in fn else None)
            if "Module" in fn and rng.random() < 0.5:
                self.swap()
            missing = [] if self.is_due("fits") else ["w9"]
            t.leave(value={"dict": {"missing_keys": missing, "unexpected_keys": []}} if "Module" in fn else None)

    def initialise(self):
        t, rng = self.t, self.rng
        for serial in (7001, 7002, 7001 if rng.random() < 0.2 else 7003):
            t.enter("torch.nn.init.xavier_", role="init", at="train.py:6", args={"tensor": t.tensor(4, 4, id=serial), "gain": rng.choice((1.0, 1.0, 2.0))})
            if rng.random() < 0.3:
                t.call("torch.nn.init.normal_", role="init", args={"tensor": t.tensor(4, 4, id=serial)})
            t.leave()

    def swap(self):
        """Other weights for a while; not always are they put back before the model trains on."""
        written = self.model["vars"] if self.are_twins and self.is_due("tied") else [self.rng.choice(self.model["vars"])]
        for v in written:
            self.t.change(v)
        if not self.t.open and self.rng.random() < 0.7:
            stage, self.t.stage = self.t.stage, "evaluation"
            self.forward(training=False)
            self.t.stage = stage
        if self.is_due("restores"):
            for v in written:
                v.version -= 1
                self.t.set(v, data=v.digest)

    def turn(self):
        """A schedule for one of the optimizers, or for one that has been replaced."""
        t, rng = self.t, self.rng
        group = self.scheduled if rng.random() < 0.9 else rng.choice(self.groups)
        t.schedule(group=group, **({"lr": rng.choice((0.5, 0.25, 0.125))} if self.is_due("turns") else {}))

    def forward(self, training):
        t, rng = self.t, self.rng
        batch = self.batch = self.batch if rng.random() < 0.3 else 8000 + rng.randrange(3)
        t.enter(FORWARD, at="train.py:11", ctx=None if training else {"grad": False}, args={"x": t.tensor(4, 8, id=batch) | {"requires_grad": rng.random() < 0.1}},
                self={"object": "__main__.Net", "id": self.model["id"], "role": "root",
                      "attrs": {"training": training if rng.random() < 0.95 else not training}})
        for _ in range(rng.randint(0, 2)):
            rng.choice((self.function, self.function, self.layer))()
        if rng.random() < 0.5:
            for v in some(rng, self.model.buffers):
                t.change(v)
        if rng.random() < 0.03:
            t.throw()
        else:
            t.leave()

    def train_step(self):
        t, rng = self.t, self.rng
        t.ctx = {"autocast": {"cpu": "bfloat16"}} if self.is_due("autocast") else None
        words = ["zero_grad", "forward", "backward", "unscale", "clip", "reduce", "step", "schedule"]
        if rng.random() < 0.1:
            rng.shuffle(words)
        for word in words:
            for optimizer in self.optimizers:
                if self.is_due(word):
                    self.act(word, optimizer)
        t.ctx = None
        if rng.random() < 0.1:
            t.set(rng.choice(self.model["vars"]), dtype=rng.choice(("float32", "bfloat16")))
        for act, odds in ((self.swap, 0.1), (self.load, 0.1), (self.generate, 0.3), (self.initialise, 0.05), (self.flip, 0.5)):
            if rng.random() < odds:
                act()
        if self.is_due("log"):
            t.enter("lib.Engine.log", role="library", at="train.py:50")
            if rng.random() < 0.1:
                self.swap()
            t.leave()

    def act(self, word, optimizer):
        t, rng = self.t, self.rng
        if word == "zero_grad":
            t.zero_grad(optimizer)
        elif word == "forward":
            self.forward(training=True)
        elif word == "backward":
            t.backward(self.model, grad=rng.choice(GRADS), reaches=None if self.is_due("reaches") else [])
        elif word == "step":
            group = self.groups[self.optimizers.index(optimizer)]
            if group not in self.idle and self.is_due("is_told"):
                t.adjust(group, idle=False)
            t.step(optimizer, changes=None if self.is_due("changes") else some(rng, optimizer["vars"]),
                   closure=(lambda: None) if rng.random() < 0.1 else None, raises="E" if rng.random() < 0.03 else None)
        else:
            {"unscale": t.unscale, "clip": t.clip, "reduce": t.all_reduce, "schedule": self.turn}[word]()

    def run(self, steps):
        t, rng = self.t, self.rng
        for act in (self.load, self.initialise, self.swap):
            if rng.random() < 0.5:
                act()
        if rng.random() < 0.3:
            t.enter("torch.utils.data.DataLoader.__next__", at="train.py:9")
            t.call("lib.Sampler.__iter__", role="library")
            t.leave()
        for _ in range(steps):
            t.stage = "training"
            self.train_step()
            t.cut(rng.choice(("data", "zero_grad")))
            if rng.random() < 0.2:
                t.stage = "evaluation"
                self.forward(training=False)
                t.cut("stage")
        if rng.random() < 0.9:
            t.end()
        else:
            t.killed()


class Drifting(random.Random):
    """The numbers of another rank, now and then one of its own."""

    def __init__(self, seed, own, odds):
        super().__init__(seed)
        self.own, self.odds = own, odds

    def random(self):
        number = super().random()
        return self.own.random() if self.own.random() < self.odds else number


def write_workers(rng, folder):
    """Workers of two epochs, which may draw alike in different ones, and should not in one."""
    habit = rng.choice((0.0, 0.0, 0.5))
    for epoch in range(2):
        for i in range(2):
            pid = 200 + 10 * epoch + i
            t = Trace(folder, pid=pid, ppid=100, role="worker")
            t.t += epoch * 10**9
            for k in range(3):
                t.op("numpy.random.seed", role="seed", args={"seed": k if rng.random() < habit else 10 * i + k})
                t.op("numpy.shuffle", args={"x": {"array": "ndarray", "id": t.serial(), "shape": [4], "dtype": "int64",
                                                  "digest": f"{rng.randrange(10**6):016x}"}})
            t.end()


def write(rng, folder, steps=8):
    """A pipeline: one process, or two ranks; and sometimes workers."""
    if rng.random() < 0.3:
        seed, odds = rng.random(), rng.choice((0.0, 0.0, 0.003, 0.05))
        for rank in range(2):
            RandomRun(Drifting(seed, rng, odds * rank), folder, rank, 2, pid=100 + rank).run(steps)
    else:
        RandomRun(rng, folder).run(steps)
    if rng.random() < 0.3:
        write_workers(rng, folder)
