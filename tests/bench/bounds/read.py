"""Reads a trace of either format."""
from .lines import Lines
from .read_cebus import read_cebus
from .read_dtr import read_dtr


def read(path, form=None):
    """The program of a file. `form`: "cebus", "dtr", or None, when the first line tells."""
    if form is None:
        first = next(iter(Lines(path)), {})
        form = "dtr" if "INSTRUCTION" in first else "cebus"
    return read_dtr(path) if form == "dtr" else read_cebus(path)
