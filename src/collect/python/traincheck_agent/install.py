# SPDX-License-Identifier: Apache-2.0
"""Resolving the table against what is imported, and redirecting what it names."""
import os
import sys
import types

import _traincheck_agent as agent
from . import names, relied, settings, signature, table

_apis = {}
_done = set()
roles = {}  # of every API that is traced, by its name
_left_out = set()  # callables that are left out under one name are so under all


def role_name(role):
    return next(name[5:].lower() for name, value in vars(agent).items()
                if name.startswith("ROLE_") and value == role)


def is_a(value, *kinds):
    """As isinstance(), which asks an object for its class: a proxy answers by code of its own."""
    return issubclass(type(value), kinds)


def is_asked(fn, role):
    """Does an invariant need the API, or all of its role?"""
    if fn in settings.left_out:
        return False
    if settings.selected is None or fn in settings.selected:
        return True
    return role in [getattr(agent, "ROLE_" + name.upper(), None) for name in settings.many("role")]


def wants(fn, role, callable_=None):
    if fn in settings.left_out and callable_ is not None:
        _left_out.add(id(callable_))
    return id(callable_) not in _left_out and (role in table.PHASE_ROLES or is_asked(fn, role))


def api(fn, role, flags, group=0, params=()):
    """The number of an API; one number for each name."""
    if fn not in _apis:
        roles[fn] = role
        _apis[fn] = agent.add_api(fn, role, flags, group, signature.defaults(params))
    return _apis[fn]


def trace(callable_, fn, role, flags, group=0, before=None, after=None, alias_of=None):
    """Redirect one callable so that its calls are recorded as fn."""
    params = signature.parameters(callable_, bool(flags & agent.METHOD))
    if alias_of is not None:
        params = signature.like(params, signature.parameters(alias_of))
    number = api(fn, role, flags, group, params) if wants(fn, role, callable_) else -1
    if number >= 0 or before or after:
        agent.redirect(callable_, number, params, before, after, False, False)


def listen(callable_, before=None, after=None, once_per_type=False, mute=False):
    """Redirect a callable whose calls are no events but tell us something."""
    agent.redirect(callable_, -1, (), before, after, once_per_type, mute)


def attempt(what, function, *args, **named):
    try:
        return function(*args, **named)
    except Exception as error:  # tracing must never fail the job
        agent.failed(f"{what}: {type(error).__name__}: {error}")
        return None


