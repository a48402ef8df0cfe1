#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes src/import/torch_apis.tsv: how the Python TrainCheck names the APIs of torch.

usage: torch_apis.py > src/import/torch_apis.tsv     with an interpreter that has torch

A line for each function, in order of name, separated by tabs: the name in the Python tool's traces
(the module and the qualified name of the definition), ours where traincheck-collect traces the API
(`docs/trace-format.md`), its role, and its parameters in order, of methods with the receiver. Lines
that begin with `=` name a class, and how we name it. What stands empty is not known or not traced.
"""
import inspect
import pathlib
import re
import sys
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("torch.amp", "torch.autograd", "torch.cuda", "torch.distributed", "torch.nn", "torch.optim",
            "torch.random", "torch.serialization", "torch.storage", "torch.utils.checkpoint",
            "torch.utils.data", "torch.utils.hooks", "torch.functional", "torch._tensor", "torch._utils",
            "torch.profiler", "torch.multiprocessing", "torch.overrides", "torch.hub", "torch.library")
LEFT_OUT = ("torch.distributed._tools", "torch.distributed.tensor", "torch.distributed._tensor",
            "torch.distributed.elastic", "torch.distributed.rpc", "torch.distributed.checkpoint",
            "torch.distributed._shard", "torch.distributed.pipelining", "torch.nn.intrinsic",
            "torch.nn.quantized", "torch.nn.qat", "torch.nn.quantizable", "torch.utils.data.datapipes",
            "torch.distributed.fsdp._fully_shard", "torch.cuda._memory_viz", "torch.distributed._symmetric_memory",
            "torch.distributed.nn.jit", "torch.distributed.launcher")


class _Agent(types.ModuleType):
    """Stands for the agent's module: what the collector's table needs of it."""

    def __getattr__(self, name):
        return name[5:].lower() if name.startswith("ROLE_") else 0


def collector():
    sys.modules["_traincheck_agent"] = _Agent("_traincheck_agent")
    sys.path.insert(0, str(ROOT / "src/collect/python"))
    from traincheck_agent import names, table
    return names, table


def resolve(path):
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:n]))
        if module is None:
            continue
        found = module
        for part in parts[n:]:
            found = getattr(found, part, None)
        return found
    return None


def name_of(function):
    """As the Python tool writes it."""
    descriptor = re.match(r"<(?:method|slot wrapper) '(\w+)' of '([\w.]+)' objects>", str(function))
    if descriptor:
        return f"{descriptor[2]}.{descriptor[1]}"
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", "")
    if not isinstance(name, str) or not name or "<locals>" in name:
        return None
    if name.startswith("_VariableFunctionsClass."):
        module = "torch"
    return f"{module}.{name}" if module not in ("", "builtins") else None


def parameters(function):
    """Names in order; `*` and what follows it take no positions. None if there is no signature."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return of_schemas(function)
    out = []
    for p in found:
        if p.kind == p.VAR_POSITIONAL:
            out.append("*" + p.name)
        elif p.kind == p.VAR_KEYWORD:
            out.append("**" + p.name)
        else:
            if p.kind == p.KEYWORD_ONLY and not any(o.startswith("*") for o in out):
                out.append("*")
            out.append(p.name)
    return out


def of_schemas(function):
    """What all overloads of a builtin of the dispatcher agree on."""
    import torch
    is_method = isinstance(function, types.MethodDescriptorType)
    common = None
    for schema in torch._C._jit_get_schemas_for_operator("aten::" + function.__name__):
        arguments = [a for a in schema.arguments if not a.kwarg_only]
        if "out" in schema.overload_name or any("Dimname" in str(a.type) for a in arguments):
            continue
        names = ["input" if a.name == "self" and not is_method else a.name for a in arguments]
        if common is not None:
            names = [a for i, a in enumerate(names) if names[:i + 1] == common[:i + 1]]
        common = names
    return common


def plain(function):
    return function.__func__ if isinstance(function, (staticmethod, classmethod)) else function


def is_function(value):
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
                              types.WrapperDescriptorType))


def classes(packages):
    seen = set()
    for module in packages:
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == module.__name__ and value not in seen:
                seen.add(value)
                yield value


def layer_name(cls, nn):
    if not cls.__module__.startswith("torch.nn.") or ".parallel" in cls.__module__:
        return None
    for base in cls.__mro__:
        if base is not nn.Module and getattr(nn, base.__name__, None) is base:
            return f"torch.nn.{base.__name__}.forward"
    return None


def traced(table, names, packages):
    """{the Python tool's name: (ours, role)} of what the collector traces."""
    import torch
    out = {}
    for row in table.TABLE:
        owner = resolve(row.owner)
        if owner is None:
            continue
        listed = row.names.split()
        if listed == ["*"]:
            listed = [n for n, v in vars(owner).items()
                      if is_function(v) and not n.startswith(table.SKIPPED_PREFIXES)]
        for name in listed:
            function = plain(getattr(owner, name, None))
            if function is not None and name_of(function):
                out.setdefault(name_of(function), (f"{row.owner}.{name}", row.role))
    for cls in classes(packages):
        for base, role, fn in ((torch.optim.Optimizer, "step", "torch.optim.Optimizer.step"),
                               (torch.optim.lr_scheduler.LRScheduler, "scheduler",
                                "torch.optim.lr_scheduler.LRScheduler.step")):
            if issubclass(cls, base) and "step" in vars(cls):
                out[f"{cls.__module__}.{cls.__qualname__}.step"] = (fn, role)
        if issubclass(cls, torch.nn.Module) and "forward" in vars(cls):
            container = cls.__name__ in table.CONTAINERS
            fn = layer_name(cls, torch.nn)
            out[f"{cls.__module__}.{cls.__qualname__}.forward"] = (
                (fn, "forward" if container else "layer") if fn
                else ("torch.nn.Module.__call__", "forward"))
    # The tool wraps no dunder methods of iterators: what these call stands for them.
    base = "torch.utils.data.dataloader."
    for cls in ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"):
        out[f"{base}{cls}._next_data"] = (base + "_BaseDataLoaderIter.__next__", "data")
    return out


def main():
    warnings.simplefilter("ignore")
    import torch
    import torch.distributed
    import torch.nn.parallel
    import torch.optim
    import torch.utils.data
    import torch.utils.data.distributed  # noqa: F401
    names, table = collector()
    packages = [m for n, m in sorted(sys.modules.items())
                if (n == "torch" or n.startswith(PACKAGES)) and not n.startswith(LEFT_OUT)
                and isinstance(m, types.ModuleType)]
    known = traced(table, names, packages)
    rows = {}
    for module in packages:
        for value in list(vars(module).values()):
            if is_function(value) and (value.__module__ or "torch") == module.__name__:
                add(rows, name_of(value), value, known)
    for cls in list(classes(packages)) + [torch._C.TensorBase]:
        ours = names.class_name(cls)
        theirs = f"{cls.__module__}.{cls.__qualname__}"
        if ours != theirs:
            rows["=" + theirs] = ("=" + theirs, ours)
        for value in map(plain, list(vars(cls).values())):
            if is_function(value):
                add(rows, name_of(value), value, known)
    print("# Made by scripts/torch_apis.py from torch " + torch.__version__.split("+")[0])
    for name in sorted(rows):
        print("\t".join(rows[name]))


def add(rows, name, function, known):
    if name is None or not name.startswith("torch."):
        return
    params = parameters(function)
    ours, role = known.get(name, ("", ""))
    if params or ours:
        rows[name] = (name, ours, role, ",".join(params or ()))


if __name__ == "__main__":
    main()
