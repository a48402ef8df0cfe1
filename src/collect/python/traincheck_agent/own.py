# SPDX-License-Identifier: Apache-2.0
"""Functions and classes that the script's own files define: they are found where the modules of these files name them. What is
defined in a loop is known by its code, which is the same in each turn."""
import inspect
import os
import sys
import types

import _traincheck_agent as agent
from . import install, loops, named, names, owners, settings, signature, sources, table, withheld

MAX_FUNCTIONS = 400  # a script that defines more is a library
MAX_NAMES = 500  # objects whose names are looked for, and as many tensors and arrays, of which each step makes new ones

_SPECIAL = ("__init__", "__call__", "__getitem__", "__iter__", "__next__")

_modules = {}  # name of a module of the script's: {name in it: number of the object that was looked at}
_read = set()  # those whose files have been read
_program = None  # the module of the script
_lines = None  # its code, or that of a notebook's cell
_again = set()  # names that such code binds in a loop
_is_training = False
_n_functions = 0
_n_names = [0, 0]


def _is_in_folder(path):
    """Beside the program, or below the folder in which it was started: another checkout may be the user's, too."""
    folder = owners.program_folder()
    places = [owners.START] if folder is None else [folder, owners.START]
    return any(owners.is_below(owners.absolute(path), place) for place in places if place != os.sep)


def _is_own(module):
    file = getattr(module, "__file__", None)
    if install.is_within(module.__name__, (table.OURS, *settings.many("instrument"))):
        return False
    if module.__name__ in owners.PROGRAM:
        return True
    return file is not None and _is_in_folder(file) and owners.owner_of(file, vars(module)) == "user"


def _below(value):
    """What a decorator stands around, or None. The object is not asked for it: its __getattr__ is the user's code."""
    try:
        return object.__getattribute__(value, "__dict__").get("__wrapped__")
    except AttributeError:  # it has no dict
        return None


def _function_of(value, module):
    """The user's function, also below a decorator; None if there is none that this module defines."""
    for _ in range(8):
        below = _below(value)
        if below is None and install.is_a(value, types.FunctionType) and value.__module__ == module.__name__ and names.is_user_function(value):
            return value
        value = below
    return None


def _is_made_again(function, module, of):
    return module is _program and not _again.isdisjoint((of, function.__qualname__.partition(".")[0]))


def _trace(value, module, flags, key, of):
    """key: what the module or class calls it, which a lambda has for its only name; of: the module's name for it or for the class."""
    global _n_functions
    function = _function_of(value, module)
    if function is None or agent.is_redirected(function) or _n_functions >= MAX_FUNCTIONS:
        return
    name = function.__qualname__.replace("<lambda>", key).replace(".<locals>", "")
    fn = f"{'__main__' if module.__name__ in owners.PROGRAM else module.__name__}.{name}"
    if install.wants(fn, agent.ROLE_OWN, function) and fn not in settings.many("extra"):
        _n_functions += 1
        params = withheld.guarded(signature.outside_parameters(function, bool(flags & agent.METHOD)), False)
        flags |= withheld.flags(key, params, function)
        number = install.api(fn, agent.ROLE_OWN, flags, 0, params)
        if _is_made_again(function, module, of):
            agent.expect(function.__code__)
        agent.redirect(function, number, params, None, None, False, False)


def _is_of_torch(cls):
    """Modules, optimizers, schedulers and functions of autograd are traced as what they are."""
    return any(base.__module__.split(".")[0] == "torch" and not base.__module__.startswith("torch.utils.data") for base in cls.__mro__)


def _class(cls, module, of):
    if _is_of_torch(cls) or issubclass(cls, BaseException):
        return
    for name, value in list(vars(cls).items()):
        if name.startswith("__") and name not in _SPECIAL:
            continue
        if install.is_a(value, types.FunctionType, staticmethod, classmethod):
            _trace(install.plain(value), module, 0 if install.is_a(value, staticmethod) else agent.METHOD, name, of)
            if name == "__init__":
                install.keep_constructor(cls, value)


def _look_at(name):
    """What the module names since the last time."""
    module, known = sys.modules.get(name), _modules[name]
    if name not in _read and module is not None:
        _read.add(name)
        install.attempt(name, named.meet, module)
    if module is None or module is not _program and len(vars(module)) == len(known):
        return
    found = vars(module).copy()
    _modules[name] = {key: id(value) for key, value in found.items()}
    for key, value in found.items():
        if known.get(key) == id(value):
            continue
        if install.is_a(value, type):
            if value.__module__ == module.__name__:
                install.attempt(key, _class, value, module, key)
        elif callable(value) and not install.is_a(value, types.BuiltinFunctionType):
            install.attempt(key, _trace, value, module, 0, key, key)


def imported(name):
    """A module is there; the script's own are looked through once torch is."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    is_own = name not in _modules and isinstance(file, str) and not file.startswith((owners.STDLIB, *owners.site_folders())) and _is_own(module)
    if is_own:
        _modules[name] = {}
        named.leave_out(name)
        install.attempt(name, sources.imported, module)
    if "torch" in sys.modules:
        named.find(name.partition(".")[0])
        if is_own:
            _look_at(name)


def _names_of(main):
    """Those of the module; where a spawned process still runs the script, of which it makes that module at its end, the script's."""
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != owners.PROGRAM[1]:
        frame = frame.f_back
    return vars(main) if frame is None else frame.f_globals


def _meet_program():
    global _program
    main = sys.modules.get("__main__")
    if main is None or main is _program or not _is_own(main):
        return
    _program = main
    _modules["__main__"] = {}
    _read.discard("__main__")
    install.attempt("__main__", sources.imported, main)
    agent.watch(_names_of(main))


def _frame_of_lines():
    """The frame of the script's own lines, outside of all functions; None where they do not run."""
    frame, scope, found = sys._getframe(), None if _program is None else _names_of(_program), None
    while frame is not None:
        found = frame if frame.f_globals is scope else found
        frame = frame.f_back
    return None if found is None or found.f_code.co_flags & inspect.CO_OPTIMIZED else found


def _meet_lines():
    global _lines
    frame = _frame_of_lines()
    if frame is not None and frame.f_code is not _lines:
        _lines = frame.f_code
        _again.update(loops.names(_lines))
        if _is_training:
            _expect(frame)


def _expect(frame):
    for code in loops.to_come(frame.f_code, frame.f_lasti):
        agent.expect(code)


def train():
    """The training begins: what is defined from here on is looked at when it is called first."""
    global _is_training
    _is_training = True
    _meet_lines()
    frame = _frame_of_lines()
    if frame is not None:
        _expect(frame)


def look():
    """The script has new names of its own."""
    _meet_program()
    install.attempt("lines", _meet_lines)
    for name in list(_modules):
        _look_at(name)
    install.attempt("cells", named.meet_cells, vars(sys.modules["__main__"]).get("_ih"))
    named.find_all()


def start():
    """torch is there."""
    look()


def name_of(value, is_tensor):
    """The name of an object in the innermost frame of the script's, or None; False where too many were asked for. As `self` a method
    knows its receiver, whichever that is."""
    _n_names[is_tensor] += 1
    if _n_names[is_tensor] > MAX_NAMES:
        return False
    return next((name for name in next(names.variables(value), ()) if not name.startswith("_") and name != "self"), None)
