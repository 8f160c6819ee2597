#!/usr/bin/env python3
"""cebus info, --help and --version: what there is, and where each setting comes from.

usage: test_info.py PROGRAM
"""
import os

from cli import example, main

COMMANDS = ("replay", "sweep", "explain", "profile", "pack", "info")


def case_what_there_is(cli):
    info = cli.one("info")
    assert {"cpu", "sim"} <= set(info["devices"])
    machines = {machine["name"]: machine["memory_bytes"] for machine in info["machines"]}
    assert abs(machines["titanv-12g"] - (12 << 30)) < 1 << 20 and len(machines) >= 5
    assert {"none", "lru", "dtr", "coop"} <= set(info["policies"])
    assert info["layouts"] == ["zones", "planned", "coop", "best-fit", "caching",
                               "caching-expandable", "commodity"]
    libraries = {library["name"]: library for library in info["libraries"]}
    assert {"oneDNN", "OpenBLAS", "OpenMP", "jansson", "jemalloc", "CUDA"} == set(libraries)
    for library in libraries.values():
        assert library["present"] == (library["version"] != ""), library
        assert library["what"] != "", library
    assert libraries["jansson"]["present"], "it wrote this"
    cuda = libraries["CUDA"]
    assert cuda["present"] == (cuda["version"] != "") and cuda["what"] != ""
    assert cli.run("--version").stdout == f"cebus {info['version']}\n"


def case_where_settings_come_from(cli):
    settings = cli.one("info")["settings"]
    assert settings["policy"] == {"value": "coop", "from": "default"}
    assert settings["swap"] == {"value": None, "from": "default"}
    variables = {"CEBUS_POLICY": "dtr", "CEBUS_BUDGET": "40%", "CEBUS_LIMIT": "3"}
    settings = cli.one("info", "--policy", "lru", "--machine", "a100-80g,link=50GB",
                       variables=variables)["settings"]
    assert settings["policy"] == {"value": "lru", "from": "option"}
    assert settings["machine"] == {"value": "a100-80g,link=50GB", "from": "option"}
    assert settings["budget"] == {"value": "40%", "from": "environment"}
    assert settings["limit"] == {"value": "3", "from": "environment"}
    assert settings["iterations"] == {"value": "3", "from": "default"}
    text = cli.run("info", "--swap", "on", variables=variables).stdout
    rows = [line.split() for line in text.splitlines()]
    assert ["policy", "dtr", "environment", "CEBUS_POLICY"] in rows, text
    assert ["swap", "on", "option"] in rows and ["iterations", "3", "default"] in rows


def case_what_a_program_gets(cli):
    runtime = cli.one("info")["runtime"]
    assert runtime["threads"]["value"] >= 1 and runtime["threads"]["from"] == "default"
    assert runtime["policy"] == {"value": "cebus", "from": "default"}
    assert runtime["memory_budget"]["value"] > 1 << 20


def case_the_environment_rules_runs(cli):
    trace = example(cli)
    variables = {"CEBUS_POLICY": "lru", "CEBUS_BUDGET": "75%", "CEBUS_ITERATIONS": "1",
                 "CEBUS_LAYOUT": "commodity", "CEBUS_MACHINE": "p100-16g"}
    result = cli.one("replay", trace, variables=variables)
    assert (result["policy"], result["budget"], result["iterations"], result["layout"],
            result["machine"]) == ("lru", "75%", 1, "commodity", "p100-16g")
    assert cli.one("replay", trace, "--policy", "dtr", variables=variables)["policy"] == "dtr"
    assert cli.lines("sweep", trace, "--budgets", "75%", variables=variables)[0]["policy"] == "lru"
    for name, value in (("POLICY", "best"), ("BUDGET", "0"), ("SWAP", "maybe"),
                        ("ITERATIONS", "many"), ("MACHINE", "abacus"), ("LAYOUT", ""),
                        ("FORMAT", "csv"), ("LIMIT", "nan"), ("HOST_BUDGET", "50%")):
        for command in (("replay", trace), ("sweep", trace), ("explain", trace), ("info",)):
            cli.refuses(*command, status=64, variables={f"CEBUS_{name}": value},
                        says=[f"CEBUS_{name}"])


def case_what_is_not_utf8(cli):
    """Names of files may be anything; JSON is UTF-8."""
    name = os.fsdecode(b"\xff\xfe")
    values = cli.one("info", variables={"CEBUS_PROFILE": name})["settings"]
    assert values["profile"] == {"value": "(not UTF-8)", "from": "environment"}, values
    trace, plan = cli.path(name + ".trace"), cli.path("plan.json")
    os.rename(example(cli), trace)
    for command in (("replay", trace), ("sweep", trace, "--budgets", "75%"), ("explain", trace),
                    ("advise", trace, "-m", "v100-16g", "--steps", "0", "-o", plan),
                    ("replay", trace, "--plan", plan)):
        assert cli.one(*command)["trace"] == "(not UTF-8)"


def case_help(cli):
    for option in ("--help", "-h", "help"):
        text = cli.run(option).stdout
        for command in COMMANDS:
            assert f"\n  {command} " in text, text
    for command in COMMANDS:
        text = cli.run(command, "--help").stdout
        assert text.startswith(f"Usage: cebus {command} ") and "Exit status: 0" in text, text
    assert "--budget" in cli.run("replay", "--usage").stdout


def case_wrong_use(cli):
    cli.refuses(status=64, says=["Usage: cebus COMMAND"])
    cli.refuses("replays", status=64, says=['"replays"', "replay "])
    cli.refuses("info", "x", status=64, says=["no arguments"])
    cli.refuses("info", "--colour", status=64, says=["--colour"])


if __name__ == "__main__":
    main(globals())
