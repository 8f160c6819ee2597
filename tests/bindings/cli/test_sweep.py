#!/usr/bin/env python3
"""cebus sweep: lists of budgets, the table, bounds, the plot.

usage: test_sweep.py PROGRAM
"""
import json
import os
import xml.etree.ElementTree as ElementTree

from cli import MIB, MS, example, main, stable

SVG = "{http://www.w3.org/2000/svg}"
LOG = os.path.join(os.path.dirname(__file__), "..", "..", "support", "dtr", "chain.log")


def budgets_of(cli, text):
    return [result["budget"] for result in cli.lines("sweep", example(cli), "--budgets", text)]


def case_lists_and_ranges_of_budgets(cli):
    for text, budgets in (
            ("75%", ["75%"]),
            ("90%,80%", ["90%", "80%"]),
            ("90%..70%:10%", ["90%", "80%", "70%"]),
            ("70%..90%:10%", ["70%", "80%", "90%"]),
            ("90%..72%:10%", ["90%", "80%"]),
            ("1%..0.8%:0.1%", ["1%", "0.9%", "0.8%"]),
            ("5%..0%:2%", None),
            ("100%,30%..10%:10%,5%", ["100%", "30%", "20%", "10%", "5%"]),
            ("4MiB..2MiB:1MiB", ["4MiB", "3MiB", "2MiB"]),
            ("4194304..4190208:2048", ["4194304", "4192256", "4190208"])):
        if budgets is None:
            cli.refuses("sweep", LOG, "--budgets", text, status=64, says=["--budgets", text])
        else:
            assert budgets_of(cli, text) == budgets, text
    assert budgets_of(cli, "90%..5%:5%") == [f"{share}%" for share in range(90, 0, -5)]


def case_defaults(cli):
    results = cli.lines("sweep", example(cli))
    assert [result["budget"] for result in results] == [f"{share}%" for share in range(90, 0, -10)]
    assert {result["policy"] for result in results} == {"coop"}


def case_each_point_is_the_replay_of_it(cli):
    results = cli.lines("sweep", LOG, "--budgets", "90%..20%:10%", "--policies", "dtr,lru,coop")
    assert [result["policy"] for result in results[:4]] == ["dtr", "lru", "coop", "dtr"]
    assert len(results) == 24
    for result in results[::5]:
        alone = cli.one("replay", LOG, "--budget", result["budget"], "--policy", result["policy"])
        assert stable(alone) == stable(result)


def case_every_policy_by_name(cli):
    listed = [result["policy"] for result in
              cli.lines("sweep", example(cli), "--budgets", "75%", "--policies", "lru,all,dtr")]
    assert listed[0] == "lru" and len(set(listed)) == len(listed), listed
    alone = cli.lines("replay", example(cli), "--budget", "75%", "--policy", "all")
    assert set(listed) == {result["policy"] for result in alone}


def case_runs_at_the_same_time_give_the_same(cli):
    how = ("sweep", LOG, "--budgets", "90%..20%:10%", "--policies", "dtr,lru")
    one, several = cli.lines(*how), cli.lines(*how, "--jobs", "4")
    assert [stable(result) for result in one] == [stable(result) for result in several]
    assert cli.run(*how).stdout == cli.run(*how, "-j3").stdout


def case_table(cli):
    text = cli.run("sweep", example(cli), "--budgets", "100%,75%,50%",
                   "--policies", "none,dtr").stdout
    rows = [line.split() for line in text.splitlines()]
    assert "floor 75.0%" in text, text
    assert ["budget", "bytes", "none", "dtr"] in rows, text
    assert ["100%", "4.00", "MiB", "1.0000", "1.0000"] in rows, text
    assert ["75%", "3.00", "MiB", "oom", "1.0159"] in rows, text
    assert ["50%", "2.00", "MiB", "oom", "oom"] in rows, text


def write_bounds(cli):
    points = [{"budget": "75%", "budget_bytes": 3 * MIB - 1, "overhead": 1.0125, "status": "ok"},
              {"budget": "50%", "budget_bytes": 2 * MIB, "overhead": None, "status": "infeasible"},
              {"budget": "1%", "budget_bytes": 41943, "overhead": 9.5}]
    return cli.write("bounds.json", json.dumps({"cebus_bounds": 1, "points": points}))


def case_bounds(cli):
    how = ("sweep", example(cli), "--budgets", "100%,75%,50%", "--bounds", write_bounds(cli))
    results = cli.lines(*how)
    assert "bound" not in results[0], "the file has none there"
    assert results[1]["bound"] == 1.0125 and results[2]["bound"] is None
    rows = [line.split() for line in cli.run(*how).stdout.splitlines()]
    assert ["budget", "bytes", "coop", "bound"] in rows
    assert ["100%", "4.00", "MiB", "1.0000"] in rows
    assert ["75%", "3.00", "MiB", "1.0159", "1.0125"] in rows
    assert ["50%", "2.00", "MiB", "oom", "oom"] in rows


