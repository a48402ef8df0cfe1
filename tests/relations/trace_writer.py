# SPDX-License-Identifier: Apache-2.0
"""Write traces by hand, call by call, without Python, torch or a collector.

A case says what a training loop did in the words of docs/trace-format.md; the writer keeps ids, times,
steps and stages. Nothing here knows what an invariant is.

    t = Trace(folder)
    model = t.model("model", {"fc.weight": {}, "bn.running_mean": {"kind": "buffer"}})
    adam = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(adam); t.forward(model); t.backward(model); t.step(adam); t.cut("zero_grad")
    t.end()

What a case says nothing about happens as in a healthy script: a backward reaches every parameter that requires
a gradient, a step changes every parameter that has one, zero_grad clears all that the optimizer owns.
"""
import json
import pathlib

APIS = {
    "torch.nn.Module.__call__": "forward",
    "torch.Tensor.backward": "backward",
    "torch.optim.Optimizer.step": "step",
    "torch.optim.Optimizer.zero_grad": "zero_grad",
    "torch.optim.lr_scheduler.LRScheduler.step": "scheduler",
    "torch.nn.utils.clip_grad_norm_": "clip",
    "torch.amp.GradScaler.step": "scaler",
    "torch.amp.GradScaler.unscale_": "unscale",
    "torch.distributed.all_reduce": "collective",
    "torch.distributed.algorithms.Join.__enter__": "uneven",
    "torch.nn.Module.train": "mode",
    "torch.utils.data.DataLoader.__next__": "data",
}
STEP = "torch.optim.Optimizer.step"
FORWARD = "torch.nn.Module.__call__"


def zstd_frame(data):
    """Bytes as one zstd frame of raw blocks: what a reader must take, without a compressor."""
    head = b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little")  # one segment, its size in four bytes
    blocks = [data[i:i + 65536] for i in range(0, len(data), 65536)] or [b""]
    return head + b"".join((len(b) << 3 | (b is blocks[-1])).to_bytes(3, "little") + b for b in blocks)


class Variable:
    def __init__(self, serial, name, spec, root):
        self.serial, self.name, self.root = serial, name, root
        self.kind = spec.get("kind", "Parameter")
        self.content = spec.get("content", serial)  # variables of equal content and version have equal digests
        is_parameter = self.kind == "Parameter"
        self.version = 0
        self.attrs = {"data": self.digest, "grad": "null", "dtype": "float32",
                      "shape": spec.get("shape", [4, 4]), "device": "cpu", "layout": "strided",
                      "requires_grad": spec.get("requires_grad", is_parameter), "is_leaf": True,
                      "owner": spec.get("owner", "torch.nn.Linear"), "training": True}
        self.attrs.update(spec.get("attrs", {}))
        self.is_cleared = True  # since the last step

    @property
    def digest(self):
        return f"{self.content:08x}{self.version:08x}"

    @property
    def has_gradient(self):
        return self.attrs["grad"] not in ("null", "zero")


class Model(dict):
    """What Trace.model returns: name, id, training and vars."""

    @property
    def parameters(self):
        return [v for v in self["vars"] if v.kind == "Parameter"]

    @property
    def buffers(self):
        return [v for v in self["vars"] if v.kind == "buffer"]

    def var(self, name):
        return next(v for v in self["vars"] if v.name == f"{self['name']}.{name}")


