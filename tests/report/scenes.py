# SPDX-License-Identifier: Apache-2.0
"""Runs for pages: what a script calls and how its loss goes, with its lines, beside two healthy ones.

usage: scenes.py FOLDER [SCENE...]     leaves the runs of each scene there, and a file of what to check
"""

import hashlib
import json
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "relations"))
from trace_writer import Trace  # noqa: E402

SCRIPT = """import torch
from data import loader
from model import Net

def train(args):
    model = Net().to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for step, (x, y) in enumerate(loader(args)):
        optimizer.zero_grad()
        x, y = x.to(args.device), y.to(args.device)
        loss = torch.nn.functional.cross_entropy(model(x), y, label_smoothing=0.0)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model

if __name__ == "__main__":
    train(parse())
"""
WITHOUT_CLEARING = SCRIPT.replace("        optimizer.zero_grad()\n", "")
SMOOTHER = SCRIPT.replace("smoothing=0.0)", "smoothing=0.4)")
BOTH = WITHOUT_CLEARING.replace("smoothing=0.0)", "smoothing=0.0 if warm(args) else 0.4)")


def line_of(script, word):
    return next((i for i, line in enumerate(script.split("\n"), 1) if word in line), None)


def course(seed, steps, level=0.35):
    draw = random.Random(seed)
    return [level + 2 * math.exp(-5 * i / steps) + 0.06 * draw.random() for i in range(steps)]


def write(folder, losses, script=SCRIPT, clears_until=math.inf, smooth_from=math.inf, rate=0.1, begins=0, argv=("train.py", "--lr", "0.1"), exit=0, frozen=(), **process):
    """A run of the script; smooth_from: the step from which labels are smoothed; frozen: steps that change nothing."""
    t = Trace(folder, argv=list(argv), python="3.12.4", host="node-07", operators=True, content="batches",
              packages={"torch": "2.13.0", "numpy": "2.1.3", "torchvision": "0.28.0"}, unix_ns=1_760_000_000_000_000_000 + begins * 10**9, **process)
    t.write({"type": "source", "at": "train.py", "digest": hashlib.sha256(script.encode()).hexdigest()[:16], "text": script})
    at = {word: f"train.py:{line_of(script, word)}" for word in ("zero_grad", "model(x)", "cross_entropy", "backward", "clip_grad", "optimizer.step")}
    model = t.model("model", {"w": {}, "b": {}})
    t.op("torch.optim.SGD", role="make", args={"lr": rate}, at="train.py:7")
    t.stage = "training"
    optimizer = t.optimizer(model, lr=rate, cls="torch.optim.SGD")
    group = t.settings(lr=rate)
    for i, loss in enumerate(losses):
        if i < clears_until:
            t.zero_grad(optimizer, at=at["zero_grad"])
        t.forward(model, at=at["model(x)"])
        t.op("torch.nn.functional.cross_entropy", args={"label_smoothing": 0.4 if i >= smooth_from else 0.0}, at=at["cross_entropy"])
        t.backward(model, at=at["backward"], of={"tensor": "Tensor", "id": 7, "shape": [], "dtype": "float32", "value": loss})
        t.op("torch.nn.utils.clip_grad_norm_", role="clip", args={"max_norm": 1.0}, at=at["clip_grad"])
        t.step(optimizer, at=at["optimizer.step"], changes=[] if i in frozen else None)
        if i % 20 == 19:
            rate /= 2
            t.schedule(at="train.py:14", group=group, lr=rate)
        t.cut()
        if i % 50 == 49:
            for _ in range(2):
                t.evaluate(model)
            t.stage = "evaluation"
            t.cut("stage")
            t.stage = "training"
    t.end(exit)


def healthy(folder, steps=60, ranks=1, **how):
    for k in range(2):
        for rank in range(ranks):
            write(folder / f"healthy{k}", course(100 * k + rank, steps), rank=rank if ranks > 1 else None, world=ranks, pid=rank + 1, begins=k * 9000, **how)


def two_findings(folder):
    healthy(folder)
    rising = [v * (1 + (i / 25) ** 2) for i, v in enumerate(course(3, 60))]
    write(folder / "bad", rising, BOTH, clears_until=0, smooth_from=20, begins=90000, exit=1, argv=("train.py", "--lr", "0.3"))
    return ["bad"]


def two_runs(folder):
    healthy(folder)
    write(folder / "monday", [v * (1 + (i / 25) ** 2) for i, v in enumerate(course(3, 60))], script=WITHOUT_CLEARING, clears_until=0, begins=90000)
    write(folder / "tuesday", course(4, 40), script=SMOOTHER, smooth_from=0, begins=180000, exit=3)
    write(folder / "wednesday", course(5, 60), begins=270000)
    return ["monday", "tuesday", "wednesday"]


def ranks(folder, n=64, steps=30):
    healthy(folder, steps, n)
    for rank in range(n):
        losses = course(1000 + rank, steps)
        frozen = range(12, steps) if rank == 17 else ()
        if rank == 17:
            losses = [v * 1.35 ** max(0, i - 12) for i, v in enumerate(losses)]
        write(folder / "ranks", losses, rank=rank, world=n, pid=rank + 1, begins=90000, frozen=frozen)
    return ["ranks"]


def long(folder, steps=100_000):
    healthy(folder, 2000)
    lossy = course(3, steps)
    write(folder / "long", [v + (3 if 40_000 <= i else 0) * (i / steps) for i, v in enumerate(lossy)],
          frozen={71_234, *range(40_000, 60_000), *range(80_000, 80_640, 10)}, begins=90000)
    return ["long"]


def other_rate(folder):
    healthy(folder)
    write(folder / "fast", course(3, 60), SCRIPT.replace("lr=args.lr", "lr=4 * args.lr"), rate=0.4, begins=90000)
    return ["fast"]


SCENES = {"two_findings": two_findings, "two_runs": two_runs, "ranks": ranks, "other_rate": other_rate, "long": long}

if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or SCENES:
        (root / name).mkdir(parents=True)
        (root / name / "check.json").write_text(json.dumps(SCENES[name](root / name)))
