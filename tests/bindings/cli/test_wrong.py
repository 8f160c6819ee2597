#!/usr/bin/env python3
"""Files and options that make no sense: an error that says what, where and what to do.

usage: test_wrong.py PROGRAM
"""
import contextlib
import json
import os
import subprocess

from cli import MIB, MS, Trace, example, main

HEAD = '{"cebus_trace": 1}\n'
OP = '{"op": 1, "name": "f", "in": [], "out": [{"value": 1, "bytes": 64}], "cost_ns": 9}\n'


def case_options(cli):
    trace = example(cli)
    for options, says in (
            (("--budget", "5XB"), "XB"), (("--budget", "-5"), "-5"), (("--budget", "0%"), "0%"),
            (("--budget", "100"), "4 KiB"), (("--budget", "1e99"), "too large"),
            (("--policy", "best"), "dtr-local"), (("--machine", "abacus"), "titanv-12g"),
            (("--machine", "titanv-12g,link=fast"), "fast"),
            (("--machine", "titanv-12g," + "x" * 300), "too long"),
            (("--swap", "maybe"), "neither on nor off"),
            (("--layout", "heap"), "zones, planned, coop, best-fit, caching"),
            (("--host-budget", "10%"), "8GiB"), (("--iterations", "0"), "1 to 1000"),
            (("--iterations", "1.5"), "whole"), (("--limit", "0.9"), "--limit"),
            (("--limit", "x"), "--limit"), (("--format", "csv"), "cebus nor dtr"),
            (("--profile", ""), "empty"), (("--colour",), "--colour"),
            (("--record", cli.path("x"), "--policy", "all"), "one run at a time"),
            (("again",), "one trace")):
        done = cli.refuses("replay", trace, *options, status=64, says=["cebus replay:", says])
        assert done.stdout == ""
    cli.refuses("replay", status=64, says=["which trace"])


def case_files(cli):
    for command in ("replay", "sweep", "explain"):
        cli.refuses(command, cli.path("absent"), says=["absent", "No such file"])
        cli.refuses(command, cli.folder, says=[cli.folder, "directory"])
    cli.refuses("report", "-", "-o", cli.path("a.html"), says=["read twice"])
    cli.refuses("replay", example(cli), "--record", cli.path("absent/a.run"),
                says=["absent/a.run", "No such file"])
    cli.refuses("replay", example(cli), "--record", "/dev/full", says=["/dev/full", "written"])
    with open("/dev/full", "w", encoding="utf-8") as full:
        for how in (("replay", example(cli)), ("info",), ("--help",), ("pack", "--help"),
                    ("sweep", example(cli), "--json", "--policies", "all")):
            done = subprocess.run([cli.program, *how], stdout=full, stderr=subprocess.PIPE,
                                  check=False, encoding="utf-8", env=cli.environment)
            assert done.returncode == 1 and done.stderr.count("\n") == 1, done
            assert "standard output" in done.stderr, done


def case_formats(cli):
    log = os.path.join(os.path.dirname(__file__), "..", "..", "support", "dtr", "chain.log")
    cli.refuses("replay", log, "--format", "cebus", says=["chain.log:1:", "dtr"])
    cli.refuses("replay", example(cli), "--format", "dtr", says=["example.trace:1:"])
    cli.refuses("replay", cli.write("text", "Once upon a time\n"), says=["text:1:"])
    cli.refuses("replay", cli.write("empty", ""), says=["empty"])
    cli.refuses("replay", cli.write("head", HEAD), says=["head", "no op"])


def case_hostile_traces(cli):
    """The reader's message, with the line."""
    value = '{{"op": 2, "name": "f", "in": [{}], "out": [{}], "cost_ns": {}}}\n'
    out = '{"value": 2, "bytes": 64}'
    for name, text, line in (
            ("truncated", HEAD + OP + '{"op": 2, "name": "f", "in": [1', 3),
            ("no_json", HEAD + "\x00\x01\n", 2),
            ("list", HEAD + "[1, 2]\n", 2),
            ("no_kind", HEAD + '{"value": 1}\n', 2),
            ("negative", HEAD + '{"const": 1, "bytes": -64}\n', 2),
            ("huge", HEAD + f'{{"const": 1, "bytes": {1 << 63}}}\n', 2),
            ("sum", HEAD + "".join(f'{{"const": {i}, "bytes": {1 << 50}}}\n'
                                   for i in range(1, 5000)), None),
            ("unknown", HEAD + OP + value.format(7, out, 9), 3),
            ("cycle", HEAD + OP + value.format(2, out, 9), 3),
            ("twice", HEAD + OP + OP, 3),
            ("freed", HEAD + OP + '{"free": 1}\n' + value.format(1, out, 9), 4),
            ("cost", HEAD + OP + value.format(1, out, 1 << 63), 3),
            ("fraction", HEAD + OP + value.format(1, out, 1.5), 3),
            ("long", HEAD + OP + '{"op": 2, "name": "' + "x" * (5 << 20) + '"}\n', 3)):
        path = cli.write(name, text)
        for command in ("replay", "sweep", "explain"):
            done = cli.refuses(command, path, says=[f"{name}:{line}:" if line else name])
            assert done.stdout == "" and len(done.stderr) < 2000, done.stderr


