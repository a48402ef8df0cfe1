# SPDX-License-Identifier: Apache-2.0
"""Classes met on the way: modules, optimizers and schedulers of torch and of the user."""
import inspect
import sys
import types

import _traincheck_agent as agent
from . import install, names, relied, settings, signature, table, values

OTHER, MODULE, OPTIMIZER, TENSOR = range(4)

# Methods that the table traces on Module: an override in the user's class is the same API.
_OVERRIDES = {name: row for row in table.TABLE if row.owner == table.MODULE_CLASS
              for name in row.names.split() if name != "__call__"}


def _layer_name(cls):
    """The public name of torch.nn's own layers; None for other modules."""
    torch_nn = sys.modules["torch.nn"]
    if not cls.__module__.startswith("torch.nn.") or ".parallel" in cls.__module__:
        return None
    for base in cls.__mro__:
        if base is not torch_nn.Module and getattr(torch_nn, base.__name__, None) is base:
            return f"torch.nn.{base.__name__}.forward"
    return None


def _describe_module(cls):
    forward = install.plain(getattr(cls, "forward", None))
    params = signature.parameters(forward, True) if forward is not None else ()
    flags = agent.METHOD | agent.MODULE | agent.ASK
    layer, other, fn = -1, -1, _layer_name(cls)
    role = agent.ROLE_FORWARD if cls.__name__ in table.CONTAINERS else agent.ROLE_LAYER
    if fn and install.is_asked(fn, role):
        layer = install.api(fn, role, flags, 0, params)
    call = table.MODULE_CLASS + ".__call__"
    if not fn and install.is_asked(call, agent.ROLE_FORWARD):
        other = install.api(call, agent.ROLE_FORWARD, flags)
    name = names.class_name(cls)
    return name, MODULE, False, False, False, name in table.PARTS, False, layer, other, params


def _is_opaque(cls, torch):
    """Would reading attributes of its tensors run code of the user?"""
    if cls is torch.Tensor or cls is torch.nn.Parameter:
        return False
    plain = (torch.Tensor.__torch_function__, torch._C._disabled_torch_function_impl)
    function = getattr(cls, "__torch_function__", None)
    inherited = getattr(function, "__func__", function) in [getattr(p, "__func__", p) for p in plain]
    return not inherited or values.dispatches(cls, torch)


def _is_distributed(cls):
    """torch.distributed.tensor.DTensor, which was torch.distributed._tensor.DTensor before torch 2.5."""
    module = sys.modules.get("torch.distributed.tensor") or sys.modules.get("torch.distributed._tensor")
    return issubclass(cls, getattr(module, "DTensor", ()))


def _is_ours(cls):
    """Of this tool's own package, or derived from a class of it."""
    return any(base.__module__.partition(".")[0] == table.OURS for base in cls.__mro__)


def describe(cls):
    """(name, kind, opaque, dispatches, distributed, part, ours, API of the layer, API of the forward, parameters of forward)"""
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(cls, torch.nn.Module):
        return _describe_module(cls)
    name, kind, how = names.class_name(cls), OTHER, (False, False, False)
    if torch is not None and issubclass(cls, torch.Tensor):
        kind, how = TENSOR, (_is_opaque(cls, torch), values.dispatches(cls, torch), _is_distributed(cls))
    elif torch is not None and issubclass(cls, torch.optim.Optimizer):
        kind = OPTIMIZER
    return name, kind, *how, False, _is_ours(cls), -1, -1, ()


def _needed(function):
    """Names of the parameters that a call must give."""
    code = function.__code__
    return code.co_varnames[:code.co_argcount - len(function.__defaults__ or ())]


def _is_override(name, function):
    """Can it be called as the method of Module is? A train(self, batch) is a method of its own, which trains."""
    base = install.plain(getattr(sys.modules["torch"].nn.Module, name))
    needed, code = _needed(function), base.__code__
    return (len(needed) <= len(_needed(base)) or bool(code.co_flags & inspect.CO_VARARGS)
            or set(needed[1:]) <= set(code.co_varnames[:code.co_argcount]))


def _trace_method(cls, name, function):
    row = _OVERRIDES.get(name)
    if row is not None and _is_override(name, function):
        fn = f"{table.MODULE_CLASS}.{name}"
        install.trace(function, fn, row.role, row.flags | agent.RECEIVER, row.group)
    elif not name.startswith("_") and name != "forward":
        fn = f"{names.class_name(cls)}.{name}"
        install.trace(function, fn, agent.ROLE_METHOD, agent.METHOD | agent.TOP | agent.ASK)


def module_met(args, _result=None):
    """The first module of a class is being built: its public methods become APIs."""
    for cls in type(args[0]).__mro__:
        for name, value in list(vars(cls).items()):
            if not isinstance(value, types.FunctionType) or agent.is_redirected(value):
                continue
            if names.is_user_function(value):
                install.attempt(name, _trace_method, cls, name, value)
    if "__main__" in settings.many("instrument"):
        install.module_functions(sys.modules["__main__"], "__main__")


def _trace_steps(cls, fn, role):
    """Every override of step is the same API: super() on one receiver is one event."""
    for base in cls.__mro__:
        step = vars(base).get("step")
        while isinstance(step, types.FunctionType):
            if not agent.is_redirected(step):
                install.attempt(fn, install.trace, step, fn, role, agent.METHOD | agent.RECEIVER)
            step = getattr(step, "__wrapped__", None)


def _trace_overrides(cls, base, owner):
    """zero_grad, load_state_dict and the like in a subclass."""
    for row in table.TABLE:
        if row.owner != owner:
            continue
        for name in row.names.split():
            for sub in cls.__mro__:
                value = vars(sub).get(name)
                if sub is not base and isinstance(value, types.FunctionType) \
                        and not agent.is_redirected(value):
                    install.attempt(name, install.trace, value, f"{owner}.{name}", row.role,
                                    row.flags, row.group)


def optimizer_built(args, _result=None):
    cls, base = type(args[0]), sys.modules["torch"].optim.Optimizer
    relied.check_groups(args[0])
    _trace_steps(cls, table.OPTIMIZER + ".step", agent.ROLE_STEP)
    _trace_overrides(cls, base, table.OPTIMIZER)
    agent.optimizer_born(args[0])


def scheduler_met(args, _result=None):
    cls, base = type(args[0]), install.resolve_owner(table.SCHEDULER)
    _trace_steps(cls, table.SCHEDULER + ".step", agent.ROLE_SCHEDULER)
    _trace_overrides(cls, base, table.SCHEDULER)


def _subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def known_classes(torch):
    """Classes that exist already when torch has been imported."""
    for cls in _subclasses(torch.optim.Optimizer):
        _trace_steps(cls, table.OPTIMIZER + ".step", agent.ROLE_STEP)
    base = install.resolve_owner(table.SCHEDULER)
    plateau = getattr(torch.optim.lr_scheduler, "ReduceLROnPlateau", None)
    for cls in [c for c in (base, *(_subclasses(base) if base else ()), plateau) if c]:
        _trace_steps(cls, table.SCHEDULER + ".step", agent.ROLE_SCHEDULER)
