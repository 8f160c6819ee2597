"""Whether operations are recorded for backward; per thread."""
import functools

from ._core import _GradScope, _GradSwitch, is_grad_enabled


class set_grad_enabled(_GradSwitch):
    """Switches recording on or off: at once, in a `with` block, or in a decorated function."""

    def __call__(self, function):
        self.__exit__()  # it was switched for the function alone

        @functools.wraps(function)
        def scoped(*arguments, **keywords):
            with set_grad_enabled(self.mode):
                return function(*arguments, **keywords)
        return scoped


class _Scope(_GradScope):
    def __init__(self, function=None):
        self._function = function

    def __call__(self, *arguments, **keywords):
        if self._function is not None:
            with type(self)():
                return self._function(*arguments, **keywords)
        return self._decorate(*arguments)

    def _decorate(self, function):
        @functools.wraps(function)
        def scoped(*arguments, **keywords):
            with type(self)():
                return function(*arguments, **keywords)
        return scoped

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


__all__ = ["set_grad_enabled", "no_grad", "enable_grad", "inference_mode", "is_grad_enabled"]
