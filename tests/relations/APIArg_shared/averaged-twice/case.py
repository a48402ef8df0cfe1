# SPDX-License-Identifier: Apache-2.0
"""Two ranks divide the sum of their losses by a count that all_reduce() added up. In the broken run the model averages gradients as well. Right are a loss that is
multiplied by the number of ranks before or after, gradients that no model averages, a count that was a mean already, and a loss of another weight."""
from trace_writer import FORWARD, Trace

RULE = True


def number(t, value, grad=False):
    return t.tensor() | {"value": value, "requires_grad": grad}


def times(t, loss, how, factor):
    result = number(t, loss["value"] / factor if how == "div" else loss["value"] * factor, grad=True)
    t.op(f"torch.Tensor.{how}", role="operator", at="train.py:14", self=loss, args={"other": factor}, value=result)
    return result


def train(folder, rank, own, whole, before=None, after=None, averages=True, together=False, steps=6):
    """together: two counts are added up in one tensor."""
    t = Trace(folder, rank=rank, world=2, pid=rank + 1, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        t.op(FORWARD, role="forward", at="train.py:11", args={"x": t.tensor(8, 4)}, self={
            "object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True, "require_backward_grad_sync": averages}})
        loss = number(t, 700.0 / (1 + step), grad=True)
        count = number(t, float(own))
        if together:
            both = t.tensor(2) | {"elements": [92.2, float(own)]}
            t.call("torch.distributed.all_reduce", role="collective", at="train.py:12", args={"tensor": both})
            count = number(t, float(whole))
            t.op("torch.Tensor.__getitem__", role="operator", at="train.py:12", self=both, args={"index": 1}, value=count)
        else:
            t.call("torch.distributed.all_reduce", role="collective", at="train.py:12", args={"tensor": count})
        if before:
            loss = times(t, loss, "mul", before)
        mean = number(t, loss["value"] / whole, grad=True)
        t.op("torch.Tensor.div", role="operator", at="train.py:13", self=loss, args={"other": count | {"value": float(whole)}}, value=mean)
        loss = times(t, mean, "mul", after) if after else mean
        t.backward(model, of=loss)
        t.step(optimizer)
        t.cut()
    t.end()


def both(folder, whole=1000, **how):
    train(folder, 0, 400, whole, **how)
    train(folder, 1, 600, whole, **how)


def fine_times_the_ranks(folder):
    both(folder, before=2)


def fine_times_the_ranks_after(folder):
    both(folder, after=2, together=True)


def fine_of_no_average(folder):
    both(folder, averages=False)


def fine_of_a_mean(folder):
    both(folder, whole=500)


def fine_of_another_weight(folder):
    both(folder, after=0.1)


def broken(folder):
    both(folder, together=True)
