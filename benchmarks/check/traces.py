"""Traces of a plain training loop, made fast and as large as asked for; and invariants of it."""
import ctypes
import ctypes.util
import json

ANCHOR_NS = 1_700_000_000_000_000_000
LAYERS = 24  # each has a weight and a bias, and five calls in a step

_zstd = None


def zstd_frame(data):
    """One frame of libzstd at the level of the collector."""
    global _zstd
    if _zstd is None:
        _zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        _zstd.ZSTD_compressBound.restype = _zstd.ZSTD_compress.restype = ctypes.c_size_t
        _zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
        _zstd.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    bound = _zstd.ZSTD_compressBound(len(data))
    buffer = ctypes.create_string_buffer(bound)
    size = _zstd.ZSTD_compress(buffer, bound, data, len(data), 3)
    return buffer.raw[:size]


def line(**record):
    return json.dumps({k: v for k, v in record.items() if v is not None}, separators=(",", ":")) + "\n"


class Loop:
    """The records of one rank, a step at a time."""

    def __init__(self, rank=0, world=1):
        self.rank, self.world, self.calls, self.t, self.step = rank, world, 0, 0, 0
        self.serials = list(range(1, 2 * LAYERS + 1))

    def name(self):
        return f"trace_host_r{self.rank}_p{100 + self.rank}.jsonl.zst"

    def begin(self):
        apis = {"torch.optim.Optimizer.zero_grad": "zero_grad", "torch.nn.Module.__call__": "forward",
                "torch.Tensor.backward": "backward", "torch.optim.Optimizer.step": "step",
                "torch.nn.Linear.forward": "layer", "torch.nn.functional.linear": "function", "torch.relu": "function",
                "torch.add": "function", "torch.nn.functional.dropout": "function"}
        head = line(type="process", schema=1, host="host", pid=100 + self.rank, role="main", rank=self.rank,
                    world_size=self.world, packages={"torch": "2.13.0"}, monotonic_ns=0, unix_ns=ANCHOR_NS, mode="full")
        text = [head, *(line(type="api", fn=fn, role=role) for fn, role in apis.items())]
        for serial in self.serials:
            name = f"model.{serial // 2}.{'weight' if serial % 2 else 'bias'}"
            text.append(line(type="var", var=serial, t=0, name=name, kind="Parameter", root=999, step=0, stage="training",
                             attrs={"data": f"{serial:016x}", "grad": "null", "dtype": "float32",
                                    "shape": [64, 64] if serial % 2 else [64], "device": "cpu", "layout": "strided",
                                    "requires_grad": True, "is_leaf": True, "owner": "torch.nn.Linear", "training": True}))
        return "".join(text)

    def tick(self):
        self.t += 500
        return self.t

    def call(self, fn, /, parent=None, **fields):
        self.calls += 1
        top = parent is None
        return self.calls, line(type="call", id=self.calls, fn=fn, t=self.tick(), step=self.step, stage="training",
                                parent=parent, by="user" if top else None, at="train.py:31" if top else None, **fields)

    def leave(self, id, **fields):
        return line(type="return", id=id, t=self.tick(), **fields)

    def function(self, fn, parent, /, **args):
        tensor = {"tensor": "Tensor", "id": 100000 + self.calls, "shape": [32, 64], "dtype": "float32", "device": "cpu"}
        id, text = self.call(fn, parent, args={"input": tensor, **args})
        return text + self.leave(id, value=tensor, finite=True)

    def change(self, cause, attr, drifts=False):
        for serial in self.serials:
            digest = f"{(self.step + 2) * 1000003 + serial + drifts:016x}"
            yield line(type="var", var=serial, t=self.tick(), name=f"model.{serial // 2}", step=self.step,
                       stage="training", cause=cause, attrs={"data": digest} if attr == "data" else {"grad": attr})

    def one_step(self, breaks=False, drifts=False):
        """About 430 records. breaks: the optimizer changes nothing; drifts: it changes to something of its own."""
        on_optimizer = {"self": {"object": "torch.optim.SGD", "id": 998, "attrs": {"lr": 0.1}}, "params": self.serials}
        id, text = self.call("torch.optim.Optimizer.zero_grad", **on_optimizer)
        text = [text, *self.change(id, "null"), self.leave(id)]
        root, enter = self.call("torch.nn.Module.__call__", self={"object": "__main__.Net", "id": 999, "role": "root",
                                                                   "attrs": {"training": True}})
        text.append(enter)
        for i in range(LAYERS):
            layer, enter = self.call("torch.nn.Linear.forward", root,
                                     self={"object": "torch.nn.Linear", "id": 1000 + i, "attrs": {"training": True}})
            text += [enter, self.function("torch.nn.functional.linear", layer), self.leave(layer),
                     self.function("torch.relu", root), self.function("torch.add", root),
                     self.function("torch.nn.functional.dropout", root, p=0.1, training=True)]
        text.append(self.leave(root))
        id, enter = self.call("torch.Tensor.backward")
        text += [enter, *self.change(id, "non_zero"), self.leave(id, finite=True)]
        id, enter = self.call("torch.optim.Optimizer.step", **on_optimizer)
        text += [enter, *(() if breaks else self.change(id, "data", drifts)), self.leave(id)]
        text.append(line(type="step", step=self.step, t=self.tick(), stage="training", why="data"))
        self.step += 1
        return "".join(text)

    def end(self):
        return (line(type="step", step=self.step, t=self.tick(), stage="training", why="end") +
                line(type="end", t=self.tick(), events=self.calls, dropped=0, exit=0))


def text_of(loop, steps):
    return "".join(loop.one_step() for _ in range(steps)).encode()


def frames(steps, world=1, steps_per_frame=8):
    """The run: for each rank its first frame, then the frames that all ranks have. Pairs of (bytes, records)."""
    firsts = []
    for rank in range(world):
        loop = Loop(rank, world)
        text = loop.begin().encode() + text_of(loop, steps_per_frame)
        firsts.append((zstd_frame(text), text.count(b"\n")))
    rest = []
    while loop.step < steps:
        text = text_of(loop, min(steps_per_frame, steps - loop.step))
        rest.append((zstd_frame(text), text.count(b"\n")))
    text = loop.end().encode()
    rest.append((zstd_frame(text), text.count(b"\n")))
    return firsts, rest, loop


def write(folder, steps, world=1):
    """A whole run; returns its number of records."""
    folder.mkdir(parents=True)
    firsts, rest, _ = frames(steps, world)
    for rank, first in enumerate(firsts):
        (folder / Loop(rank, world).name()).write_bytes(b"".join(data for data, _ in [first, *rest]))
    return sum(n for _, n in firsts) + world * sum(n for _, n in rest)


def more_invariants(invariants, n):
    """n invariants: those given, then ones like them, half about calls that never come and half under other
    preconditions."""
    lines = [i for i in map(json.loads, invariants.read_text().splitlines()) if "relation" in i]
    out = list(lines)
    while len(out) < n:
        i = json.loads(json.dumps(lines[len(out) % len(lines)]))
        i.pop("id", None)
        i.pop("text", None)
        calls = [p for p in i["params"] if "call" in p]
        if len(out) % 2 and calls:
            calls[0]["call"] += f"_{len(out)}"
        else:
            i["when"] = [{"field": "self.lr", "is": f"other_{len(out)}"}]
        out.append(i)
    return "".join(json.dumps(i) + "\n" for i in out[:n])

# SPDX-License-Identifier: Apache-2.0