class Trace:
    """
    One process. `rank` and `world` are its place in a distributed run, `process` further fields of its first
    record. A blind one looks at no variable.
    """

    def __init__(self, folder, rank=None, world=1, file=None, pid=100, is_blind=False, **process):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.file = (folder / (file or f"trace_host_r-_p{pid}.jsonl")).open("w")
        self.is_blind = is_blind
        self.ctx = None  # of the calls that follow
        self.t = self.calls = self.serials = 0
        self.number, self.stage, self.stepped = 0, "init", False
        self.open, self.declared = [], set()
        head = {"type": "process", "schema": 1, "host": "host", "pid": pid, "role": "main",
                "packages": {"torch": "2.13.0"}, "monotonic_ns": 0, "unix_ns": 1_700_000_000_000_000_000,
                "mode": "full"}
        if rank is not None:
            head.update(rank=rank, world_size=world)
        head.update(process)
        self.write(head)

    def write(self, record):
        if record["type"] == "var" and self.is_blind:
            return
        self.file.write(json.dumps({k: v for k, v in record.items() if v is not None},
                                   separators=(",", ":")) + "\n")

    def tick(self):
        self.t += 1000
        return self.t

    def serial(self):
        self.serials += 1
        return self.serials

    # ---- calls

    def enter(self, fn, /, role=None, at="train.py:1", here=None, by="user", **fields):
        """Open a call; fields are those of a call record. here: the line of the user's that makes it within another call."""
        if fn not in self.declared:
            self.declared.add(fn)
            self.write({"type": "api", "fn": fn, "role": role or APIS.get(fn, "function")})
        self.calls += 1
        top = not self.open
        fields["ctx"] = fields.get("ctx") or self.ctx
        self.write({"type": "call", "id": self.calls, "fn": fn, "t": self.tick(), "step": self.number,
                    "stage": self.stage, "parent": None if top else self.open[-1],
                    "by": by if top else None, "at": at if top else here, **fields})
        self.open.append(self.calls)
        return self.calls

    def leave(self, **fields):
        self.write({"type": "return", "id": self.open.pop(), "t": self.tick(), **fields})

    def throw(self, exc="ValueError"):
        self.write({"type": "raise", "id": self.open.pop(), "t": self.tick(), "exc": exc, "msg": ""})

    def call(self, fn, /, **fields):
        self.enter(fn, **fields)
        self.leave()

    def tensor(self, *shape, dtype="float32", id=None):
        """An operand or a result."""
        return {"tensor": "Tensor", "id": id or self.serial(), "shape": list(shape), "dtype": dtype, "device": "cpu"}

    def op(self, fn, /, value=None, same=None, finite=None, **fields):
        """A call that returns something; fields are those of a call record."""
        self.enter(fn, **fields)
        self.leave(value=value, same=same, finite=finite)

    # ---- variables

    def model(self, name, variables, training=True):
        """A root module that owns variables: {"fc.weight": {attribute: value}}."""
        root = Model(name=name, id=self.serial(), training=training)
        root["vars"] = [Variable(self.serial(), f"{name}.{k}", v, root["id"]) for k, v in variables.items()]
        for v in root["vars"]:
            self.own(v)
        return root

    def own(self, v):
        """A root module has this variable."""
        self.write({"type": "var", "var": v.serial, "t": self.tick(), "name": v.name, "kind": v.kind,
                    "root": v.root, "step": self.number, "stage": self.stage, "attrs": v.attrs})

    def grow(self, model, name):
        """A model is given another parameter."""
        model["vars"].append(Variable(self.serial(), f"{model['name']}.{name}", {}, model["id"]))
        self.own(model["vars"][-1])

    def loose(self, name):
        """A parameter that stands in no model."""
        v = Variable(self.serial(), name, {}, None)
        self.write({"type": "var", "var": v.serial, "t": self.tick(), "name": v.name, "kind": v.kind,
                    "step": self.number, "stage": self.stage, "attrs": v.attrs})
        return v

    def net(self, *parameters, buffers=(), frozen=(), **attrs):
        """A model of the script that is about to be trained; attrs are those of all its parameters."""
        self.stage = "training"
        variables = {p: {"requires_grad": p not in frozen, "attrs": attrs} for p in parameters}
        return self.model("model", variables | {b: {"kind": "buffer"} for b in buffers})

    def parameters(self, model):
        return model.parameters

    def set(self, variable, inside=True, **attrs):
        """A look saw these attributes; the open call is the cause, or none."""
        attrs = {k: v for k, v in attrs.items() if variable.attrs[k] != v}
        if not attrs:
            return
        variable.attrs.update(attrs)
        variable.is_cleared |= not variable.has_gradient
        self.write({"type": "var", "var": variable.serial, "t": self.tick(), "name": variable.name,
                    "step": self.number, "stage": self.stage,
                    "cause": self.open[-1] if inside and self.open else None, "attrs": attrs})

    def change(self, variable, inside=True):
        """Its content is another now."""
        variable.version += 1
        self.set(variable, inside, data=variable.digest)

    # ---- what is no tensor

    def settings(self, name="optimizer.param_groups[0]", kind="param_group", **attrs):
        """A parameter group or a scaler; attrs are its numbers."""
        group = {"id": self.serial(), "attrs": attrs}
        self.write({"type": "var", "var": group["id"], "t": self.tick(), "name": name, "kind": kind,
                    "step": self.number, "stage": self.stage, "attrs": attrs})
        return group

    def adjust(self, group, **attrs):
        """A look saw these numbers; the open call is the cause, or none."""
        self.write({"type": "var", "var": group["id"], "t": self.tick(), "step": self.number, "stage": self.stage,
                    "cause": self.open[-1] if self.open else None, "attrs": attrs})

    # ---- the loop

    def optimizer(self, model, lr=0.01, params=None, cls="torch.optim.Adam"):
        return {"id": self.serial(), "lr": lr, "vars": params or self.parameters(model), "cls": cls}

    def on_optimizer(self, opt):
        return {"self": {"object": opt["cls"], "id": opt["id"], "attrs": {"lr": opt["lr"]}},
                "params": [v.serial for v in opt["vars"]]}

    def zero_grad(self, opt, at="train.py:10", clears=None):
        self.stage = "training"
        self.enter("torch.optim.Optimizer.zero_grad", at=at, **self.on_optimizer(opt))
        for v in opt["vars"] if clears is None else clears:
            self.set(v, grad="null")
        self.leave()

    def zero_grad_of_module(self, model, at="train.py:10"):
        """Module.zero_grad() clears what the module holds, whoever owns it."""
        self.stage = "training"
        self.enter("torch.nn.Module.zero_grad", role="zero_grad", at=at, params=[v.serial for v in model.parameters],
                   self={"object": "__main__.Net", "id": model["id"], "attrs": {"training": model["training"]}})
        for v in model.parameters:
            self.set(v, grad="null")
        self.leave()

    def forward(self, model, changes=(), at="train.py:11", ctx=None, training=None, args=None, value=None):
        self.enter(FORWARD, at=at, ctx=ctx, args=args,
                   self={"object": "__main__.Net", "id": model["id"], "role": "root",
                         "attrs": {"training": model["training"] if training is None else training}})
        for v in model["vars"]:
            if v.name.split(".", 1)[1] in changes:
                self.change(v)
        self.leave(value=value)

    def evaluate(self, model, changes=(), training=False):
        """One forward in evaluation; training: eval() was forgotten."""
        stage, self.stage = self.stage, "evaluation"
        self.forward(model, changes, at="train.py:20", ctx={"grad": False}, training=training)
        self.stage = stage

    def backward(self, model, grad="non_zero", at="train.py:12", reaches=None, hook=None, changes=(), of=None):
        """of: the tensor that it is called of."""
        self.enter("torch.Tensor.backward", at=at, **({"self": of} if of else {}))
        for v in self.parameters(model) if reaches is None else reaches:
            if v.attrs["requires_grad"]:
                self.set(v, grad=grad)
        for v in changes:
            self.change(v)
        if hook:
            hook()
        self.leave(finite=True)

    def step(self, opt, changes=None, uncleared=None, at="train.py:13", closure=None, raises=None, by="user"):
        """
        changes: the variables that change; by default all that have a gradient.
        uncleared: by default those whose gradient no zero_grad cleared since the last step.
        """
        if uncleared is None:
            uncleared = [v for v in opt["vars"] if v.has_gradient and not v.is_cleared]
        self.enter(STEP, at=at, by=by, uncleared=[v.serial for v in uncleared] if uncleared else None,
                   args={"closure": {"object": "function", "id": 9999} if closure else None},
                   **self.on_optimizer(opt))
        if closure:
            closure()
        if changes is None:
            changes = [v for v in opt["vars"] if v.attrs["requires_grad"] and v.attrs["grad"] != "null"]
        for v in changes:
            self.change(v)
        for v in opt["vars"]:
            v.is_cleared = not v.has_gradient
        if raises:
            self.throw(raises)
        else:
            self.leave()
            self.stepped = True

    def schedule(self, by="user", at="train.py:14", group=None, **attrs):
        """attrs: what it adjusts in the group."""
        self.enter("torch.optim.lr_scheduler.LRScheduler.step", at=at, by=by,
                   self={"object": "torch.optim.lr_scheduler.OneCycleLR", "id": 5000, "attrs": {}})
        if attrs:
            self.adjust(group, **attrs)
        self.leave()

    def clip(self, at="train.py:15"):
        self.call("torch.nn.utils.clip_grad_norm_", at=at)

    def scaler_step(self, opt, skips=False, at="train.py:16"):
        self.enter("torch.amp.GradScaler.step", at=at)
        if not skips:
            self.step(opt)
        self.leave()

    def unscale(self, at="train.py:17"):
        self.call("torch.amp.GradScaler.unscale_", at=at)

    def all_reduce(self, at="train.py:18"):
        self.call("torch.distributed.all_reduce", at=at)

    def train_step(self, model, opt, changes=None):
        """One whole window."""
        self.zero_grad(opt)
        self.forward(model)
        self.backward(model)
        self.step(opt, changes)
        self.cut()

    def cut(self, why="data"):
        """Close the window."""
        self.write({"type": "step", "step": self.number, "t": self.tick(), "stage": self.stage, "why": why})
        self.number += self.stepped
        self.stepped = False

    def end(self, exit=0):
        self.cut("end")
        self.write({"type": "end", "t": self.tick(), "events": self.calls, "dropped": 0, "exit": exit})
        self.file.close()

    def killed(self):
        """Nothing more was written."""
        self.file.close()
