#!/usr/bin/env python3
"""cebus report: what is wrong is said with its line, in little memory, and nothing is lost.

usage: test_report_wrong.py PROGRAM
"""
import json
import os
import random
import subprocess

from cli import MIB, Trace, example, main
from page import Page, write_run

HEAD = {"cebus_run": 1, "trace": "t", "policy": "p", "budget_bytes": 1 << 20, "machine": "m"}
PLACED = {"kind": "placed", "value": 1, "bytes": 512, "offset": 1024, "device_ns": 10}


def wrong(cli, *events):
    """A file of the head and these lines."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in (HEAD, *events)]
    return cli.write("wrong.run", "\n".join(lines) + "\n")


def refused(cli, line, says, *events):
    page = cli.path("wrong.html")
    cli.refuses("report", wrong(cli, *events), "-o", page,
                says=["wrong.run", f"line {line}:", says])
    assert not os.path.exists(page), "nothing was made of it"


def case_lines_that_make_no_sense(cli):
    for line, says in (("{", "near"), ("[]", "not a JSON object"), ("{}", "kind"),
                       ('{"kind": 7}', "kind"), ({"kind": "placed", "bytes": -1}, "bytes"),
                       ({"kind": "called", "ns": "1"}, "ns"),
                       ({"kind": "freed", "memory_class": 5}, "memory_class"),
                       ('{"kind": "mark", "ns": 9223372036854775808}', "integer"),
                       ('{"kind": "mark", "kind": "mark"}', "duplicate")):
        refused(cli, 2, says, line)


def case_events_that_cannot_be(cli):
    order = "lines are missing or out of order"
    refused(cli, 2, order, {"kind": "freed", "bytes": 512, "device_ns": 1})
    refused(cli, 3, "lies over another", PLACED, {**PLACED, "offset": 1535, "value": 2})
    refused(cli, 3, "lies over another", PLACED, PLACED)
    refused(cli, 3, "in use at 1024", PLACED, {"kind": "freed", "bytes": 513, "offset": 1024,
                                               "device_ns": 10})
    refused(cli, 3, "clock goes back, from 10 to 9", PLACED, {"kind": "mark", "device_ns": 9})
    refused(cli, 2, order, {"kind": "moved", "bytes": 512, "from": 1024})
    refused(cli, 3, "nothing of 511 bytes", PLACED,
            {"kind": "moved", "bytes": 511, "from": 1024, "device_ns": 10})
    refused(cli, 2, "where nothing lies", {"kind": "evicted", "value": 1, "bytes": 512})
    refused(cli, 2, "0 bytes at 5", {"kind": "placed", "offset": 5})
    refused(cli, 2, order, {"kind": "placed", "bytes": 1 << 62})
    refused(cli, 2, order, {"kind": "placed", "bytes": 1, "offset": (1 << 63) - 1})
    refused(cli, 3, "clock goes back",
            {"kind": "swapped_out", "value": 1, "bytes": 1, "device_ns": 50},
            {"kind": "swapped_out", "value": 1, "bytes": 1, "device_ns": 40})
    # Workspace goes without having come; not so where something else lies.
    refused(cli, 4, "lies over another", PLACED,
            {"kind": "freed", "memory_class": 4, "bytes": 2048, "device_ns": 20},
            {"kind": "called", "op": "f", "ns": 10, "device_ns": 20})


def case_files_that_are_none(cli):
    page = cli.path("x.html")
    cli.refuses("report", cli.path("absent.run"), "-o", page, says=["absent.run", "opened"])
    cli.refuses("report", cli.folder, "-o", page, says=["is not a file"])
    cli.refuses("report", example(cli), "-o", page, says=["line 1", "cebus_run"])
    cli.refuses("report", cli.write("empty.run", ""), "-o", page, says=["empty.run"])
    cli.refuses("report", cli.write("noise.run", "\x00\x01\n"), "-o", page, says=["line 1"])
    cli.refuses("report", cli.write("old.run", '{"cebus_run": 7}\n'), "-o", page,
                says=["line 1", "cebus_run"])
    cli.refuses("report", "/dev/stdin", "-o", page, says=["is not a file"], stdin="{}\n")


def case_lines_without_end(cli):
    """A gigantic line takes the memory of a line."""
    path = cli.path("long.run")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(HEAD) + '\n{"kind": "')
        for _ in range(300):
            file.write("x" * MIB)
        file.write('"}\n')
    status, said, resident = measured(cli, "report", path, "-o", cli.path("long.html"))
    assert status == 1 and "line 2: too long" in said, (status, said)
    assert resident < 150 * MIB, resident


def measured(cli, *arguments):
    """Exit status, standard error, most bytes resident: without what a sanitizer keeps of freed."""
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    with subprocess.Popen([cli.program, *arguments], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE,
                          env=cli.environment | {"ASAN_OPTIONS": options}) as child:
        said = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, said, usage.ru_maxrss << 10


def write_pairs(cli, name, count):
    """A run in which a block comes and goes, again and again, each for another op."""
    with open(cli.path(name), "w", encoding="utf-8") as file:
        file.write(json.dumps(HEAD) + "\n")
        for i in range(count):
            file.write(f'{{"kind":"placed","op":"f{i}","value":{i + 1},"bytes":512,'
                       f'"device_ns":{i}}}\n'
                       f'{{"kind":"freed","value":{i + 1},"bytes":512,"device_ns":{i + 1}}}\n')
    return cli.path(name)


def case_a_long_run_takes_little_memory(cli):
    """What a run takes hardly grows with its length: here by less than 80 bytes an event."""
    most = {}
    for name, count in (("few", 1000), ("many", 250000)):
        status, said, most[name] = measured(
            cli, "report", write_pairs(cli, name, count), "-o", cli.path(name + ".html"),
            "--perfetto", cli.path("p.json"), "--snapshot", cli.path("s.pickle"))
        assert status == 0 and "cut off" in said, (status, said)
    assert most["many"] - most["few"] < 40 * 1000 * 1000, most
    page = Page(cli.path("many.html"))
    assert len(page.text) < 5 * 1000 * 1000 and len(page.data["names"]) <= 4096
    assert page.data["map"]["total"] == 250000 and page.data["names"][-1] == "(other ops)"


def warned(cli, path, *says):
    done = subprocess.run([cli.program, "report", path, "-o", cli.path("warned.html")],
                          capture_output=True, check=False, encoding="utf-8",
                          env=cli.environment)
    assert done.returncode == 0, done.stderr
    for text in says:
        assert text in done.stderr, (text, done.stderr)
    return Page(cli.path("warned.html"))


def case_a_run_that_was_cut_off(cli):
    """Between two lines: what is there is shown. Within one: the line is named."""
    run = cli.path("whole.run")
    cli.run("replay", example(cli), "--budget", "75%", "--record", run)
    with open(run, encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    for count in (1, 2, len(lines) // 2, len(lines) - 1):
        page = warned(cli, cli.write("cut.run", "".join(lines[:count])), "cut off")
        assert page.says("The recording was cut off")
    cli.refuses("report", cli.write("cut.run", "".join(lines[:9]) + lines[9][:20]), "-o",
                cli.path("cut.html"), says=["line 10"])
    path = cli.write("lost.run", "".join(lines[:-2] + lines[-1:]))
    cli.refuses("report", path, "-o", cli.path("lost.html"),
                says=[f"line {len(lines) - 1}", "events were recorded"])
    path = cli.write("more.run", "".join(lines + lines[-2:-1]))
    cli.refuses("report", path, "-o", cli.path("more.html"), says=["after the end"])


def case_kinds_of_a_later_version(cli):
    events = [PLACED, {"kind": "teleported", "bytes": "all"}, {"kind": "x"},
              {"kind": "freed", "value": 1, "bytes": 512, "offset": 1024, "device_ns": 30}]
    page = warned(cli, write_run(cli, "later.run", events), "2 events of kinds")
    assert page.says("2 events are of kinds") and page.data["map"]["listed"] == 1


def case_damaged_lines(cli):
    """Lines that are lost, doubled, swapped or changed: said so, or shown, never a crash."""
    trace = Trace()
    values = [trace.op(1000, [], MIB, "start", workspace=MIB)]
    for _ in range(8):
        values.append(trace.op(1000, [values[-1]], MIB, "step", workspace=MIB))
    for value in reversed(values):
        trace.op(1000, [value], 0)
        trace.free(value)
    run = cli.path("good.run")
    cli.run("replay", trace.save(cli, "g.trace"), "--budget", "5MiB", "--swap", "on",
            "--iterations", "1", "--record", run)
    with open(run, encoding="utf-8") as file:
        lines = file.read().splitlines()[:-1]
    chance = random.Random(20)
    outcomes = {0: 0, 1: 0}
    for _ in range(150):
        damaged = damage(lines, chance)
        done = subprocess.run(
            [cli.program, "report", cli.write("bad.run", "\n".join(damaged) + "\n"), "-o",
             cli.path("bad.html"), "--perfetto", cli.path("bad.json"), "--snapshot",
             cli.path("bad.pickle")], capture_output=True, check=False, encoding="utf-8",
            env=cli.environment, timeout=60)
        assert done.returncode in outcomes, (done.returncode, done.stderr)
        assert done.returncode == 0 or "bad.run: line " in done.stderr, done.stderr
        outcomes[done.returncode] += 1
        if done.returncode == 0:
            Page(cli.path("bad.html"))
    assert min(outcomes.values()) > 5, outcomes


def damage(lines, chance):
    """One to three things wrong."""
    lines = list(lines)
    for _ in range(chance.randint(1, 3)):
        at, other = (chance.randrange(1, len(lines)) for _ in range(2))
        what = chance.randrange(5)
        if what == 0:
            del lines[at]
        elif what == 1:
            lines.insert(at, lines[other])
        elif what == 2:
            lines[at], lines[other] = lines[other], lines[at]
        else:
            event = json.loads(lines[at])
            key = chance.choice(sorted(event.keys() - {"kind", "op"}) or ["bytes"])
            event[key] = chance.choice((0, 1, 511, 1 << 32, 1 << 61, (1 << 63) - 1))
            lines[at] = json.dumps(event)
    return lines


def case_outputs(cli):
    run, page = cli.path("a.run"), cli.path("a.html")
    cli.run("replay", example(cli), "--record", run)
    with open(run, encoding="utf-8") as file:
        before = file.read()
    cli.refuses("report", run, "-o", run, says=["would be written over"])
    os.symlink(run, cli.path("link"))
    cli.refuses("report", run, "--perfetto", cli.path("link"), says=["would be written over"])
    with open(run, encoding="utf-8") as file:
        assert file.read() == before
    both = ("-o", page, "--perfetto", page)
    cli.refuses("report", run, *both, status=64, says=["a.html", "two results"])
    cli.refuses("report", run, "-o", cli.path("absent/a.html"), says=["absent/a.html", "create"])
    for option in ("-o", "--perfetto", "--snapshot"):
        cli.refuses("report", run, option, "/dev/full", says=["/dev/full", "written"])
    text = cli.run("report", run, "-o", page, "--snapshot", cli.path("s.json")).stdout
    assert page in text and cli.path("s.json") in text and "3 iterations" in text


def case_options(cli):
    for options, says in (((), "which recorded run"), (("a.run",), "--output"),
                          (("a.run", "b.run", "-o", "x"), "one run at a time"),
                          (("a.run", "--what"), "--what")):
        cli.refuses("report", *options, status=64, says=["cebus report:", says])
    assert "--perfetto" in cli.run("report", "--help").stdout
    assert "report" in cli.run("--help").stdout


if __name__ == "__main__":
    main(globals())
