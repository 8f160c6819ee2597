"""How the programs on traces end."""
import sys

from bounds.program import TraceError


def status(name, compute, options):
    """The exit status of compute(options): 1 for a trace or file that cannot be used, 2 for options
    that cannot; what is wrong with them is told."""
    try:
        compute(options)
    except TraceError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{name}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0
