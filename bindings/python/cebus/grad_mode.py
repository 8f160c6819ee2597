"""Whether operations are recorded for backward; per thread."""
import functools
import inspect

from ._core import _GradScope, _GradSwitch, is_grad_enabled


def _in_turns(scope, function):
    """What runs of a generator is within; what runs between its steps is not."""
    @functools.wraps(function)
    def generate(*arguments, **keywords):
        steps = function(*arguments, **keywords)
        step = functools.partial(steps.send, None)
        try:
            while True:
                with scope():
                    answer = step()
                try:
                    step = functools.partial(steps.send, (yield answer))
                except GeneratorExit:
                    with scope():
                        steps.close()
                    raise
                except BaseException as error:
                    step = functools.partial(steps.throw, error)
        except StopIteration as end:
            return end.value
    return generate


def _within(scope, function):
    """The function, or generator, in a block that scope() makes for each call, or step."""
    if inspect.isgeneratorfunction(function):
        return _in_turns(scope, function)

    @functools.wraps(function)
    def scoped(*arguments, **keywords):
        with scope():
            return function(*arguments, **keywords)
    return scoped


class set_grad_enabled(_GradSwitch):
    """Switches recording on or off: at once, in a `with` block, or in a decorated function."""

    def __call__(self, function):
        self.__exit__()  # it was switched for the function alone
        return _within(functools.partial(set_grad_enabled, self.mode), function)


class _Scope(_GradScope):
    def __init__(self, function=None):
        self._function = None if function is None else _within(self._again, function)

    def _again(self):
        """Another block of this kind: one object is not for several threads."""
        return type(self)()

    def __call__(self, *arguments, **keywords):
        if self._function is not None:
            return self._function(*arguments, **keywords)
        return _within(self._again, *arguments)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)


class no_grad(_Scope):
    """In this block, or this function, nothing is recorded."""


class enable_grad(_Scope):
    """In this block, or this function, everything is recorded."""

    def __init__(self, function=None):
        super().__init__(function)
        self.mode = True


class inference_mode(no_grad):
    """As no_grad."""

    def __init__(self, mode=True):
        super().__init__(mode if callable(mode) else None)
        self.mode = mode is False

    def _again(self):
        return type(self)(not self.mode)


__all__ = ["set_grad_enabled", "no_grad", "enable_grad", "inference_mode", "is_grad_enabled"]
