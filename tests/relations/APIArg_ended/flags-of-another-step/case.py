# SPDX-License-Identifier: Apache-2.0
"""An environment returns rewards, and which of them end an episode. Both are stacked, and joined step by step, from the last one on. In the broken runs the flag
is that of the step after the reward's, taken out of a stack or of a tensor that was filled. Right are flags of the same step, flags that are stored one place
later, an environment without flags, and nine steps."""
from trace_writer import Trace

RULE = True
ENVS = 4


def train(folder, later=0, stored=0, flags=True, filled=False, horizon=12, numbers=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    rewards, ends = [], []
    tensors = t.tensor(horizon + 1, ENVS), t.tensor(horizon + 1, ENVS, dtype="bool")
    for step in range(horizon):
        reward, end = t.tensor(ENVS), t.tensor(ENVS, dtype="bool" if flags else "int64")
        if numbers:
            flag, end = end, t.tensor(ENVS)
            t.op("torch.Tensor.float", role="operator", at="train.py:9", self=flag, value=end)
        t.op("__main__.Env.step", role="own", at="train.py:20", self={"object": "__main__.Env", "id": 900}, value=[t.tensor(ENVS, 3), reward, end])
        rewards.append(reward)
        ends.append(end)
        if filled:
            for tensor, value, place in zip(tensors, (reward, end), (step, step + stored)):
                t.op("torch.Tensor.__setitem__", role="operator", at="train.py:22", self=tensor, args={"indices": place, "value": value})
    if not filled:
        for tensor, items in zip(tensors, (rewards, ends)):
            t.op("torch.stack", role="operator", at="train.py:24", args={"tensors": items}, value=tensor)
    for step in reversed(range(horizon)):
        place = min(step + later, horizon - 1 + (stored if filled else 0))
        reward, end, on, part, delta = t.tensor(ENVS), t.tensor(ENVS, dtype="bool"), t.tensor(ENVS), t.tensor(ENVS), t.tensor(ENVS)
        t.op("torch.Tensor.__getitem__", role="operator", at="train.py:30", self=tensors[0], args={"indices": step}, value=reward)
        t.op("torch.Tensor.__getitem__", role="operator", at="train.py:31", self=tensors[1], args={"indices": place}, value=end)
        t.op("torch.Tensor.__rsub__", role="operator", at="train.py:31", self=end, args={"other": 1.0}, value=on)
        t.op("torch.Tensor.mul", role="operator", at="train.py:32", self=t.tensor(ENVS), args={"other": on}, value=part)
        t.op("torch.Tensor.add", role="operator", at="train.py:32", self=reward, args={"other": part}, value=delta)
        # what the next state is worth is not passed on past the end of the step before
        t.op("torch.Tensor.mul", role="operator", at="train.py:33", self=on, args={"other": rewards[min(step + 1, horizon - 1)]}, value=t.tensor(ENVS))
    t.train_step(model, optimizer)
    t.end()


def fine(folder):
    train(folder)


def fine_stored_later(folder):
    train(folder, stored=1, later=1, filled=True)


def fine_without_flags(folder):
    train(folder, later=1, flags=False)


def fine_nine(folder):
    train(folder, later=1, horizon=9)


def broken(folder):
    train(folder, later=1)


def broken_as_numbers(folder):
    train(folder, later=1, numbers=True)


def broken_filled(folder):
    train(folder, later=1, filled=True)
