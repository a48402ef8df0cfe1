# SPDX-License-Identifier: Apache-2.0
"""Gradients may be cleared when a step was left out, when they were for the input, when they have moved the weights,
and when a line computes with a copy of them afterwards;
and those of another optimizer, that its own step has used."""
from trace_writer import Trace


class Script:
    def __init__(self, folder):
        self.t = Trace(folder)
        self.model = self.t.net("w", "b")
        self.optimizer = self.t.optimizer(self.model)

    def run(self, step):
        for _ in range(5):
            step(self)
            self.t.step(self.optimizer)
            self.t.cut()
        self.t.end()

    def pass_through(self, for_input=False):
        self.t.zero_grad(self.optimizer)
        self.t.forward(self.model, args={"x": self.t.tensor(4, 4) | {"requires_grad": for_input}})
        self.t.backward(self.model)


def healthy(folder):
    Script(folder).run(Script.pass_through)


def fine_left_out(folder):
    def step(script):
        script.pass_through()
        script.t.scaler_step(script.optimizer, skips=True)
        script.pass_through()
    Script(folder).run(step)


def fine_for_the_input(folder):
    def step(script):
        script.pass_through(for_input=True)
        script.pass_through()
    Script(folder).run(step)


def fine_moved_the_weights(folder):
    def step(script):
        script.pass_through()
        script.t.change(script.model.var("w"))
        script.pass_through()
    Script(folder).run(step)


def fine_a_line_moved_the_weights(folder):
    def step(script):
        script.pass_through()
        weight = script.t.tensor(4, 4, id=script.model.var("w").serial)
        script.t.op("torch.Tensor.add_", role="operator", at="sam.py:24", self=weight, args={"other": script.t.tensor(4, 4)})
        script.pass_through()
    Script(folder).run(step)


def fine_copies_were_used(folder):
    def step(script):
        t, loss = script.t, script.t.tensor()
        t.zero_grad(script.optimizer)
        t.forward(script.model)
        t.backward(script.model, of=loss)
        gradient, copy = t.tensor(4, 4), t.tensor(4, 4)
        t.op("torch.Tensor.clone", role="operator", at="surgery.py:24", self=gradient, value=copy)
        script.pass_through()
        t.op("torch.Tensor.mul", role="operator", at="surgery.py:30", self=copy, args={"other": t.tensor(4, 4)}, value=t.tensor(4, 4))
    Script(folder).run(step)


def fine_of_another(folder):
    script = Script(folder)
    other = script.t.net("v")
    its_optimizer = script.t.optimizer(other)

    def step(script):
        script.t.zero_grad(script.optimizer)
        script.t.forward(script.model)
        script.t.backward(script.model)
        script.t.zero_grad(its_optimizer)
        script.t.forward(other)
        script.t.backward(other)
        script.t.step(its_optimizer)
    script.run(step)


def broken(folder):
    def step(script):
        script.pass_through()
        script.pass_through()
    Script(folder).run(step)
