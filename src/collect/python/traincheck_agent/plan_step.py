# SPDX-License-Identifier: Apache-2.0
"""Which step is captured, what it starts from and what is compared after it.

A step begins with the first call of a module (or operator on a parameter, or receive) with gradients enabled after an
optimizer's step, and ends before the next one, before an evaluation or a checkpoint, or with the script. So what a
script does with the parameters right after optimizer.step() belongs to the step."""
import atexit
import gc
import json
import os
import sys

from . import plan_place, process
from .plan_record import Recorder, local, number


def _mode(recorder):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recording(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if any(kind.__name__ == "DTensor" for kind in types):
                return NotImplemented  # it turns into operators of this rank, and collectives, first
            return recorder.dispatch(func, args, kwargs or {})
    return Recording()


class CaptureError(Exception):
    """What is to be captured cannot be."""


class Capture:
    """One process's plan: waits for the step, records it, writes the file and ends the process."""

    def __init__(self, folder, step, layout, job):
        self.folder, self.wanted, self.layout_path, self.job = folder, step, layout, job
        self.recorder = Recorder()
        self.recorder.touched = self._touched
        self.step, self.is_within, self.has_stepped, self.depth = 0, False, False, 0
        self.names = self.layout = None
        self.grads, self.first_buffers, self.trained, self.head = [], {}, set(), {}

    def start(self):
        torch = sys.modules["torch"]
        modules, optimizers = sys.modules["torch.nn.modules.module"], sys.modules["torch.optim.optimizer"]
        modules.register_module_forward_pre_hook(self._module_called)
        modules.register_module_forward_hook(self._module_returned, always_call=True)
        optimizers.register_optimizer_step_pre_hook(self._before_step)
        optimizers.register_optimizer_step_post_hook(self._after_step)
        self._end_before(torch, "save")
        if torch.distributed.is_available():
            import torch.distributed.device_mesh  # noqa: F401
            self._end_before(torch.distributed, "destroy_process_group")
            plan_place.watch_meshes()
            self._leave_out_waits()
        atexit.register(self._at_exit)
        self.mode = _mode(self.recorder)
        self.mode.__enter__()

    def _leave_out_waits(self):
        """Gloo copies the part of a reduce-scatter out of its own buffer in wait(): that is no operator of the script."""
        work, recorder = sys.modules["torch.distributed"].Work, self.recorder
        original = work.wait

        def wait(*args, **kwargs):
            was_active, recorder.active = recorder.active, False
            try:
                return original(*args, **kwargs)
            finally:
                recorder.active = was_active
        work.wait = wait

    def _end_before(self, owner, name):
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            self._maybe_finish()
            if name == "save" and self.job.is_fake:
                return None  # what a fake process group left in a model is worth no checkpoint
            return original(*args, **kwargs)
        setattr(owner, name, wrapped)

    # ---- the course of a step

    def _is_here(self):
        return os.getpid() == self.recorder.pid

    def _module_called(self, module, _args):
        torch = sys.modules["torch"]
        if self._is_here():
            if not self.recorder.modules:
                self._maybe_finish()
                if torch.is_grad_enabled():
                    self._forward()
            self.recorder.modules.append(id(module))

    def _module_returned(self, _module, _args, _result):
        if self.recorder.modules:
            self.recorder.modules.pop()

    def _touched(self, traits, args):
        """An operator is about to run: does a step begin with it, and so the one before end?"""
        if self.is_within:
            return
        uses = any(id(a) in self.trained for a in args) and sys.modules["torch"].is_grad_enabled()
        if traits.receives or uses:
            self._maybe_finish()
            self._forward()

    def _forward(self):
        if self.is_within:
            return
        self.is_within = True
        self.step += 1
        if self.step == 1:
            self._first_step()
        if self.step == self.wanted:
            self._begin()

    def _before_step(self, optimizer, _args, _kwargs):
        self.depth += 1
        if self.depth > 1 or not self.recorder.active or not self._is_here():
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.grads.append((parameter, parameter.grad, self.recorder.snapshot(parameter.grad)))

    def _after_step(self, optimizer, _args, _kwargs):
        self.depth -= 1
        if self.depth or not self._is_here():
            return
        self.trained |= {id(p) for group in optimizer.param_groups for p in group["params"]}
        self.is_within = False
        self.has_stepped = self.recorder.active

    def _maybe_finish(self):
        if self.has_stepped and self.recorder.active and self._is_here():
            self.finish()

    def _at_exit(self):
        if not self._is_here() or getattr(sys, "last_type", None) is not None:
            return
        self._maybe_finish()
        done = self.step - (1 if self.is_within else 0)
        if self.step and not done:
            self.job.fail("the script ended, and no torch.optim.Optimizer has made a step: what writes the parameters must be one "
                          "(a subclass with step())")
        if self.step or self.job.is_wanted:
            self.job.fail(f"the script ended after {done} optimizer step{'s' if done != 1 else ''}; "
                          f"--plan-step {self.wanted} captures number {self.wanted}")

    # ---- what the step starts from

    def _optimizers(self):
        kind = sys.modules["torch.optim"].Optimizer
        found = [o for o in gc.get_objects() if issubclass(type(o), kind) and "param_groups" in o.__dict__]
        return found

    def _first_step(self):
        names = plan_place.Names(self._optimizers())
        if self.wanted > 1:
            self.first_buffers = {name: local(b).detach().clone() for name, b in names.buffers.items()}

    def _begin(self):
        optimizers = self._optimizers()
        rank, world = self.job.place()
        self.names = plan_place.Names(optimizers)
        try:
            self.layout = plan_place.Layout(self.layout_path, rank, world, plan_place.meshes())
        except (plan_place.LayoutError, OSError) as error:
            self.job.fail(str(error))
        self.head = {"plan": 1, "rank": rank, "world": world, "mesh": self.layout.mesh() or plan_place.meshes(),
                     "torch": sys.modules["torch"].__version__, "script": " ".join(process.arguments() or []), "step": self.wanted}
        for name, parameter in self.names.tensors.items():
            self._init("param", name, parameter, parameter, name)
        for name, parameter in self.names.tensors.items():
            if parameter.grad is not None:
                self._init("state", name + ".grad", parameter.grad, parameter, name)
        for name, buffer in self.names.buffers.items():
            self._begin_buffer(name, buffer)
        for optimizer in optimizers:
            self._begin_state(optimizer)
        self.recorder.active = True

    def _begin_buffer(self, name, buffer):
        """One that the steps before have changed is a symbol; others are constants."""
        torch, first = sys.modules["torch"], self.first_buffers.get(name)
        if first is None or not buffer.is_floating_point() or torch.equal(first, local(buffer)):
            return
        self._init("buffer", name, buffer, None, name)

    def _begin_state(self, optimizer):
        for parameter, state in optimizer.state.items():
            owner = self.names.params.get(id(parameter))
            for key, value in state.items() if owner is not None else ():
                if not isinstance(value, sys.modules["torch"].Tensor) or local(value).dim() == 0:
                    continue
                if local(value).shape != local(parameter).shape:
                    self.job.fail(f"{owner}:{key}: this state of the optimizer has no place in the single-device one; "
                                  "--plan-step 1 captures the step that makes it")
                self._init("state", f"{owner}:{key}", value, parameter, owner)

    def _init(self, kind, name, tensor, parameter, owner):
        if self.recorder.is_known(tensor) and kind == "buffer":
            return
        place, _ = self._place(tensor, parameter, owner)
        self.recorder.inits.append({"init": kind, "name": name, "t": self.recorder.symbol(tensor), **place})

    def _place(self, tensor, parameter, owner):
        """(PLACE, Partial axes) of a tensor that belongs to a parameter."""
        for candidate in (tensor, parameter):
            if hasattr(candidate, "_spec") and local(candidate).shape == local(tensor).shape:
                place, partial = plan_place.of_dtensor(candidate)
                return place, partial if candidate is tensor else []
        shape = list(local(tensor).shape)
        place = self.layout.place(owner, shape)
        return place or {"global": shape, "at": [0] * len(shape)}, []

    # ---- what is compared, and the file

    def _results(self, references):
        for (parameter, grad, _), reference in zip(self.grads, references):
            name = self.names.params.get(id(parameter))
            if name is not None:
                place, partial = self._place(grad, parameter, name)
                yield self._result(name + ".grad", reference, place, partial)
        for name, parameter in self.names.tensors.items():
            place, partial = self._place(parameter, parameter, name)
            yield self._result(name, self.recorder.symbol(parameter), place, partial)

    @staticmethod
    def _result(name, reference, place, partial):
        line = {"result": name, "t": reference, **place}
        return {**line, "partial": partial} if partial else line

    def _lines(self):
        recorder = self.recorder
        references = recorder.settle([snapshot for _, _, snapshot in self.grads])
        self.head["notes"] = self.job.notes + _notes(recorder)
        yield self.head
        yield from recorder.consts
        yield from recorder.inits
        for op, module in recorder.ops:
            name = self.names.modules.get(module)
            yield {**op, "mod": name} if name else op
        yield from self._results(references)

    def finish(self):
        """Write the plan and end the process: what the script would do next is not wanted."""
        self.recorder.active = False
        path = os.path.join(self.folder, f"plan-rank{self.head['rank']:05d}.jsonl")
        with open(path + ".part", "w", encoding="utf-8", errors="replace") as out:
            for line in self._lines():
                out.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False, default=number))
                out.write("\n")
        os.replace(path + ".part", path)
        self.job.done(self.head, len(self.recorder.ops))


def _notes(recorder):
    """What the report should repeat."""
    notes, values = [], list(recorder.values)
    if values:
        notes.append(f"values are read from tensors at {', '.join(values[:5])}"
                     f"{' and elsewhere' if len(values) > 5 else ''}: what Python computes from them is taken as it was")
    params = {size for line in recorder.inits if line["init"] == "param" for size in line["global"]}
    groups = recorder.group_sizes
    same = sorted(((recorder.data_sizes & (params | groups)) | (params & groups)) - {1})
    if same:
        notes.append(f"different dimensions have the same size, {', '.join(map(str, same))} (of batches, parameters or "
                     "groups of ranks): a wrong plan may pass; choose other sizes")
    return notes
