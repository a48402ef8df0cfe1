# SPDX-License-Identifier: Apache-2.0
"""
Calls on the workers of an executor: any that has submit(), whose futures have done() and result().

What a call raises is handed back, as it would be raised again. What the engine loses, with the worker that had it, is
submitted again, at most ATTEMPTS times in all.
"""

import concurrent.futures
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from . import _library as lib

ATTEMPTS = 4
POLL_S = 0.05  # for futures of their own kind, as those of submitit

Executor = Union[concurrent.futures.Executor, Callable[[], concurrent.futures.Executor]]


def _guarded(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> Tuple[Any, Optional[BaseException]]:
    """On the worker: an exception is a result, so that one of the engine can be told from it."""
    try:
        return function(*arguments), None
    except Exception as e:
        return None, e


class _Call:
    """One call, and how often it was submitted."""

    def __init__(self, function: Callable[..., Any], arguments: Tuple[Any, ...], tag: Any, what: str):
        self.function, self.arguments, self.tag, self.what = function, arguments, tag, what
        self.attempts = 0


class Workers:
    """
        with Workers(executor) as workers:
            workers.submit(tag, "run1", function, argument)
            for tag, value in workers.done():
                ...                             # may submit more

    executor may also be a function that makes one: then it is made anew when a lost worker breaks it, and shut down at the end.
    """

    def __init__(self, executor: Executor):
        self._make: Any = None if hasattr(executor, "submit") else executor
        self._executor: Any = self._make() if self._make else executor
        self._pending: Dict[Any, Tuple[_Call, Any]] = {}  # future -> its call, and the executor that has it

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: Any) -> None:
        for future in self._pending:
            future.cancel()
        if self._make:
            self._executor.shutdown()

    def submit(self, tag: Any, what: str, function: Callable[..., Any], *arguments: Any) -> None:
        """tag: for the caller. what: in words, for the error of a call that is lost again and again."""
        self._submit(_Call(function, arguments, tag, what))

    def done(self) -> Iterator[Tuple[Any, Any]]:
        """The tag and the value of each call, as they end, until none is left."""
        while self._pending:
            for future in self._wait():
                call, executor = self._pending.pop(future)
                try:
                    value, raised = future.result()
                except Exception as e:
                    self._lost(call, executor, e)
                    continue
                if raised:
                    raise raised
                yield call.tag, value

    def _submit(self, call: _Call) -> None:
        call.attempts += 1
        try:
            future = self._executor.submit(_guarded, call.function, call.arguments)
        except concurrent.futures.BrokenExecutor as e:
            self._renew(self._executor, e)
            future = self._executor.submit(_guarded, call.function, call.arguments)
        self._pending[future] = call, self._executor

    def _wait(self) -> List[Any]:
        if all(isinstance(future, concurrent.futures.Future) for future in self._pending):
            return list(concurrent.futures.wait(self._pending, return_when=concurrent.futures.FIRST_COMPLETED).done)
        while True:
            ended = [future for future in self._pending if future.done()]
            if ended:
                return ended
            time.sleep(POLL_S)

    def _lost(self, call: _Call, executor: Any, error: Exception) -> None:
        if call.attempts >= ATTEMPTS:
            raise lib.TrainCheckError(f"{call.what}: lost by its worker {call.attempts} times: {error}") from error
        if isinstance(error, concurrent.futures.BrokenExecutor):
            self._renew(executor, error)
        self._submit(call)

    def _renew(self, broken: Any, error: Exception) -> None:
        if broken is not self._executor:
            return
        if not self._make:
            raise lib.TrainCheckError(f"a lost worker broke the executor ({error}): give a function that makes one, as "
                                      "executor=lambda: ProcessPoolExecutor(4)") from error
        broken.shutdown(wait=False)
        self._executor = self._make()
