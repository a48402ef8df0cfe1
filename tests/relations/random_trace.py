"""Random traces: training loops that forget, repeat and reorder, with numbers from one seed."""
from trace_writer import FORWARD, Trace

FUNCTIONS = ("torch.relu", "torch.nn.functional.softmax", "torch.nn.functional.dropout", "torch.add")
OPTIMIZERS = ("torch.optim.SGD", "torch.optim.Adam")
GRADS = ("non_zero", "non_zero", "non_zero", "zero", "tiny")


def some(rng, items):
    return [x for x in items if rng.random() < 0.6]


class RandomRun:
    def __init__(self, rng, folder, rank=None, world=1, pid=100):
        self.rng = rng
        self.t = Trace(folder, rank=rank, world=world, pid=pid)
        self.model = self.random_model("model")
        self.optimizers = [self.random_optimizer() for _ in range(rng.choice((1, 1, 2)))]
        # a habit holds in most steps; what is no habit happens now and then
        self.habits = {word: rng.choice((0.05, 0.5, 0.95, 1, 1, 1)) for word in
                       ("zero_grad", "forward", "backward", "step", "schedule", "clip", "unscale", "autocast",
                        "changes", "reaches", "reduce")}

    def random_model(self, name):
        rng, variables = self.rng, {}
        for i in range(rng.randint(1, 3)):
            spec = {"content": rng.choice((None, 70)), "shape": rng.choice(([4], [4, 4])),
                    "requires_grad": rng.random() < 0.8}
            if rng.random() < 0.2:
                spec["attrs"] = {"tensor_model_parallel": True}
            if rng.random() < 0.2:
                spec.setdefault("attrs", {})["dtype"] = "bfloat16"
            variables[f"w{i}"] = {k: v for k, v in spec.items() if v is not None}
        if rng.random() < 0.5:
            variables["running_mean"] = {"kind": "buffer"}
        self.t.stage = "training"
        return self.t.model(name, variables)

    def random_optimizer(self):
        params = some(self.rng, self.model.parameters)
        return self.t.optimizer(self.model, lr=self.rng.choice((0.1, 0.1, 0.0)), params=params or None,
                                cls=self.rng.choice(OPTIMIZERS))

    def is_due(self, word):
        return self.rng.random() < self.habits[word]

    def function(self):
        t, rng = self.t, self.rng
        shape = rng.choice(((4, 8), (2, 4, 8)))
        args = {"input": t.tensor(*shape)}
        fn = rng.choice(FUNCTIONS)
        if fn.endswith("softmax"):
            args["dim"] = rng.choice((-1, -1, -1, len(shape) - 1, 0))
        elif fn.endswith("dropout"):
            args["training"] = t.stage == "training" if rng.random() < 0.9 else rng.random() < 0.5
            args["p"] = rng.choice((0.5, 0.0))
        elif fn.endswith("add"):
            args["other"] = t.tensor(*rng.choice((shape, shape, (1,))))
        t.op(fn, at="train.py:30", args=args, value=t.tensor(*shape), finite=rng.choice((True, True, True, None, False)))

    def forward(self, training):
        t, rng = self.t, self.rng
        t.enter(FORWARD, at="train.py:11", ctx=None if training else {"grad": False},
                self={"object": "__main__.Net", "id": self.model["id"], "role": "root",
                      "attrs": {"training": training if rng.random() < 0.95 else not training}})
        for _ in range(rng.randint(0, 2)):
            self.function()
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
            v = rng.choice(self.model["vars"])
            t.change(v) if rng.random() < 0.5 else t.set(v, dtype=rng.choice(("float32", "bfloat16")))

    def act(self, word, optimizer):
        t, rng = self.t, self.rng
        if word == "zero_grad":
            t.zero_grad(optimizer)
        elif word == "forward":
            self.forward(training=True)
        elif word == "backward":
            t.backward(self.model, grad=rng.choice(GRADS), reaches=None if self.is_due("reaches") else [])
        elif word == "step":
            t.step(optimizer, changes=None if self.is_due("changes") else some(rng, optimizer["vars"]),
                   closure=(lambda: None) if rng.random() < 0.1 else None, raises="E" if rng.random() < 0.03 else None)
        else:
            {"unscale": t.unscale, "clip": t.clip, "reduce": t.all_reduce, "schedule": t.schedule}[word]()

    def run(self, steps):
        t, rng = self.t, self.rng
        if rng.random() < 0.5:
            t.call("torch.nn.Module.load_state_dict", role="load", at="train.py:3")
        for i in range(steps):
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


def write(rng, folder, steps=8):
    """A pipeline: one process, or two ranks."""
    if rng.random() < 0.3:
        for rank in range(2):
            RandomRun(rng, folder, rank, 2, pid=100 + rank).run(steps)
    else:
        RandomRun(rng, folder).run(steps)
