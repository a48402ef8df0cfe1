# SPDX-License-Identifier: Apache-2.0
"""What the script's own files name of packages: their sources tell what they import, and what they name of it.

A call of it is traced where a line of the user's own makes it. Of a class these are the constructor, and the methods that the
files call, on whatever object.
"""
import ast
import sys
import types

import _traincheck_agent as agent
from . import install, owners, settings, signature, table, withheld

MAX_NAMES = 400  # paths of a script; one that calls more is a library
_MAX_SOURCE = 1 << 20  # bytes of a file; larger ones are made by a program

_CALLABLES = types.FunctionType, types.BuiltinFunctionType, types.MethodType, staticmethod, classmethod

_pending = {}  # top-level package: the paths in it that have not been found yet
_own = set()  # modules of the script's, whose functions are told for themselves
_methods = set()  # names that the files call on objects
_classes = {}  # those that were found, and their paths
_known = set()  # all paths that are looked for, or were
_arrays = []  # numpy's class of arrays, once it is there
_n_cells = 0
_of_cells = {}  # what the cells of a notebook have imported


def _chain(node):
    """["np", "linalg", "norm"] of np.linalg.norm; None where it does not begin with a name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def parse(source):
    """What Python warns of in a source it has said when it compiled it. Its filters are left alone: to change them, and to change
    them back, lets what was said once be said again."""
    warnings = sys.modules.get("warnings")
    show = getattr(warnings, "_showwarnmsg", None)
    if show is not None:
        warnings._showwarnmsg = lambda message: None
    try:
        return ast.parse(source)
    finally:
        if show is not None:
            warnings._showwarnmsg = show


def _bindings(node):
    """(name, dotted path) of what a statement imports."""
    if isinstance(node, ast.Import):
        for name in node.names:
            first = name.name.partition(".")[0]
            yield name.asname or first, name.name if name.asname else first
    elif node.module and not node.level:
        for name in node.names:
            yield name.asname or name.name, f"{node.module}.{name.name}"


def _read(source, imports):
    """imports: {name: dotted path} of sources before this one, to which its own are added.

    Returns: ({dotted path that is named}, {name of a method that is called})
    """
    chains, methods, inner = [], set(), set()
    for node in ast.walk(parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.update(_bindings(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            methods.add(node.func.attr)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            if node not in inner:
                chains.append(_chain(node))
            if isinstance(node, ast.Attribute):
                inner.add(node.value)
    return {".".join((imports[first], *rest)) for first, *rest in filter(None, chains) if first in imports}, methods


def leave_out(name):
    """A module is the script's own: what is named of it is no package's."""
    _own.add(name)


def meet(module):
    """One more file of the script's own."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return
    try:
        with open(file, "rb") as stream:
            source = stream.read(_MAX_SOURCE + 1)
    except OSError:  # it lies in an archive, or is gone
        return
    if len(source) <= _MAX_SOURCE:
        _meet_source(source, {})


def meet_cells(cells):
    """All cells of a notebook that have been run, as IPython keeps them."""
    global _n_cells
    for source in cells[_n_cells:] if isinstance(cells, list) else ():
        _n_cells += 1
        _meet_source(source, _of_cells)


def _meet_source(source, imports):
    try:
        paths, methods = _read(source, imports)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # a cell that is no Python, an expression that is nested too deep: the script may do without us
    for path in sorted(paths - _known):
        if len(_known) < MAX_NAMES and not install.is_within(path, table.UNNAMED):
            _known.add(path)
            _pending.setdefault(path.partition(".")[0], set()).add(path)
    methods -= _methods
    _methods.update(methods)
    for cls, path in list(_classes.items()):
        _trace_methods(cls, path, methods)
    _trace_array_methods(methods)


def _is_of_stdlib(package):
    origin = getattr(getattr(sys.modules[package], "__spec__", None), "origin", None)
    return origin in ("built-in", "frozen") or isinstance(origin, str) and origin.startswith(owners.STDLIB) and not any(
        owners.is_below(origin, folder) for folder in owners.site_folders())


def find(package):
    """Trace what has come to be there of a package; while that is being imported, the rows of the table come first."""
    paths = _pending.get(package, ())
    if not paths and package != "numpy" or not install.is_whole(package):
        return
    if package not in table.NAMED_OF_STDLIB and _is_of_stdlib(package):
        paths = ()
    # What two files name by two paths has the shorter one, whatever the order of a set.
    paths = sorted(paths, key=lambda path: (path.count("."), path))
    left = {path for path in paths if not install.is_within(path, _own) and install.attempt(path, _find_path, path) is False}
    if left:
        _pending[package] = left
    else:
        _pending.pop(package, None)
    if package == "numpy":
        _trace_arrays(sys.modules[package])


def _find_path(path):
    """Returns: is it there?"""
    found = _resolve(path)
    if found is not None:
        _trace_path(path, found)
    return found is not None


