# SPDX-License-Identifier: Apache-2.0
"""A run is resumed: model, optimizer and schedule are made, and given their state. In the broken runs the schedule is not, or it is and is led as far again. One that is loaded, or led on by
hand, or loaded and led a little, an optimizer that no schedule has led, a schedule that is made after the load, for another stage, and a library that gives an optimizer its own
state are right."""
from trace_writer import Trace

RULE = True


class Run:
    def __init__(self, folder):
        self.t = Trace(folder, operators=True)
        self.model = self.t.net("w")
        self.optimizer = self.t.optimizer(self.model)
        self.schedule, self.epoch = self.t.serial(), 0

    def make(self):
        self.t.op("torch.optim.lr_scheduler.LambdaLR.__init__", role="make", at="train.py:50",
                  self={"object": "torch.optim.lr_scheduler.LambdaLR", "id": self.schedule, "attrs": {}},
                  args={"optimizer": {"object": "torch.optim.Adam", "id": self.optimizer["id"]}, "last_epoch": -1})

    def load(self, rate=0.002):
        group = {"dict": {"lr": rate, "initial_lr": 0.008, "params": [0]}}
        self.t.op("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:67", **self.t.on_optimizer(self.optimizer),
                  args={"state_dict": {"dict": {"state": {"dict": {}}, "param_groups": [group]}}})

    def load_schedule(self):
        self.t.op("torch.optim.lr_scheduler.LRScheduler.load_state_dict", role="load", at="train.py:68", self=self.on_schedule(),
                  args={"state_dict": {"dict": {"last_epoch": 80}}})
        self.epoch = 80

    def on_schedule(self):
        return {"object": "torch.optim.lr_scheduler.LambdaLR", "id": self.schedule, "attrs": {"last_epoch": self.epoch}}

    def lead(self):
        self.t.op("torch.optim.lr_scheduler.LRScheduler.step", role="scheduler", at="train.py:80", self=self.on_schedule())
        self.epoch += 1

    def train(self):
        for _ in range(4):
            self.t.zero_grad(self.optimizer)
            self.t.forward(self.model)
            self.t.backward(self.model)
            self.t.step(self.optimizer)
            self.lead()
            self.t.cut()
        self.t.end()


def resumed(folder, *what):
    run = Run(folder)
    for do in what:
        do(run)
    run.train()


def led_on(run):
    for _ in range(80):
        run.lead()


def fine_loaded(folder):
    resumed(folder, Run.make, Run.load, Run.load_schedule)


def fine_led_on(folder):
    resumed(folder, Run.make, Run.load, led_on)


def fine_led_a_little(folder):
    resumed(folder, Run.make, Run.load, Run.load_schedule, Run.lead, Run.lead, Run.lead)


def fine_at_its_start(folder):
    resumed(folder, Run.make, lambda run: run.load(rate=0.008))


def fine_of_another_stage(folder):
    resumed(folder, Run.load, Run.make)


def own_state(run):
    run.load(rate=run.t.on_optimizer(run.optimizer)["self"]["attrs"]["lr"])


def fine_of_its_own(folder):
    resumed(folder, Run.make, own_state)


def broken(folder):
    resumed(folder, Run.make, Run.load)


def broken_led_as_far_again(folder):
    resumed(folder, Run.make, Run.load, Run.load_schedule, led_on)