def resolve(path):
    """The object that a dotted path names among what is imported, or None."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        found = sys.modules.get(".".join(parts[:n]))
        if found is None:
            continue
        for name in parts[n:]:
            # a module's own __getattr__ may import things: only what is there counts
            lazy = isinstance(found, types.ModuleType) or name in getattr(found, "__dict__", ())
            found = vars(found).get(name) if lazy else getattr(found, name, None)
        return found
    return None


def is_within(path, names):
    """Is the dotted path one of the names, or below one?"""
    return any(path == name or path.startswith(name + ".") for name in names)


def is_whole(name):
    """Has the module been imported to its end?"""
    return not getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", True)


def plain(attribute):
    """The function below a static or class method or a bound method."""
    if isinstance(attribute, (staticmethod, classmethod)):
        return attribute.__func__
    return getattr(attribute, "__func__", attribute)


def resolve_owner(path):
    for candidate in (path, *table.MOVED.get(path, ())):
        owner = resolve(candidate)
        if owner is not None:
            return owner
    return None


def _is_function(value):
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType))


def _belongs(function, owner):
    module = getattr(function, "__module__", None) or "torch._C"
    return module.split(".")[0] == owner.split(".")[0] and module not in ("torch.overrides",)


def _public_functions(path, owner):
    """Functions of the module and of its submodules; imports from elsewhere are not its own."""
    for name, value in list(vars(owner).items()):
        if name.startswith(table.SKIPPED_PREFIXES) or not _is_function(value):
            continue
        if _belongs(value, path) and not isinstance(value, type):
            yield name


def declaring(cls, name):
    """The class, or the nearest base, that has it; None if there is none."""
    return next((c for c in cls.__mro__ if name in vars(c)), None)


def declared(cls, name):
    """What stands there: perhaps a descriptor."""
    base = declaring(cls, name)
    return None if base is None else vars(base)[name]


def keep_constructor(cls, init):
    """Of the class, and of those that have it from there."""
    agent.keep_init(cls)
    for heir in type.__subclasses__(cls):
        if plain(declared(heir, "__init__")) is init:
            keep_constructor(heir, init)


def _attribute(owner, name):
    if isinstance(owner, type):
        return plain(declared(owner, name))
    return plain(vars(owner).get(name))


def _install_row(row):
    owner = resolve_owner(row.owner)
    if owner is None:
        return
    wanted = _public_functions(row.owner, owner) if row.names == "*" else row.names.split()
    for name in wanted:
        function = _attribute(owner, name)
        fn = _public_name(row, name)
        if function is None or fn in _done or agent.is_redirected(function):
            continue
        _done.add(fn)
        attempt(fn, trace, function, fn, row.role, row.flags, row.group)


def _public_name(row, name):
    fn = f"{row.owner}.{name}"
    return table.PUBLIC_NAMES.get(fn, fn)


def _check_row(row):
    """Is each function of the row there, and redirected if it is wanted?"""
    owner = resolve_owner(row.owner)
    if owner is None and row.owner in table.LATER:
        return
    for name in row.names.split() if row.names != "*" else ():
        fn = _public_name(row, name)
        function = None if owner is None else _attribute(owner, name)
        if function is None or wants(fn, row.role) and not agent.is_redirected(function):
            relied.miss(fn)


def package(name, is_whole=False):
    """Redirect what the table names of a package that has just been imported.

    Args:
        is_whole: all of it has been imported: what is not there then is missing
    """
    for row in table.TABLE:
        if row.owner.split(".")[0] == name:
            attempt(row.owner, _install_row, row)
            if is_whole:
                attempt(row.owner, _check_row, row)


def aliases(torch):
    """torch.softmax and torch.nn.functional.softmax are one API."""
    functional = torch.nn.functional
    for name in _public_functions("torch.nn.functional", functional):
        twin = getattr(torch, name, None)
        if not _is_function(twin) or agent.is_redirected(twin):
            continue
        fn = "torch.nn.functional." + name
        attempt(fn, trace, twin, fn, agent.ROLE_FUNCTION, agent.OUTERMOST | agent.ASK, 0, None,
                None, getattr(functional, name))


def tensor_methods(torch):
    """Every public method of torch.Tensor that does something."""
    for name in dir(torch.Tensor):
        method = _attribute(torch.Tensor, name)
        fn = "torch.Tensor." + name
        if name.startswith(table.SKIPPED_PREFIXES) or name in table.DESCRIPTIONS or fn in _done:
            continue
        if isinstance(method, (types.FunctionType, types.MethodDescriptorType)):
            _done.add(fn)
            flags = agent.ASK | (agent.UNWRITTEN if name in table.UNWRITTEN_METHODS else 0)
            attempt(fn, trace, method, fn, agent.ROLE_FUNCTION, agent.METHOD | agent.OUTERMOST | flags)


def _is_callable(value):
    """torch.float is a dtype."""
    return _is_function(value) or isinstance(value, types.MethodDescriptorType)


def noise(fn):
    """The flag of an operator that draws."""
    return agent.NOISE if fn.rpartition(".")[2] in table.NOISE_OPERATORS else 0


def _operator(callable_, fn, params=None):
    """What is called by the script's own lines; libraries go their way unseen."""
    if not _is_callable(callable_) or agent.is_redirected(callable_) or not wants(fn, agent.ROLE_OPERATOR, callable_):
        return
    is_method = fn.startswith("torch.Tensor.")
    if params is None:
        params = signature.parameters(callable_, is_method)
    flags = agent.OUTERMOST | agent.OWN | (agent.METHOD if is_method else 0) | noise(fn)
    agent.redirect(callable_, api(fn, agent.ROLE_OPERATOR, flags, 0, params), params, None, None, False, False)


def _item(torch, name, *operands):
    fn = "torch.Tensor." + name
    if wants(fn, agent.ROLE_OPERATOR):
        params = signature.named(*operands)
        number = api(fn, agent.ROLE_OPERATOR, agent.OUTERMOST | agent.OWN | agent.METHOD, 0, params)
        for cls in (torch.Tensor, torch.nn.Parameter):
            agent.redirect_item(cls, number, params, len(operands) > 1)


def _is_operator(name):
    return not name.startswith((*table.INNER_OPERATORS, *table.SKIPPED_PREFIXES)) and name not in table.NO_OPERATORS


def _operator_functions(torch, owner):
    """Names of the module's functions that compute something; its others set it up, or read files."""
    known = torch._C._VariableFunctions
    for name, function in list(vars(owner).items()):
        if _is_operator(name) and _is_function(function) and (
                hasattr(known, function.__name__) or function.__module__ == table.OPERATORS_OF_PYTHON
                or owner is not torch and isinstance(function, types.BuiltinFunctionType)):
            yield name


def operators(torch):
    """What the script computes with tensors: functions, methods, and the symbols that stand for them. What --apis names is
    traced wherever it is called from, as any function that is named there."""
    taken = _done.union(settings.many("extra"))
    owners = [(path, resolve(path)) for path in table.OPERATOR_MODULES]
    names = [(path, owner, name) for path, owner in owners if owner for name in _operator_functions(torch, owner)]
    names += [("torch.Tensor", torch.Tensor, name) for name in dir(torch.Tensor) if _is_operator(name)]
    for path, owner, name in names:
        fn = f"{path}.{name}"
        if fn not in taken:
            attempt(fn, _operator, _attribute(owner, name), fn)
    for name, (method, operand) in table.SYMBOLS.items():
        attempt(name, _operator, _attribute(torch.Tensor, name), "torch.Tensor." + method, signature.named(operand))
    attempt("torch.Tensor.__getitem__", _item, torch, "__getitem__", "index")
    attempt("torch.Tensor.__setitem__", _item, torch, "__setitem__", "index", "value")