def _trace_arrays(numpy):
    """Arrays of numpy, whose class no script names: symbols between them, and their methods."""
    if _arrays or not _methods or not isinstance(vars(numpy).get("ndarray"), type):
        return
    _arrays.append(numpy.ndarray)
    install.listen(vars(numpy.ndarray)["resize"], before=lambda args, _=None: agent.let_go(args[0]))  # it refuses weak references
    for name in table.ARRAY_OPERATORS:
        install.attempt(name, _trace, vars(numpy)[name], f"numpy.{name}", agent.ROLE_PACKAGE, False)
    _trace_array_methods(_methods)


def _trace_array_methods(names):
    for array in _arrays:
        for name in sorted(names - table.NO_ARRAY_METHODS):
            if isinstance(vars(array).get(name), types.MethodDescriptorType):
                _trace(vars(array)[name], f"numpy.ndarray.{name}", agent.ROLE_PACKAGE, True)


def find_all():
    for package in [*_pending, "numpy"]:
        find(package)


def _resolve(path):
    """What stands in a module, or in a class there, under a dotted path; None: not yet. No object is asked, as it may answer by
    code of its own."""
    parts = path.split(".")
    n = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in sys.modules), 0)
    found = sys.modules[".".join(parts[:n])] if n else None
    for name in parts[n:]:
        found = install.declared(found, name) if install.is_a(found, type) else vars(found).get(name) \
            if install.is_a(found, types.ModuleType) else None
    return found


def _trace_path(path, found):
    """Only what is known by its type: an object may answer what it is by code of its own. What a package wraps its functions in may
    have no slot; numpy's have."""
    kind = type(found)
    if issubclass(kind, type):
        _trace_class(found, path)
    elif issubclass(kind, _CALLABLES) or kind.__module__.partition(".")[0] == "numpy":
        owner = _resolve(path.rpartition(".")[0])
        is_bound = issubclass(kind, (types.MethodType, classmethod))
        is_method = is_bound or install.is_a(owner, type) and not issubclass(kind, staticmethod)
        name = path.rpartition(".")[2]
        _trace(install.plain(found), _name(owner, path.rpartition(".")[0], name) if install.is_a(owner, type) else path,
               agent.ROLE_PACKAGE, is_method)


def _name(cls, path, name):
    """An inherited function has the name that it has where it is declared, whichever of the heirs is met first."""
    declaring = install.declaring(cls, name)
    return f"{path}.{name}" if declaring is cls else f"{declaring.__module__}.{declaring.__qualname__}.{name}"


def _trace_class(cls, path):
    if cls in _classes or issubclass(cls, BaseException) or install.declared(cls, "__enter__") is not None:
        return  # what a `with` enters has a record as context of calls, or none
    _classes[cls] = path
    init = install.plain(install.declared(cls, "__init__"))
    if isinstance(init, types.FunctionType):
        _trace(init, _name(cls, path, "__init__"), agent.ROLE_MAKE, True)
        install.keep_constructor(install.declaring(cls, "__init__"), init)
    _trace_methods(cls, path, _methods | {"__call__"})


def _is_of(cls, *prefixes):
    return cls.__module__.startswith(prefixes)


def _has_rows(cls, name):
    """Has the table a row for it, or for what it is a part of? The forward of modules, steps of optimizers and schedulers, batches."""
    if any(_is_of(base, "torch.optim.optimizer", "torch.optim.lr_scheduler", "torch.utils.data.") for base in cls.__mro__):
        return True
    is_module = any(_is_of(base, "torch.nn.modules.module") for base in cls.__mro__)
    return is_module and (name in ("__call__", "forward", "train", "eval") or _is_of(install.declaring(cls, name), "torch.nn.modules.module"))


def _trace_methods(cls, path, names):
    for name in sorted(names):
        method = install.declared(cls, name) if not name.startswith("_") or name == "__call__" else None
        function = install.plain(method)
        if isinstance(function, types.FunctionType) and not _has_rows(cls, name):
            _trace(function, _name(cls, path, name), agent.ROLE_PACKAGE, not isinstance(method, staticmethod))


def _parameters(function, fn, is_method):
    if type(function).__name__ == "ufunc":  # all have a dozen options, which symbols do not use
        return signature.named("x1", "x2")
    of = signature.parameters if fn.startswith("torch.") else signature.outside_parameters
    return of(function, is_method)


def _trace(function, fn, role, is_method):
    if install.is_within(getattr(function, "__module__", None) or "", table.COMPUTING):
        role = agent.ROLE_OPERATOR
    if agent.is_redirected(function) or not install.wants(fn, role, function) or fn in settings.many("extra"):
        return
    params = withheld.guarded(_parameters(function, fn, is_method), True)
    flags = withheld.flags(fn.rpartition(".")[2], params, function) | agent.OWN | (agent.METHOD if is_method else 0)
    flags |= agent.OUTERMOST | install.noise(fn) if role == agent.ROLE_OPERATOR else 0
    try:
        agent.redirect(function, install.api(fn, role, flags, 0, params), params, None, None, False, False)
    except TypeError:  # no slot
        pass
