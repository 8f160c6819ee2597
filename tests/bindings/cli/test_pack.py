#!/usr/bin/env python3
"""cebus pack: offsets that are right, proofs that hold, and files that make no sense.

usage: test_pack.py PROGRAM
"""
import csv
import os
import random
import subprocess

from cli import main

HEAD = "id,lower,upper,size\n"


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [{key: value if key == "id" else int(value) for key, value in row.items()}
                for row in csv.DictReader(file)]


def check(rows, capacity):
    """No two that live together overlap; answers the height."""
    for row in rows:
        assert row["offset"] >= 0 and row["offset"] + row["size"] <= capacity, row
        assert row["offset"] % row.get("alignment", 1) == 0, row
    live = []
    for row in sorted(rows, key=lambda row: row["lower"]):
        live = [other for other in live if other["upper"] > row["lower"]]
        for other in live:
            assert (row["offset"] + row["size"] <= other["offset"] or
                    other["offset"] + other["size"] <= row["offset"]), (row, other)
        live.append(row)
    return max((row["offset"] + row["size"] for row in rows), default=0)


def load(rows):
    times = sorted({row["lower"] for row in rows})
    return max(sum(row["size"] for row in rows if row["lower"] <= t < row["upper"]) for t in times)


def text_of(rows, columns=("id", "lower", "upper", "size"), head=True):
    lines = [",".join(columns)] if head else []
    lines += [",".join(str(row.get(column, "")) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"


def cut(n, width, height, seed):
    """A rectangle cut into n pieces: it fits, and leaves no gap."""
    draw = random.Random(seed)
    pieces = [(0, width, 0, height)]
    while len(pieces) < n:
        pieces.sort(key=lambda piece: (piece[1] - piece[0]) * (piece[3] - piece[2]))
        lower, upper, low, high = pieces.pop(draw.randrange(len(pieces) // 2, len(pieces)))
        if draw.random() < 0.5 and upper - lower > 1:
            at = draw.randrange(lower + 1, upper)
            pieces += [(lower, at, low, high), (at, upper, low, high)]
        elif high - low > 1:
            at = draw.randrange(low + 1, high)
            pieces += [(lower, upper, low, at), (lower, upper, at, high)]
        else:
            pieces.append((lower, upper, low, high))
    draw.shuffle(pieces)
    return [{"id": str(i), "lower": piece[0], "upper": piece[1], "size": piece[3] - piece[2]}
            for i, piece in enumerate(pieces)]


def case_a_few_blocks(cli):
    path = cli.write("few.csv", HEAD + "a,0,10,5\nb,5,15,7\nc,10,20,5\n")
    out = cli.path("few.out")
    result = cli.one("pack", "--capacity", "12", path, "-o", out)
    assert result["verdict"] == "solved" and result["blocks"] == 3
    assert result["height"] == result["bound"] == result["max_load"] == result["capacity"] == 12
    rows = read(out)
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    assert check(rows, 12) == 12
    text = cli.run("pack", "--capacity", "12", path).stdout
    assert "solved" in text and "12" in text, text
    again = cli.run("pack", "--capacity", "12", path, "-o", "-").stdout
    with open(out, encoding="utf-8") as file:
        assert again == file.read()


def case_columns(cli):
    """By name in any order, without names, from standard input, with Windows' line ends."""
    rows = cut(30, 100, 1000, 1)
    expected = cli.run("pack", "-c", "1000", cli.write("a.csv", text_of(rows)), "-o", "-").stdout
    for text in (text_of(rows, ("size", "upper", "id", "lower")), text_of(rows, head=False),
                 text_of(rows).replace("\n", "\r\n"), text_of(rows).replace(",", " , "),
                 text_of(rows, ("id", "lower", "upper", "size", "offset")),
                 "\n" + text_of(rows) + "\n\n", text_of(rows)[:-1],
                 "\ufeff" + text_of(rows), "\ufeff" + text_of(rows, head=False),
                 "\ufeff\n" + text_of(rows)):
        done = cli.run("pack", "-c", "1000", cli.write("b.csv", text), "-o", "-")
        assert done.stdout == expected, text[:200]
    done = cli.run("pack", "-c", "1000", "-", "-o", "-", stdin=text_of(rows))
    assert done.stdout == expected
    assert check(read(cli.write("c.csv", expected)), 1000) == 1000


def case_alignments_and_presets(cli):
    rows = [{"id": f"b{i}", "lower": i, "upper": i + 7, "size": 10 + i % 5,
             "alignment": 1 << i % 6} for i in range(200)]
    rows[50]["offset"] = 64
    rows[120]["offset"] = 0
    columns = ("id", "lower", "upper", "size", "alignment", "offset")
    path, out = cli.write("preset.csv", text_of(rows, columns)), cli.path("preset.out")
    result = cli.one("pack", "--capacity", "4KiB", path, "-o", out)
    packed = read(out)
    assert check(packed, 4096) == result["height"]
    assert packed[50]["offset"] == 64 and packed[120]["offset"] == 0
    assert [row["alignment"] for row in packed] == [row["alignment"] for row in rows]
    # what is packed is a preset next time, and stays
    again = cli.path("preset.again")
    cli.run("pack", "-c", "4096", out, "-o", again)
    assert read(again) == packed


def case_no_gap(cli):
    """What is found by search alone, within the default time."""
    for seed in range(4):
        rows = cut(120, 10000, 1 << 20, seed)
        path, out = cli.write("cut.csv", text_of(rows)), cli.path("cut.out")
        result = cli.one("pack", "--capacity", str(1 << 20), path, "-o", out)
        assert result["height"] == result["max_load"] == 1 << 20
        assert check(read(out), 1 << 20) == 1 << 20


def case_minimize(cli):
    draw = random.Random(3)
    rows = []
    for i in range(300):
        lower = draw.randrange(1000)
        rows.append({"id": str(i), "lower": lower, "upper": lower + draw.randrange(1, 60),
                     "size": draw.randrange(1, 100)})
    path, out = cli.write("random.csv", text_of(rows)), cli.path("random.out")
    result = cli.one("pack", "--minimize", "--max-steps", "20000", path, "-o", out)
    assert "capacity" not in result and result["verdict"] == "solved"
    assert result["max_load"] == load(rows) <= result["bound"] <= result["height"]
    assert check(read(out), result["height"]) == result["height"]
    same = cli.one("pack", "--minimize", "--max-steps", "20000", path)
    for key in ("height", "bound", "steps"):
        assert same[key] == result[key]
    within = cli.one("pack", "--minimize", "--max-steps", "20000", "--capacity", "1MiB", path)
    assert within["height"] <= result["height"]


def refuse_as(cli, status, text, *options, says):
    """It ends with this status, says so in one line, and writes no file."""
    out = cli.path("refused.out")
    done = cli.run("pack", cli.write("refused.csv", text), "-o", out, *options, status=status)
    for what in says:
        assert what in done.stderr, (text, what, done.stderr)
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 500, done.stderr
    assert not os.path.exists(out)
    return done.stdout


def case_what_is_infeasible(cli):
    text = HEAD + "a,0,10,60\nb,10,20,80\nc,15,25,30\n"
    refuse_as(cli, 2, text, "-c", "79", says=["refused.csv:3:", '"b"', "larger"])
    refuse_as(cli, 2, text, "-c", "109", says=["refused.csv:4:", '"c"', "more bytes live"])
    refuse_as(cli, 2, text, "-c", "109", "--minimize", says=["refused.csv:4:"])
    text = "id,lower,upper,size,offset\na,0,10,60,50\n"
    refuse_as(cli, 2, text, "-c", "109", says=["refused.csv:2:", "preset"])
    # twenty of five bytes, each at a multiple of eight, take 157 although only 100 live
    text = "id,lower,upper,size,alignment\n"
    text += "".join(f"{i},{i % 2},{5 + i % 3},5,8\n" for i in range(20)) + "x,10,11,1,1\n"
    assert cli.one("pack", "-c", "157", cli.write("fits.csv", text))["height"] == 157
    said = refuse_as(cli, 2, text, "-c", "156", "--json", says=["ruled out"])
    assert '"infeasible"' in said and "ruled out" in said, said


def case_what_is_undecided(cli):
    path = cli.write("hard.csv", text_of(cut(400, 100, 100, 5)))
    out = cli.path("hard.out")
    done = cli.run("pack", "-c", "100", "--max-steps", "30", path, "-o", out, "--json", status=3)
    assert '"undecided"' in done.stdout and "--max-steps" in done.stderr
    assert not os.path.exists(out)


def case_a_time_limit_ends_it(cli):
    """Blocks that no search would be done with."""
    draw = random.Random(7)
    rows = []
    for i in range(20000):
        lower = draw.randrange(100000)
        rows.append({"id": str(i), "lower": lower, "upper": lower + draw.randrange(1, 3000),
                     "size": draw.randrange(1, 10000)})
    path, out = cli.write("large.csv", text_of(rows)), cli.path("large.out")
    result = cli.one("pack", "--minimize", "--time-limit", "0.5", path, "-o", out)
    assert result["bound"] < result["height"] == check(read(out), result["height"])
    # Over before it began: there is a packing all the same.
    result = cli.one("pack", "--minimize", "--time-limit", "0.000001", path, "-o", out)
    assert result["bound"] < result["height"] == check(read(out), result["height"])


def case_lines_that_make_no_sense(cli):
    for text, line, says in (
            ("", 0, "empty"),
            (HEAD + "a,0,10\n", 2, "size is missing"),
            (HEAD + "a,0,10,5\nb,0,1", 3, "size is missing"),
            (HEAD + "a,0,10,\n", 2, "size is missing"),
            (HEAD + ",0,10,5\n", 2, "id is missing"),
            (HEAD + "a,0,10,-5\n", 2, "size is negative"),
            (HEAD + "a,-1,10,5\n", 2, "lower is negative"),
            (HEAD + "a,0,10,5.5\n", 2, "size is not a whole number"),
            (HEAD + "a,0,10,0x5\n", 2, "size is not a whole number"),
            (HEAD + "a,0,1e3,5\n", 2, "upper is not a whole number"),
            (HEAD + f"a,0,10,{1 << 64}\n", 2, "size is more than 64 bits"),
            (HEAD + f"a,0,{10 ** 30},5\n", 2, "upper is more than 64 bits"),
            (HEAD + f"a,0,10,{1 << 63}\n", 2, "2^60"),
            (HEAD + "".join(f"{i},0,10,{1 << 57}\n" for i in range(9)), 9, "2^60"),
            (HEAD + "a,10,10,5\n", 2, "lifetime is empty"),
            (HEAD + "a,0,1,5\nb,11,10,5\n", 3, "lifetime is empty"),
            (HEAD + "a,0,10,5,8\n", 2, "more fields than columns"),
            ("a,0,10,5,8,16,32\n", 1, "more than 6 fields"),
            ("a,0,10,5,3\n", 1, "power of two"),
            ("a,0,10,5,0\n", 1, "power of two"),
            ("a,0,10,5,8,12\n", 1, "multiple"),
            (f"a,0,10,5,,{(1 << 64) - 2}\n", 1, "2^60"),
            (f"a,0,10,5,,{(1 << 64) - 1}\n", 1, "2^60"),
            ('"id","lower","upper","size"\n', 1, "quotation marks"),
            (HEAD + '"a,b",0,10,5\n', 2, "quotation marks"),
            ("a,0,10,5,,2\nb,5,9,2,,6\n", 1, 'overlaps that of another block: "b" of line 2'),
            (HEAD + "a,0,10,5\nb,0,1,5\na,20,30,5\n", 4, "line 2"),
            ("id,lower,upper\na,0,10\n", 1, "are needed"),
            ("id,lower,upper,size,colour\na,0,10,5,red\n", 1, "columns are"),
            ("id,lower,upper,size,size\n", 1, "columns are"),
            (HEAD + "a,0,10,5\x00\n", 2, "zero"),
            (HEAD + "a" * 5000 + ",0,10,5\n", 2, "longer"),
            ("x" * (8 << 20), 1, "longer"),
            ("\x01\x02\x03\n", 1, "missing")):
        where = f"refused.csv:{line}:" if line else "refused.csv:"
        assert refuse_as(cli, 1, text, "-c", "1000", says=[where, says]) == ""


def case_options_that_make_no_sense(cli):
    path = cli.write("one.csv", HEAD + "a,0,10,5\n")
    for options, says in (
            ((), "--capacity or --minimize"), (("-c", "0"), "from 1"), (("-c", "-5"), "-5"),
            (("-c", "1e30"), "too large"), (("-c", "5XB"), "XB"), (("-c", "40%"), "give bytes"),
            (("-c", "99999999999999999999"), "whole number"), (("-c", ""), "not a size"),
            (("-c", "5", "-t", "0"), "seconds"), (("-c", "5", "-t", "nan"), "seconds"),
            (("-c", "5", "-t", "soon"), "seconds"), (("-c", "5", "--seed", "x"), "--seed"),
            (("-c", "5", "--max-steps", "-1"), "--max-steps"), (("-c", "5", "again"), "one file")):
        done = cli.refuses("pack", path, *options, status=64, says=["cebus pack:", says])
        assert done.stdout == ""
    cli.refuses("pack", "-c", "5", status=64, says=["which file"])


def case_the_input_is_never_written_over(cli):
    text = HEAD + "a,0,10,5\n"
    path = cli.write("spared.csv", text)
    link = cli.path("link.csv")
    os.symlink(path, link)
    for out in (path, os.path.join(cli.folder, ".", "spared.csv"), link):
        done = cli.refuses("pack", "-c", "5", path, "-o", out, says=["is the file of blocks"])
        assert done.stdout == "", "that is said before anything is done"
    with open(path, encoding="utf-8") as file:
        assert file.read() == text


def case_files_that_are_not_there(cli):
    path = cli.write("one.csv", HEAD + "a,0,10,5\n")
    cli.refuses("pack", "-c", "5", cli.path("absent"), says=["absent", "No such file"])
    cli.refuses("pack", "-c", "5", cli.folder, says=[cli.folder, "directory"])
    cli.refuses("pack", "-c", "5", path, "-o", cli.path("absent/x"), says=["No such file"])
    cli.refuses("pack", "-c", "5", path, "-o", "/dev/full", says=["/dev/full", "written"])
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([cli.program, "pack", "-c", "5", path, "-o", "-"], stdout=full,
                              stderr=subprocess.PIPE, check=False, encoding="utf-8")
        assert done.returncode == 1 and "standard output" in done.stderr


if __name__ == "__main__":
    main(globals())