def _draw(callable_, fn, is_method):
    """A builtin that is bound to a generator is not handed it: it is another API of the same name."""
    if agent.is_redirected(callable_):
        return
    params = signature.outside_parameters(callable_, is_method)
    flags = agent.OUTERMOST | agent.OWN | (agent.METHOD if is_method else 0)
    number = agent.add_api(fn, agent.ROLE_DRAW, flags, table.DRAW_GROUP, signature.defaults(params))
    roles[fn] = agent.ROLE_DRAW
    agent.redirect(callable_, number, params, None, None, False, False)


def _draws_of(path, name, methods):
    """The methods of a class of generators, and the functions of the module that are builtins bound to one."""
    module = sys.modules[path]
    cls = getattr(module, name, None)
    for method in (methods.split() if methods != "*" else dir(cls)) if isinstance(cls, type) else ():
        function, fn = _attribute(cls, method), f"{path}.{name}.{method}"
        if method.startswith("_") or not callable(function) or fn in _done or not wants(fn, agent.ROLE_DRAW, function):
            continue
        _done.add(fn)
        attempt(fn, _draw, function, fn, True)
        bound = vars(module).get(method)
        if isinstance(bound, types.BuiltinFunctionType) and isinstance(bound.__self__, cls):
            attempt(fn, _draw, bound, fn, False)


def _leave_out_forks():
    """The library's generator is seeded anew in a forked child, by what `random` has registered before this."""
    if "os.fork" not in _done:
        _done.add("os.fork")
        os.register_at_fork(before=agent.hold, after_in_parent=agent.release, after_in_child=agent.release)


def draws():
    """What the script draws by generators of Python and of numpy."""
    if "random" in sys.modules:
        _leave_out_forks()
    for path, name, methods in table.DRAWS:
        if path in sys.modules:
            attempt(path, _draws_of, path, name, methods)
    make = getattr(sys.modules.get("numpy.random"), "default_rng", None)
    fn = "numpy.random.default_rng"
    if make is not None and fn not in _done and wants(fn, agent.ROLE_DRAW):
        _done.add(fn)
        attempt(fn, _draw, make, fn, False)


def extra_function(path):
    """One more function or method, named in the file of --apis."""
    owner_path, _, name = path.rpartition(".")
    owner = resolve(owner_path)
    if path in _done or owner is None:
        return
    is_method = isinstance(owner, type) and not isinstance(declared(owner, name), staticmethod)
    function = _attribute(owner, name)
    if function is not None and not agent.is_redirected(function):
        _done.add(path)
        attempt(path, trace, function, path, agent.ROLE_FUNCTION,
                agent.OUTERMOST | agent.ASK | (agent.METHOD if is_method else 0))


def is_missing(path):
    """Is it named in the file of --apis, its package imported, and yet no such thing was met?"""
    if path in _done or path.split(".")[0] not in sys.modules:
        return False
    found = plain(resolve(path))
    return found is None or not agent.is_redirected(found)


def find(path):
    """A function of torch that is relied on; None, which is told of, if it is not there."""
    owner, _, name = path.rpartition(".")
    owner = resolve_owner(owner)
    function = None if owner is None else _attribute(owner, name)
    if function is None:
        relied.miss(path)
    return function


def listen_to(path, **how):
    function = find(path)
    if function is not None:
        attempt(path, listen, function, **how)


def muted(paths):
    for path in paths:
        function = plain(resolve(path))
        if function is not None and path not in _done:
            _done.add(path)
            attempt(path, listen, function, None, None, False, True)


def _is_public(path):
    return not any(part.startswith("_") for part in path.split(".") if part != "__main__")


def _trace_own(function, fn, flags):
    if isinstance(function, types.FunctionType) and not agent.is_redirected(function):
        attempt(fn, trace, function, fn, agent.ROLE_FUNCTION, flags | agent.OUTERMOST | agent.ASK)


def _class_methods(cls, prefix):
    """Public methods that the class itself declares; the forward of a module is an API already."""
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    is_module = module is not None and issubclass(cls, module)
    for name, value in list(vars(cls).items()):
        if name.startswith("_") or is_module and name == "forward":
            continue
        flags = 0 if isinstance(value, staticmethod) else agent.METHOD
        _trace_own(plain(value), f"{prefix}.{name}", flags)


def _declares(package, value):
    """Does the package, or a module of its that is not public, define the function or class?"""
    home = getattr(value, "__module__", None) or ""
    return home == package or home.startswith(package + ".") and not _is_public(home)


def module_functions(module, prefix):
    """Public functions of a module of --instrument, and public methods of its classes."""
    if not _is_public(prefix):
        return
    for name, value in list(vars(module).items()):
        if name.startswith("_") or not _declares(module.__name__, value):
            continue
        if isinstance(value, type) and not issubclass(value, BaseException):
            _class_methods(value, f"{prefix}.{name}")
        else:
            _trace_own(value, f"{prefix}.{name}", 0)