def case_bounded_memory(cli):
    """Ten million lines and a line without an end, in little memory."""
    def feed(chunk, times):
        read, write = os.pipe()
        with subprocess.Popen([cli.program, "replay", "-"], stdin=read, env=cli.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
            os.close(read)
            with contextlib.suppress(BrokenPipeError), open(write, "wb") as pipe:
                pipe.write(HEAD.encode())
                for _ in range(times):
                    pipe.write(chunk)
            said = child.stderr.read().decode()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            assert usage.ru_maxrss < 700 << 10, usage
            return child.returncode, said

    status, said = feed(b'{"mark": 1}\n' * 10000, 1000)
    assert status == 1 and "4194304" in said, (status, said)
    status, said = feed(b"x" * (1 << 20), 100)
    assert status == 1 and ":2:" in said, (status, said)


def case_ops_that_cannot_be_replayed(cli):
    trace = Trace()
    trace.op(MS, [], [64] * 65)
    cli.refuses("replay", trace.save(cli, "outputs.trace"), says=["outputs.trace", "line 2", "64"])

    trace = Trace()
    many = [trace.op(1, [], 64) for _ in range(1025)]
    trace.op(MS, many, 64)
    cli.refuses("replay", trace.save(cli, "inputs.trace"), says=["line 1027", "1024"])

    trace = Trace()
    leaf = trace.const(64)
    trace._op("f_", MS, [leaf], [{"value": leaf, "bytes": 64, "alias_of": 0},
                                 {"value": 99, "bytes": 64}], ["mutates"])
    cli.refuses("replay", trace.save(cli, "both.trace"), says=["both.trace", "line 3", "in place"])


def case_thousands_of_survivors(cli):
    """More values left at the end than a call can read: the rest is mapped."""
    trace = Trace()
    for _ in range(1500):
        trace.op(1000, [], 512)
    path = trace.save(cli, "survivors.trace")
    result = cli.one("replay", path)
    assert result["feasible"] and result["overhead"] == 1 and result["peak_bytes"] == 1500 * 512
    assert not cli.one("replay", path, "--budget", "99%")["feasible"]


def case_more_memory_than_addresses(cli):
    trace = Trace()
    trace.op(MS, [], 1 << 48)
    cli.refuses("replay", trace.save(cli, "wide.trace"), says=["address"])


def case_json_strings_are_escaped(cli):
    trace = Trace()
    a = trace.op(MS, [], MIB, 'a"\\\n\u00e9')
    b = trace.op(MS, [a], MIB)
    c = trace.op(MS, [b], MIB)
    trace.free(b)
    trace.op(MS, [c, a], 0)
    path = trace.save(cli, 'odd "name".trace')
    result = cli.one("explain", path, "--budget", "2MiB", "--commodity", "--policy", "dtr")
    assert result["trace"] == path
    assert result["by_op"][0]["op"] in ('a"\\\n\u00e9', "f"), result["by_op"]
    record = cli.path("odd.run")
    cli.run("replay", path, "--budget", "2MiB", "--record", record, "--policy", "dtr")
    with open(record, encoding="utf-8") as file:
        names = {json.loads(line).get("op") for line in file}
    assert 'a"\\\n\u00e9' in names


def case_traces_are_not_written_over(cli):
    trace = Trace()
    trace.free(trace.op(MS, [], MIB))
    path = trace.save(cli, "kept.trace")
    with open(path, encoding="utf-8") as file:
        before = file.read()
    os.symlink(path, cli.path("same"))
    for words in (("replay", path, "--record", path), ("plan", path, "-o", cli.path("same")),
                  ("sweep", path, "--svg", path), ("profile", path, "-o", path),
                  ("advise", path, "-m", "v100-16g", "-t", "1", "-o", path)):
        cli.refuses(*words, says=["is the trace", "written over"])
        with open(path, encoding="utf-8") as file:
            assert file.read() == before, words


def case_files_beside_the_results_have_names(cli):
    trace = example(cli)
    run = cli.path("r.run")
    cli.run("replay", trace, "--record", run)
    for words in (("replay", trace, "--record", "-"), ("sweep", trace, "--svg", "-"),
                  ("plan", trace, "-o", "-"), ("report", run, "-o", "-"),
                  ("report", run, "--perfetto", "-"), ("report", run, "--snapshot", "-"),
                  ("advise", trace, "-m", "v100-16g", "--svg", "-")):
        done = cli.refuses(*words, status=64, says=["is no file", words[0]])
        assert done.stdout == ""
        assert not os.path.exists("-"), words


if __name__ == "__main__":
    main(globals())
