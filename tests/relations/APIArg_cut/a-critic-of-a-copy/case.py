# SPDX-License-Identifier: Apache-2.0
"""A critic is trained on what a maker has made, cut off from it, and then the maker by what the critic says of it. In the broken run that is cut off as
well. Work that is attached, a critic that is frozen meanwhile, a probe that reads what was cut off and is stepped with the maker, raw data, and two such
steps are right."""
from trace_writer import Trace

RULE = True


class Script:
    def __init__(self, folder):
        self.t = Trace(folder, operators=True)
        self.t.stage = "training"
        self.maker, self.critic = self.t.model("maker", {"w": {}}), self.t.model("critic", {"v": {}})
        self.of_maker, self.of_critic = self.t.optimizer(self.maker), self.t.optimizer(self.critic)

    def make(self):
        """What the maker gives, which takes a gradient."""
        work = self.t.tensor(8, 4) | {"requires_grad": True}
        self.t.forward(self.maker, at="train.py:20", args={"x": self.t.tensor(8, 3)}, value=work)
        return work

    def cut(self, work):
        copy = self.t.tensor(8, 4) | {"requires_grad": False}
        self.t.op("torch.Tensor.detach", role="operator", at="train.py:21", self=work, value=copy)
        return copy

    def train_critic(self):
        self.t.zero_grad(self.of_critic)
        self.t.forward(self.critic, at="train.py:22", args={"x": self.cut(self.make())})
        self.t.forward(self.critic, at="train.py:23", args={"x": self.t.tensor(8, 4)})
        self.t.backward(self.critic)
        self.t.step(self.of_critic)

    def train_maker(self, is_cut=False, is_raw=False, reaches_critic=True):
        work = self.make()
        work = self.t.tensor(8, 4) | {"requires_grad": False} if is_raw else self.cut(work) if is_cut else work
        self.t.zero_grad(self.of_maker)
        self.t.forward(self.critic, at="train.py:30", args={"x": work})
        self.t.backward(self.maker, reaches=self.maker.parameters + (self.critic.parameters if reaches_critic else []))
        self.t.step(self.of_maker)

    def run(self, steps=5, **how):
        for _ in range(steps):
            self.train_critic()
            self.train_maker(**how)
            self.t.cut()
        self.t.zero_grad(self.of_critic)
        self.t.end()


def fine_attached(folder):
    Script(folder).run()


def fine_frozen(folder):
    script = Script(folder)
    for _ in range(5):
        script.train_critic()
        for v in script.critic.parameters:
            script.t.set(v, requires_grad=False)
        script.train_maker(is_cut=True, reaches_critic=False)
        for v in script.critic.parameters:
            script.t.set(v, requires_grad=True)
        script.t.cut()
    script.t.end()


def fine_a_probe(folder):
    script = Script(folder)
    for _ in range(5):
        script.t.zero_grad(script.of_critic)
        script.train_maker(is_cut=True)
        script.t.step(script.of_critic)
        script.t.cut()
    script.t.end()


def fine_of_raw_data(folder):
    Script(folder).run(is_raw=True)


def fine_twice(folder):
    Script(folder).run(steps=2, is_cut=True)


def broken(folder):
    Script(folder).run(is_cut=True)
