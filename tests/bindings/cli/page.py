"""A page of `cebus report`, taken apart: its tags, its tables, and the data its script reads."""
import html.parser
import json

VOID = {"meta", "link", "br", "input"}
LISTED = 500  # rows of the table of regenerations
BUNDLE = 8    # added to the kind of work of several short pieces


class Page(html.parser.HTMLParser):
    """Asserts that the page is well formed as it reads it."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.open = []
        self.ids = {}
        self.tags = []
        self.sections = {}
        self.words = []
        self.cell = None
        self.scripts = []
        self.feed(self.text)
        self.close()
        assert self.open == [], self.open
        self.data = json.loads(next(text for given, text in self.scripts
                                    if given.get("id") == "data"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert len(given) == len(attrs), (tag, attrs)
        if "id" in given:
            assert given["id"] not in self.ids, given["id"]
            self.ids[given["id"]] = tag
        self.tags.append((tag, given))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.sections[given["id"]] = {"head": [], "rows": []}
        elif tag == "th":
            self._section()["head"].append(given["data-key"])
        elif tag == "tr" and "tbody" in self.open:
            self._section()["rows"].append([])
        elif tag == "td":
            self.cell = [given.get("data-value"), ""]
        elif tag == "script":
            self.scripts.append([given, ""])

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open, self.getpos())
        self.open.pop()
        if tag == "td":
            self._section()["rows"][-1].append(tuple(self.cell))
            self.cell = None

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
            return
        if self.cell is not None:
            self.cell[1] += data
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def _section(self):
        return list(self.sections.values())[-1]

    def table(self, section):
        """Rows of a table, each {key: (number, text)}."""
        found = self.sections[section]
        rows = []
        for row in found["rows"]:
            assert len(row) == len(found["head"]), (found["head"], row)
            rows.append({key: (None if number is None else float(number), text)
                         for key, (number, text) in zip(found["head"], row)})
        return rows

    def says(self, text):
        return text in "".join(self.words)

    def memory(self):
        """Points in time: (ns, {class: bytes})."""
        flat, classes = self.data["memory"]["flat"], self.data["classes"]
        width, now, state, points = len(classes) + 1, 0, [0] * len(classes), []
        assert len(flat) == width * self.data["memory"]["points"]
        for i in range(0, len(flat), width):
            now += flat[i]
            state = [old + change * self.data["unit"]
                     for old, change in zip(state, flat[i + 1:i + width])]
            assert flat[i] >= 0 and min(state) >= 0
            points.append((now, dict(zip(classes, state))))
        return points

    def blocks(self):
        """Dictionaries of begin, end, low, size, kind, moved, op, value."""
        flat, names, unit = self.data["map"]["blocks"], self.data["names"], self.data["unit"]
        end, blocks = 0, []
        assert len(flat) == 7 * self.data["map"]["listed"]
        for i in range(0, len(flat), 7):
            end += flat[i]
            blocks.append({
                "begin": end - flat[i + 1], "end": end, "low": flat[i + 2] * unit,
                "size": flat[i + 3] * unit, "kind": self.data["classes"][flat[i + 4] % 8],
                "moved": flat[i + 4] >= 8, "value": flat[i + 6],
                "op": names[flat[i + 5] - 1] if flat[i + 5] > 0 else None})
        return blocks

    def pieces(self, stream):
        """Of stream 0, 1, 2: dictionaries of begin, end, work, op, value, bytes, many."""
        flat, names, now, pieces = self.data["streams"][stream]["flat"], self.data["names"], 0, []
        for i in range(0, len(flat), 6):
            begin = now + flat[i]
            now = begin + flat[i + 1]
            pieces.append({
                "begin": begin, "end": now, "many": flat[i + 2] >= BUNDLE,
                "work": self.data["works"][flat[i + 2] % BUNDLE],
                "op": names[flat[i + 3] - 1] if flat[i + 3] > 0 else None,
                "value": flat[i + 4], "bytes": flat[i + 5]})
        return pieces

    def evictions(self):
        """(ns, how many, bytes)."""
        flat, at, evictions = self.data["evicted"], 0, []
        for i in range(0, len(flat), 3):
            at += flat[i]
            evictions.append((at, flat[i + 1], flat[i + 2]))
        return evictions


def write_run(cli, name, events, complete=True, **head):
    """A recorded run by hand."""
    lines = [{"cebus_run": 1, "trace": "by hand", "policy": "none", "machine": "none",
              "budget_bytes": 1 << 20, **head}, *events]
    if complete:
        lines.append({"kind": "end", "events": len(events)})
    return cli.write(name, "".join(json.dumps(line) + "\n" for line in lines))