def parse_svg(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg"
    texts = [text.text for text in root.iter(SVG + "text")]
    for element in root.iter():
        for name in ("cx", "cy", "x", "y", "x1", "x2", "y1", "y2"):
            if name in element.attrib:
                assert 0 <= float(element.attrib[name]) <= 880, element.attrib
    return root, texts


def case_plot(cli):
    path = cli.path("plot.svg")
    cli.run("sweep", example(cli), "--budgets", "100%..50%:5%", "--policies", "none,dtr",
            "--svg", path, "--bounds", write_bounds(cli))
    root, texts = parse_svg(path)
    for text in ("none", "dtr", "lower bound", "does not fit", "example.trace", "60%", "100%"):
        assert text in texts, (text, texts)
    dots = list(root.iter(SVG + "circle"))
    assert len(dots) == 7, "one at 100%, six from 100% to 75%"
    left = min(float(dot.attrib["cx"]) for dot in dots)
    right = max(float(dot.attrib["cx"]) for dot in dots)
    assert abs((right - left) - (660 - 76) * 25 / 50) < 1, "75% to 100% of an axis from 50%"
    assert len(list(root.iter(SVG + "polyline"))) == 1, "a lone point draws no line"
    crosses = [path for path in root.iter(SVG + "path") if "8m0" in path.attrib["d"]]
    assert len(crosses) == 10 + 5 + 1 + 1, "none, dtr, the bound, the legend"


def case_plot_of_odd_cases(cli):
    odd = example(cli, "a<b>&\"c\u00e9\x7f.trace")
    path = cli.path("odd.svg")
    cli.run("sweep", odd, "--budgets", "50%", "--svg", path)
    _, texts = parse_svg(path)
    assert 'a<b>&"c\u00e9..trace' in texts, texts
    assert texts.count("50%") == 1 and "44%" in texts and "56%" in texts, texts
    cli.run("sweep", LOG, "--budgets", "100%..10%:5%", "--policies", "all", "--svg", path)
    root, _ = parse_svg(path)
    assert len({line.attrib["stroke"] for line in root.iter(SVG + "polyline")}) >= 5
    cli.run("sweep", LOG, "--budgets", "100%,100%", "--svg", path)
    parse_svg(path)


def case_plot_and_json_together(cli):
    path = cli.path("both.svg")
    results = cli.lines("sweep", example(cli), "--budgets", "75%", "--svg", path)
    assert results[0]["time_ns"] == 64 * MS + 1
    parse_svg(path)


def case_wrong_options(cli):
    trace = example(cli)
    for options, says in (
            (("--budgets", "90%..10%"), "FROM..TO:STEP"),
            (("--budgets", "90%..1GiB:5%"), "one unit"),
            (("--budgets", "90%..10%:0%"), "step"),
            (("--budgets", "90%..10%:x"), "not a size"),
            (("--budgets", "90%..10%:0.001%"), "1000"),
            (("--budgets", "90..10:5"), "%"),
            (("--budgets", ""), "not a size"),
            (("--budgets", "9" * 100), "too long"),
            (("--policies", "dtr,best"), "best"),
            (("--policies", ","), "no name"),
            (("--jobs", "0"), "--jobs"),
            (("--jobs", "two"), "--jobs"),
            ((trace,), "one trace")):
        cli.refuses("sweep", trace, *options, status=64, says=["cebus sweep:", says])
    cli.refuses("sweep", status=64, says=["which trace"])


def case_wrong_bounds(cli):
    trace = example(cli)
    for text, says in (
            ("", "bounds.json"),
            ("{", "line 1"),
            ("[]", "cebus_bounds"),
            ('{"cebus_bounds": 2, "points": []}', "cebus_bounds"),
            ('{"cebus_bounds": 1, "points": [{"budget_bytes": -1}]}', "point 0"),
            ('{"cebus_bounds": 1, "points": [{"budget_bytes": 1, "overhead": "2"}]}', "overhead")):
        path = cli.write("bounds.json", text)
        done = cli.refuses("sweep", trace, "--bounds", path, says=[path, says])
        assert done.stdout == ""
    cli.refuses("sweep", trace, "--bounds", cli.path("absent"), says=["absent", "No such file"])
    cli.refuses("sweep", trace, "--budgets", "75%", "--svg", cli.path("absent/plot.svg"),
                says=["absent/plot.svg", "No such file"])


if __name__ == "__main__":
    main(globals())
