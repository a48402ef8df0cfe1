# SPDX-License-Identifier: Apache-2.0
"""Which step is captured, what it starts from and what is compared after it.

Each step up to the wanted one is recorded, and the last whole one is kept: the script may have no more. A step begins with the first call of a module (or operator on a parameter, or receive) with gradients enabled after an
optimizer's step, and ends before the next one, before an evaluation or a checkpoint, or with the script. So what a
script does with the parameters right after optimizer.step() belongs to the step. From the second step on one begins with a
call without gradients, too: a frozen teacher's, say, whose numbers would be rounded. What nothing reads of that is dropped. Where no optimizer trains the model, the
first write to a parameter after a backward is the optimizer's step."""
import atexit
import json
import os
import sys

from . import plan_copies, plan_hand, plan_place, plan_sync, process
from .plan_record import Recorder, key_of, local, number, tensors_in

_DEFAULT_STEP = 2  # then the optimizer's state is there


def _nothing_to_wait_for():
    future = sys.modules["torch"].futures.Future()
    future.set_result(None)
    return future


# What those of torch and of torch.distributed.checkpoint give where they write nothing.
_CHECKPOINTS = {"save": lambda: None, "async_save": _nothing_to_wait_for}


def _mode(capture):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recording(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if any(kind.__name__ == "DTensor" for kind in types):
                return NotImplemented  # it turns into operators of this rank, and collectives, first
            return capture.recorder.dispatch(func, args, kwargs or {})
    return Recording()


class CaptureError(Exception):
    """What is to be captured cannot be."""


def _is_count(value, parameter):
    """Is this state of an optimizer the number of its steps? That of a parameter with one element may have one, too."""
    return value.dim() == 0 and (parameter.dim() > 0 or bool(value == value.round()))


class Capture:
    """One process's plan: waits for the step, records it, writes the file and ends the process."""

    def __init__(self, folder, step, layout, job):
        """step: 0 if none was asked for."""
        self.folder, self.wanted, self.layout_path, self.job = folder, step or _DEFAULT_STEP, layout, job
        self.is_default = not step
        self.recorder = Recorder()
        self.recorder.touched = self._touched
        self.step, self.is_within, self.has_stepped, self.depth = 0, False, False, 0
        self.is_prelude = False  # what runs of the step so far has no gradients
        self.is_by_hand, self.has_backward, self.owned = False, False, set()
        self.kept = None  # (head, lines) of the last whole step
        self.earlier = set(), ()  # of a step by hand: keys of what the one before wrote, and their storages
        self.names = self.layout = self.copies = None
        self.grads, self.first_buffers, self.first_others, self.trained, self.head = [], {}, {}, set(), {}
        self.sync = plan_sync.Sync()

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
            self._end_before_checkpoints()
            plan_place.watch_meshes()
            self.sync.start()
            self._leave_out_waits()
        self._see_lists(torch.Tensor)
        atexit.register(self._at_exit)
        self.mode = _mode(self)
        self.mode.__enter__()

    def _see_lists(self, tensors):
        """These read the numbers of a tensor from its memory, and run no operator: each is read as item() reads it."""
        original, numpy = tensors.tolist, tensors.numpy

        def tolist(tensor):
            if not self.recorder.is_read(tensor):
                return original(tensor)
            return [part.tolist() for part in tensor.unbind()] if tensor.dim() else tensor.item()

        def to_numpy(tensor, *args, **kwargs):
            if self.recorder.is_read(tensor):
                tensor.tolist()
            return numpy(tensor, *args, **kwargs)
        tensors.tolist, tensors.numpy = tolist, to_numpy

    def _leave_out_waits(self):
        """Gloo copies the part of a reduce-scatter out of its own buffer in wait(): that is no operator of the script."""
        work = sys.modules["torch.distributed"].Work
        original = work.wait

        def wait(*args, **kwargs):
            recorder = self.recorder
            was_waiting, recorder.is_waiting = recorder.is_waiting, True
            try:
                return original(*args, **kwargs)
            finally:
                recorder.is_waiting = was_waiting
        work.wait = wait

    def _end_before(self, owner, name):
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            self._maybe_finish()
            if name in _CHECKPOINTS and self.job.is_fake:
                return _CHECKPOINTS[name]()  # what a fake process group left in a model is worth no checkpoint
            return original(*args, **kwargs)
        setattr(owner, name, wrapped)

    def _end_before_checkpoints(self):
        checkpoint = sys.modules.get("torch.distributed.checkpoint")
        for name in ("save", "async_save"):
            if hasattr(checkpoint, name):
                self._end_before(checkpoint, name)

    # ---- the course of a step

    def _is_here(self):
        return os.getpid() == self.recorder.pid

    def _module_called(self, module, _args):
        torch = sys.modules["torch"]
        if self._is_here():
            if not self.recorder.modules:
                self._maybe_finish()
                if torch.is_grad_enabled() or self.step:
                    self._forward()
            self.sync.called(module, self.recorder.modules)
            self.recorder.modules.append(id(module))

    def _module_returned(self, _module, _args, _result):
        if self.recorder.modules:
            self.recorder.modules.pop()

    def _touched(self, traits, args):
        """An operator is about to run: does a step begin with it, and so the one before end?"""
        if self.is_within and not self.is_prelude:
            if self.is_by_hand:
                self._look_for_step(traits, args)
            return
        uses = traits.short != "detach" and any(id(a) in self.trained for a in args) and sys.modules["torch"].is_grad_enabled()
        if traits.receives or uses:
            self._maybe_finish()
            self._forward()

    def _look_for_step(self, traits, args):
        """Without an optimizer: what writes a parameter after a backward, and is no part of it."""
        if sys.modules["torch"]._C._current_autograd_node() is not None:
            self.has_backward = True
        elif self.has_backward and traits.writes:
            named = dict(zip(traits.arguments, args))
            written = tensors_in([named.get(name) for name in traits.writes], [])
            if any(key_of(local(t)) in self.owned for t in written):
                self._step_by_hand()

    def _step_by_hand(self):
        with self.mode:  # which is off while it looks at an operator
            self._take_grads(self.names.tensors.values())
        self.is_within = self.has_backward = self.recorder.in_step = False
        self.has_stepped = self.recorder.active

    def _forward(self):
        is_first = not self.is_within
        if is_first:
            self.is_within = self.is_prelude = True
            self.step += 1
            if self.step <= self.wanted:
                alive = plan_place.alive()
                if self.step == 1:
                    self._first_step(*alive)
                self._begin(*alive)
        if self.is_prelude and sys.modules["torch"].is_grad_enabled():
            self.is_prelude = False
            if self.step <= self.wanted:
                self._begin_grads()
                self.recorder.n_prelude = 0 if is_first else len(self.recorder.ops)

    def _before_step(self, optimizer, _args, _kwargs):
        self.depth += 1
        if self.depth > 1 or not self.recorder.active or not self._is_here():
            return
        self._take_grads(p for group in optimizer.param_groups for p in group["params"])

    def _take_grads(self, parameters):
        for parameter in parameters:
            if parameter.grad is not None:
                self.grads.append((parameter, parameter.grad, self.recorder.snapshot(parameter.grad)))

    def _after_step(self, optimizer, _args, _kwargs):
        self.depth -= 1
        if self.depth or not self._is_here():
            return
        self.trained |= {id(p) for group in optimizer.param_groups for p in group["params"]}
        self.is_within = self.recorder.in_step = False
        self.has_stepped = self.recorder.active

    def _maybe_finish(self):
        if not (self.has_stepped and self.recorder.active and self._is_here()):
            return
        if self.step < self.wanted:
            self._keep()
        else:
            self.finish()

    def _keep(self):
        """The step is whole: it is what is written if the script has no other."""
        self.recorder.active = False
        self.kept = self.head, list(self._lines())
        self._forget()

    def _forget(self):
        """Record anew, from nothing."""
        recorder = self.recorder
        if self.is_by_hand:
            self.earlier = {key for key in recorder.storages if key not in recorder.concrete}, recorder.kept
        recorder.in_step = False
        recorder.set_exchanges_aside()
        recorder.restart()
        self.grads, self.has_stepped = [], False

    def _give_up(self, what):
        """The script keeps something that has no place in the single-device job."""
        line, *_ = self.recorder.place(None)
        why = f"{line}: the script keeps {what}: it has no place in the single-device job"
        if self.kept is not None:
            self._write_kept(f"{why}, so step {self.kept[0]['step']} is captured")
        self.job.fail(why)

    def _write_kept(self, why):
        self.recorder.active = False
        self.head, lines = self.kept
        self.head["notes"].append(why)
        self._write(lines)

    def _at_exit(self):
        if not self._is_here() or getattr(sys, "last_type", None) is not None:
            return
        self._maybe_finish()
        done = self.step - (1 if self.is_within else 0)
        if self.kept is not None:
            self._write_kept(f"the script has no step {self.wanted}: step {self.kept[0]['step']}, its last one, is captured")
        if self.step and not done:
            self.job.fail("the script ended, and nothing has written the parameters of a model after a backward: there is no step")
        if self.step or self.job.is_wanted:
            self.job.fail(f"the script ended after {done} optimizer step{'s' if done != 1 else ''}; "
                          f"--plan-step {self.wanted} captures number {self.wanted}")

    # ---- what the step starts from

    def _first_step(self, optimizers, modules):
        names = plan_place.Names(optimizers, modules)
        self.copies = names.copies
        self.is_by_hand = not any(group["params"] for o in optimizers for group in o.param_groups)
        if self.is_by_hand:
            self.trained = set(names.params)
            if self.is_default:
                self.wanted = 1
                self.job.notes.append("the script writes the parameters itself: step 1 is captured, as what it keeps from "
                                      "step to step has no name")
        else:
            self.recorder.of_parameters, self.recorder.derived = set(), None
            self.recorder.kept.clear()
        if self.wanted > 1:
            self.first_buffers = {name: local(b).detach().clone() for name, b in names.buffers.items()}
            self.first_others = names.fingerprints()

    def _begin(self, optimizers, modules):
        rank, world = self.job.place()
        self.names = plan_place.Names(optimizers, modules, self.copies if self.job.is_fake else None)
        try:
            self.layout = plan_place.Layout(self.layout_path, rank, world, plan_place.meshes())
        except (plan_place.LayoutError, OSError) as error:
            self.job.fail(str(error))
        self.head = {"plan": 1, "rank": rank, "world": world, "mesh": self.layout.mesh() or plan_place.meshes(),
                     "torch": sys.modules["torch"].__version__, "script": " ".join(process.arguments() or []), "step": self.step}
        self.names.adopt_changed(self.first_others)
        for name, parameter in self.names.tensors.items():
            self._init("param", name, parameter, parameter, name)
        for name, buffer in self.names.buffers.items():
            self._begin_buffer(name, buffer)
        for optimizer in optimizers:
            self._begin_copies(optimizer)
            self._begin_state(optimizer)
        if self.is_by_hand:
            self.owned = {key_of(local(p)) for p in self.names.tensors.values()}
            self.recorder.kept_state = plan_hand.Kept(self.names.tensors, self.recorder.derived or (), self.earlier[0],
                                                      self._give_up)
            self.recorder.derived = None
        self.sync.begin(self.names.wrappers)
        self.recorder.fill_gaps(0)
        self.recorder.active = self.recorder.in_step = True

    def _begin_grads(self):
        """Those of the steps before; what zero_grad has left is a constant, or was written since the step began."""
        recorder = self.recorder
        recorder.active, known, start = False, set(recorder.storages), len(recorder.inits)
        for name, parameter in self.names.tensors.items():
            grad = parameter.grad
            if grad is not None and key_of(local(grad)) not in known and local(grad).count_nonzero():
                self._init("state", name + ".grad", grad, parameter, name)
        recorder.fill_gaps(start)
        recorder.active = True

    def _begin_buffer(self, name, buffer):
        """One that the steps before have changed is a symbol; others are constants."""
        torch, first = sys.modules["torch"], self.first_buffers.get(name)
        if first is None or not buffer.is_floating_point() or torch.equal(first, local(buffer)):
            return
        self._init("buffer", name, buffer, None, name)

    def _begin_copies(self, optimizer):
        """Of parameters: the optimizer trains them in their place. Their states are pieces of those of parameters."""
        for flat in (p for group in optimizer.param_groups for p in group["params"] if id(p) in self.names.copies):
            pieces = self.names.copies[id(flat)]
            self.recorder.add_copy(self.recorder.symbol(local(flat).reshape(-1)), flat, pieces)
            for key, value in optimizer.state.get(flat, {}).items():
                if isinstance(value, sys.modules["torch"].Tensor) and value.shape == flat.shape:
                    self._begin_pieces(key, value, pieces)

    def _begin_pieces(self, key, value, pieces):
        """A state of a flat copy. Where a parameter is a shard, its part of the copy is blocks of the whole."""
        start, flat = 0, local(value).reshape(-1)
        for parameter, at, n in pieces:
            if parameter is not None:
                name = self.names.params[id(parameter)]
                place, _ = self._place(parameter, parameter, name)
                for part, of in plan_copies.places(flat, start, list(local(parameter).shape), at, n, place):
                    self.recorder.inits.append({"init": "state", "name": f"{name}:{key}", "t": self.recorder.symbol(part), **of})
            start += n

    def _begin_state(self, optimizer):
        for parameter, state in optimizer.state.items():
            owner = self.names.params.get(id(parameter))
            for key, value in state.items() if owner is not None else ():
                if not isinstance(value, sys.modules["torch"].Tensor) or _is_count(local(value), local(parameter)):
                    continue
                if local(value).shape != local(parameter).shape:
                    if self.kept is not None:
                        self._write_kept(f"{owner}:{key}: this state of the optimizer has no place in the single-device one: "
                                         f"step {self.kept[0]['step']} is captured, where it is made or not yet used")
                    self.job.fail(f"{owner}:{key}: this state of the optimizer has no place in the single-device one; "
                                  "--plan-step 1 captures the step that makes it")
                self._init("state", f"{owner}:{key}", value, parameter, owner)

    def _init(self, kind, name, tensor, parameter, owner):
        if self.recorder.is_known(tensor) and kind == "buffer" and key_of(local(tensor)) not in self.recorder.exchanged:
            return
        place, _ = self._place(tensor, parameter, owner)
        self.recorder.renew(tensor)
        self.recorder.inits.append({"init": kind, "name": name, "t": self.recorder.symbol(tensor), **place})

    def _place(self, tensor, parameter, owner):
        """(PLACE, Partial axes) of a tensor that belongs to a parameter."""
        for candidate in (tensor, parameter):
            if hasattr(candidate, "_spec") and local(candidate).shape == local(tensor).shape:
                place, partial = plan_place.of_dtensor(candidate)
                return place, partial if candidate is tensor else []
        shape = list(local(tensor).shape)
        try:
            place = self.layout.place(owner, shape)
        except plan_place.LayoutError as error:
            self.job.fail(str(error))
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
        recorder.prune_prelude()
        self.head["notes"] = self.job.notes + _notes(recorder)
        if self.sync.reason():
            self.head["unsummed"] = self.sync.reason()
        yield self.head
        yield from recorder.consts
        yield from recorder.inits
        yield from recorder.copies
        for op, module in recorder.ops:
            name = self.names.modules.get(module)
            yield {**op, "mod": name} if name else op
        yield from self._results(references)

    def finish(self):
        """Write the plan and end the process: what the script would do next is not wanted."""
        self.recorder.active = False
        self._write(self._lines())

    def _write(self, lines):
        path, n_ops = os.path.join(self.folder, f"plan-rank{self.head['rank']:05d}.jsonl"), 0
        with open(path + ".part", "w", encoding="utf-8", errors="replace") as out:
            for line in lines:
                n_ops += "op" in line
                out.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False, default=number))
                out.write("\n")
        os.replace(path + ".part", path)
        self.job.done(self.head, n_ops)


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
