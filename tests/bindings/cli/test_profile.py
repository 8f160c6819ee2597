#!/usr/bin/env python3
"""cebus profile: medians by name and hash, read back by replay.

usage: test_profile.py PROGRAM
"""
import json

from cli import END_NS, MIB, Trace, main


def trace_of(costs, machine="cpu"):
    """A trace with an op for each (name, hash, cost)."""
    trace = Trace(machine)
    for name, digits, cost in costs:
        trace.op(cost, [], MIB, name, **({"hash": digits} if digits else {}))
    return trace


def profile_of(cli, *traces):
    paths = [trace.save(cli, f"{i}.trace") for i, trace in enumerate(traces)]
    out = cli.path("profile.json")
    cli.run("profile", *paths, "-o", out)
    with open(out, encoding="utf-8") as file:
        return json.load(file)


def case_medians(cli):
    first = trace_of([("mm", "0a", 10), ("mm", "0a", 90), ("add", "0a", 5), ("mm", "0b", 7),
                      ("mm", "", 1)])
    second = trace_of([("mm", "a", 20), ("mm", "b", 10), ("add", "A", 6)])
    profile = profile_of(cli, first, second)
    assert profile["cebus_profile"] == 1 and profile["machine"] == "cpu"
    assert profile["ops"] == [
        {"name": "add", "hash": "000000000000000a", "cost_ns": 5, "count": 2},
        {"name": "mm", "hash": "000000000000000a", "cost_ns": 20, "count": 3},
        {"name": "mm", "hash": "000000000000000b", "cost_ns": 8, "count": 2}]


def case_of_several_machines(cli):
    a, b = trace_of([("a", "1", 1)], "cpu"), trace_of([("a", "1", 1)], "sim:a100-80g")
    assert profile_of(cli, a, b)["machine"] == ""
    assert profile_of(cli, b, b)["machine"] == "sim:a100-80g"


def case_read_back(cli):
    trace = trace_of([("a", "ff", 1000), ("a", "ff", 5000), ("a", "ff", 3000), ("b", "1", 100)])
    profile_of(cli, trace)
    path = cli.path("0.trace")
    assert cli.one("replay", path)["time_ns"] == 9100 + END_NS
    result = cli.one("replay", path, "--profile", cli.path("profile.json"))
    assert result["time_ns"] == 3 * 3000 + 100 + END_NS


def case_standard_output(cli):
    path = trace_of([("a", "ff", 1000)]).save(cli, "a.trace")
    profile = json.loads(cli.run("profile", path, "--output", "-").stdout)
    assert len(profile["ops"]) == 1


def case_wrong_use(cli):
    path = trace_of([("a", "ff", 1000)]).save(cli, "a.trace")
    cli.refuses("profile", status=64, says=["which traces"])
    cli.refuses("profile", path, status=64, says=["--output"])
    cli.refuses("profile", path, "-o", cli.path("absent/x"), says=["absent/x", "No such file"])
    cli.refuses("profile", path, "-o", "/dev/full", says=["/dev/full", "written"])
    cli.refuses("profile", path, cli.path("absent"), "-o", "-", says=["absent", "No such file"])
    bare = trace_of([("a", "", 1000)]).save(cli, "bare.trace")
    cli.refuses("profile", bare, "-o", "-", says=["bare.trace", "hash"])


def case_wrong_profiles(cli):
    path = trace_of([("a", "ff", 1000)]).save(cli, "a.trace")
    entry = {"name": "a", "hash": "ff", "cost_ns": 1, "count": 1}
    for text, says in (
            ("", ""), ("{", "line 1"), ("[]", "not a profile"),
            ('{"cebus_profile": 2, "ops": []}', "not a profile"),
            (json.dumps({"cebus_profile": 1, "ops": {}}), "not a profile"),
            (json.dumps({"cebus_profile": 1, "ops": []}), "none of its ops"),
            (json.dumps({"cebus_profile": 1, "ops": [entry, entry]}), "twice"),
            (json.dumps({"cebus_profile": 1, "ops": [entry | {"hash": "xyz"}]}), "hash"),
            (json.dumps({"cebus_profile": 1, "ops": [entry | {"hash": 255}]}), "entry 0"),
            (json.dumps({"cebus_profile": 1, "ops": [entry | {"name": 3}]}), "name"),
            (json.dumps({"cebus_profile": 1, "ops": [entry | {"cost_ns": -1}]}), "cost_ns"),
            (json.dumps({"cebus_profile": 1, "ops": [entry | {"cost_ns": 1 << 60}]}), "years"),
            (json.dumps({"cebus_profile": 1, "ops": [entry | {"hash": "fe"}]}), "none of its")):
        profile = cli.write("wrong.json", text)
        done = cli.refuses("replay", path, "--profile", profile, says=["wrong.json", says])
        assert done.stdout == ""
    cli.refuses("replay", path, "--profile", cli.path("absent"), says=["absent", "No such file"])


if __name__ == "__main__":
    main(globals())
