# SPDX-License-Identifier: Apache-2.0
"""What the agent asks while it works, and what happens when a package has been imported."""
import sys
import types

import _traincheck_agent as agent
from . import annotations, classes, install, layout, own, process, relied, settings, sources, table
from .classes import describe as describe_class
from .device import architecture, compiler_paths, driver_paths, has_come, join_streams, leave_stream, look, stream_of, wait_for
from .names import name_in_module, name_of_root as name_of_object, place_of_file
from .own import look as look_at_own, name_of as name_of_operand, train as training_begins
from .process import ending, open_trace, replicas
from .sources import tell as tell_source, tell_kept as before_fork
from .values import as_double, autocast_json, content, found_inf, name_of_root, numpy_json, placement_json, scaler_settings, shield

_PACKAGES = {row.owner.split(".")[0] for row in table.TABLE} - {"torch"}
# Parts of them that are loaded later than the package itself.
_PARTS = {name.rpartition(".")[0] for moved in table.MOVED.values() for name in moved
          if name.split(".")[0] in _PACKAGES}
_hooked = set()
# torch is traced anyway, by the table
_INSTRUMENTED = [name for name in settings.many("instrument") if name != "torch"]


def _torch_imported():
    torch = sys.modules["torch"]
    agent.set_torch(torch)
    layout.find(torch)
    install.package("torch", is_whole=True)
    for part in (install.aliases, _tensor_methods, _operators, classes.known_classes, _graphs, _streams, _swaps, _check):
        install.attempt(part.__name__, part, torch)
    install.muted(table.MUTED)
    install.listen_to(f"{table.MODULE_CLASS}.__init__", before=classes.module_met, once_per_type=True)
    install.listen_to(f"{table.OPTIMIZER}.__init__", after=classes.optimizer_built)
    install.listen_to(f"{table.SCHEDULER}.__init__", before=classes.scheduler_met, once_per_type=True)
    install.listen_to("torch.utils.data._utils.worker._worker_loop", before=process.worker_started)
    if torch.distributed.is_available():
        fn = "torch.distributed.init_process_group"
        install.attempt(fn, install.trace, torch.distributed.init_process_group, fn, agent.ROLE_FUNCTION,
                        agent.OUTERMOST, after=process.rank_known)
    if "numpy" in sys.modules:
        install.package("numpy")


def _tensor_methods(torch):
    if settings.flag("tensor_methods"):
        install.tensor_methods(torch)


def _are_own_lines_traced():
    return settings.flag("operators") or settings.selected is not None


def _operators(torch):
    if _are_own_lines_traced():
        install.operators(torch)
        install.draws()
        own.start()


def _check(torch):
    """What is read of torch beside the functions of the table."""
    relied.check_module(torch.nn.Module)
    for fn, name in table.FIRST_PARAMETERS.items():
        function = install.find(fn)
        if function is not None:
            relied.check_parameter(fn, function, name)


def _graphs(_torch):
    """What is called while a graph is captured is not done: it is done when the graph is replayed."""
    moments = ("capture_begin", {"after": lambda _args, _result: agent.mute(True)}), \
              ("capture_end", {"before": lambda _args, _=None: agent.mute(False)})
    for path, how in ((f"{graph}.{name}", how) for graph in table.GRAPHS for name, how in moments):
        _listen_if_there(path, **how)


def _streams(_torch):
    """What the script has written on a stream is read there."""
    for path in table.STREAMS:
        _listen_if_there(path, before=leave_stream)


def _listen_if_there(path, **how):
    """To what not all releases have."""
    function = install.plain(install.resolve(path))
    if function is not None:
        install.attempt(path, install.listen, function, **how)


def _swaps(torch):
    """swap_tensors refuses tensors that have weak references."""
    swap = getattr(torch.utils, "swap_tensors", None)
    if swap is not None:
        install.listen(swap, before=lambda args, _=None: [agent.let_go(t) for t in args[:2]])


def _hide_from_dynamo():
    """What the agent calls is not to be compiled. The module with the switch is a mere attribute until torch 2.4."""
    path = "torch._C._dynamo.eval_frame.set_eval_frame"
    switch = install.resolve(path)
    if switch is None:
        relied.miss(path)
    else:
        agent.set_dynamo(switch)


def _once(name, hook, *args):
    """Hook a package as soon as it is whole: parts of it may import it by name before it is."""
    if name not in _hooked and install.is_whole(name):
        _hooked.add(name)
        install.attempt(name, hook, *args)


def _instrument(name):
    """Modules of --instrument: with a package those of its parts that it has imported itself."""
    found = [m for m in list(sys.modules) if m.startswith(name + ".")] if "." not in name else []
    for module in (name, *found):
        if install.is_within(module, _INSTRUMENTED) and module not in _hooked:
            _hooked.add(module)
            install.attempt(module, install.module_functions, sys.modules[module], module)


def _ours(name):
    """What a callback does, such as to ask all ranks whether to stop, the run does not do."""
    agent.expect_ours()
    callback = vars(sys.modules[name]).get("TrainCheckCallback")
    for function in vars(callback).values() if callback else ():
        if install.is_a(function, types.FunctionType):
            install.listen(function, mute=True)


def imported(args, _result=None):
    """Something has been imported. importlib.import_module() comes here each time it is called."""
    name = args[0]
    if name == "torch":
        _once("torch", _torch_imported)
    elif (name in _PACKAGES or name in _PARTS) and "torch" in sys.modules:
        install.package(name.split(".")[0])
    elif name in table.LATER:
        install.package("torch")
    elif name == "numpy.random":  # numpy 2 loads it when it is asked for
        if _are_own_lines_traced() and "torch" in sys.modules:
            _once(name, install.draws)
    elif name == "subprocess":
        _once(name, process.subprocess_imported)
    elif name.partition(".")[0] == table.OURS:
        _once(name, _ours, name)
    elif name.startswith("torch._dynamo"):
        install.muted(table.MUTED)
        if name == "torch._dynamo.eval_frame":
            install.attempt(name, _hide_from_dynamo)
    package = name.split(".")[0]
    if _INSTRUMENTED and install.is_whole(package):
        _instrument(name)
    if _are_own_lines_traced() and install.is_whole(name):
        own.imported(name)
    for path in settings.many("extra"):
        if path.split(".")[0] == package and install.is_whole(package):
            install.extra_function(path)


def start():
    if settings.flag("list"):
        return  # nothing runs that could be traced
    if settings.text("plan"):
        agent.load_plans()
        from . import plan
        return plan.start()
    process.start()
    install.attempt("sources", sources.start)
    agent.set_sampling(settings.number("sampling_interval"), settings.number("warm_up_steps"),
                       settings.number("budget"))
    annotations.serve()
    importlib = sys.modules["_frozen_importlib"]
    install.listen(importlib._find_and_load, after=imported)
    extra = [path.split(".")[0] for path in settings.many("extra")]
    for name in dict.fromkeys(["torch", "subprocess", *_INSTRUMENTED, *extra]):
        if name in sys.modules:  # before us, or by us
            imported((name,))
