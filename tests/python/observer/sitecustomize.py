# SPDX-License-Identifier: Apache-2.0
"""Writes down, in every process of a run, what training did to weights and random states, step by step.

It comes into a program from outside, through PYTHONPATH, so that the program stays as it is. One file
in $OBSERVED for each process that trains: a line for each optimizer step, one more at an orderly end.
"""
import atexit
import hashlib
import importlib.machinery
import os
import random
import sys

_MODULE = "torch.optim.optimizer"
AFTER_TORCH = True


def _content(tensor):
    torch = sys.modules["torch"]
    tensor = getattr(tensor, "_local_tensor", tensor).detach()  # a shard
    return tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def _random_states():
    torch, numpy = sys.modules["torch"], sys.modules.get("numpy")
    states = [random.getstate(), torch.get_rng_state().numpy().tobytes()]
    if numpy is not None:
        states.append([str(part) for part in numpy.random.get_state()])
    return hashlib.sha256(repr(states).encode()).hexdigest()[:16]


def _path():
    return os.path.join(os.environ["OBSERVED"], f"{os.getpid()}.txt")


def _write(line):
    with open(_path(), "a", encoding="utf-8") as out:
        out.write(line + "\n")


def _stepped(optimizer, _args, _kwargs):
    weights = hashlib.sha256()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            weights.update(_content(parameter))
    _write(f"{type(optimizer).__name__} {weights.hexdigest()[:16]} {_random_states()}")


def _observe(module):
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(1)
    module.register_optimizer_step_post_hook(_stepped)


class _Finder:
    """Puts a hook of torch's own on all optimizers as soon as their module has been run."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            _observe(module)

        spec.loader.exec_module = exec_module
        return spec


def _ended():
    if os.path.exists(_path()):
        _write(f"end {_random_states()}")


if os.environ.get("OBSERVED"):
    random.seed(1)  # what the program does not seed must be the same, too
    if _MODULE in sys.modules:
        _observe(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Finder)
    atexit.register(_ended)
