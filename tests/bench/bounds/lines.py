"""JSON lines with limits: what both trace readers stand on."""
import json

from .program import TraceError

LINE_BYTES = 4 << 20
ITEMS = 1 << 22
VALUE_BYTES = 1 << 50
COST_NS = 1 << 60


class Lines:
    """Iterates over the objects of a file; `fail` and the getters name file and line."""

    def __init__(self, path, after=0):
        self.path = path
        self.after = after  # lines that are left out
        self.number = 0

    def find(self, key, word):
        """Number of the first line whose object has this word as `key`; 0: there is none. Lines
        without the word may hold anything."""
        for number, raw in self._raw():
            if word.encode() in raw and self._object(raw).get(key) == word:
                return number
        return 0

    def __iter__(self):
        items = 0
        for number, raw in self._raw():
            if number <= self.after or not raw.strip():
                continue
            items += 1
            if items > ITEMS:
                self.fail(f"more than {ITEMS} items")
            yield self._object(raw)

    def _raw(self):
        """(number, line) of all lines."""
        self.number = 0
        try:
            with open(self.path, "rb") as file:
                while True:
                    raw = file.readline(LINE_BYTES + 1)
                    if not raw:
                        return
                    self.number += 1
                    if len(raw) > LINE_BYTES:
                        self.fail(f"the line is longer than {LINE_BYTES} bytes")
                    yield self.number, raw
        except OSError as error:
            raise TraceError(f"{self.path}: {error.strerror}") from error

    def _object(self, raw):
        try:
            item = json.loads(raw)
        except (ValueError, RecursionError) as error:
            self.fail(f"not JSON: {error}")
        if not isinstance(item, dict):
            self.fail("not a JSON object")
        return item

    def fail(self, what):
        raise TraceError(f"{self.path}:{self.number}: {what}")

    def get(self, item, key, kind, default=None):
        """item[key] of the kind; without a default the key is needed."""
        found = item.get(key, default)
        if found is None:
            self.fail(f"the key \"{key}\" is missing")
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            self.fail(f"\"{key}\" is not {'a list' if kind is list else 'a ' + kind.__name__}")
        return found

    def integer(self, item, key, limit, default=None, least=0):
        """A whole number in [least, limit]; strings of digits count."""
        found = item.get(key, default)
        if found is None:
            self.fail(f"the key \"{key}\" is missing")
        return self.number_of(found, key, limit, least)

    def number_of(self, found, what, limit, least=0):
        """The same of a bare value."""
        if isinstance(found, str) and len(found) < 32:
            try:
                found = int(found)
            except ValueError:
                pass
        if not isinstance(found, int) or isinstance(found, bool):
            self.fail(f"\"{what}\" is not a whole number")
        if not least <= found <= limit:
            self.fail(f"\"{what}\" is {found}, not between {least} and {limit}")
        return found
