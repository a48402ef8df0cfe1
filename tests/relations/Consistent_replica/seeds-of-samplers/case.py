# SPDX-License-Identifier: Apache-2.0
"""On two ranks a sampler gives each its part of the data. In the broken run it is given another seed on each, so that some samples come twice and
others never. A sampler that does not shuffle, and one for fewer ranks than there are, may have any."""
from trace_writer import Trace

PIPELINES = 2


def rank(folder, number, seed, shuffle=True, replicas=2):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.model("model", {"w": {"content": 77}, "b": {"content": 78}})
    optimizer = t.optimizer(model)
    t.call("torch.utils.data.DistributedSampler.set_epoch", role="library", args={"epoch": 0},
           self={"object": "torch.utils.data.DistributedSampler", "id": 90,
                 "attrs": {"num_replicas": replicas, "rank": number, "shuffle": shuffle, "seed": seed}})
    for _ in range(4):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder, i):
    for number in range(2):
        rank(folder, number, 5 + i)


def fine_without_shuffling(folder):
    for number in range(2):
        rank(folder, number, number, shuffle=False)


def fine_of_another_group(folder):
    for number in range(2):
        rank(folder, number, number, replicas=1)


def broken(folder):
    for number in range(2):
        rank(folder, number, 5 + number)
