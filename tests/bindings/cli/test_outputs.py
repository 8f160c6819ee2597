#!/usr/bin/env python3
"""Files that cebus makes: refused before any work is done, and never half written.

usage: test_outputs.py PROGRAM
"""
import os
import resource
import signal
import subprocess
import time

from cli import MIB, MS, Trace, example, main

OLD = "what was there before\n"
SPACE = 64  # bytes of a file that may be written where the disk is to look full


def commands(cli):
    """Command lines that make a file each, but for the trace or run and the file's name."""
    run = cli.path("made.run")
    if not os.path.exists(run):
        cli.run("replay", example(cli), "--record", run)
    blocks = cli.write("blocks.csv", "id,lower,upper,size\n" +
                       "".join(f"block{i},{i},{i + 2},{MIB}\n" for i in range(9)))
    trace, hashed = example(cli), Trace()
    hashed.op(MS, [], MIB, hash="00000000000000ff")
    return ((("replay",), trace, "--record"), (("sweep", "--budgets", "90%"), trace, "--svg"),
            (("plan", "--budget", "90%"), trace, "-o"),
            (("profile",), hashed.save(cli, "hashed.trace"), "-o"),
            (("advise", "-m", "v100-16g", "--steps", "1"), trace, "-o"),
            (("advise", "-m", "v100-16g", "--steps", "1"), trace, "--svg"),
            (("report",), run, "-o"), (("report",), run, "--perfetto"),
            (("report",), run, "--snapshot"), (("pack", "--minimize"), blocks, "-o"))


def case_before_any_work(cli):
    """The input is no trace, and yet it is the output that is complained of: it was looked at
    first. A pack reads its blocks first, which takes no time."""
    wrong = cli.write("wrong", "Once upon a time\n")
    for words, _, option in commands(cli):
        if words[0] == "pack":
            continue
        for path, says in ((cli.path("absent/file"), "No such file"), (cli.folder, "directory"),
                           (os.path.join(wrong, "file"), "Not a directory")):
            done = cli.refuses(*words, wrong, option, path, says=[path, "cannot create", says])
            assert done.stdout == "" and "wrong:" not in done.stderr, done.stderr


def case_folders_that_take_no_files(cli):
    if os.geteuid() == 0:
        return "root may write everywhere"
    os.mkdir(cli.path("shut"), 0o500)
    for words, source, option in commands(cli):
        cli.refuses(*words, source, option, cli.path("shut/file"), says=["Permission denied"])


def case_files_appear_where_they_are_wanted(cli):
    """With the permissions of any new file, or of the one before, and nothing beside."""
    for words, source, option in commands(cli):
        fresh, old, link = cli.path("out/fresh"), cli.path("out/old"), cli.path("out/link")
        os.makedirs(cli.path("out"), exist_ok=True)
        cli.write("out/old", OLD)
        os.chmod(old, 0o604)
        os.symlink("old", link)
        mask = os.umask(0o027)
        cli.run(*words, source, option, fresh)
        os.umask(mask)
        cli.run(*words, source, option, link)
        assert sorted(os.listdir(cli.path("out"))) == ["fresh", "link", "old"], words
        assert os.stat(fresh).st_mode & 0o777 == 0o640 and os.path.islink(link), words
        assert os.stat(old).st_mode & 0o777 == 0o604, words
        with open(old, "rb") as file:
            assert file.read() != OLD.encode(), words
        for path in (fresh, old, link):
            os.remove(path)


def case_what_was_there_stays_when_the_disk_is_full(cli):
    def no_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (SPACE, SPACE))

    for words, source, option in commands(cli):
        os.makedirs(cli.path("full"), exist_ok=True)
        path = cli.write("full/kept", OLD)
        done = subprocess.run([cli.program, *words, source, option, path], capture_output=True,
                              check=False, encoding="utf-8", env=cli.environment,
                              preexec_fn=no_space)
        assert done.returncode == 1 and "written" in done.stderr, (words, done)
        assert os.listdir(cli.path("full")) == ["kept"], words
        with open(path, encoding="utf-8") as file:
            assert file.read() == OLD, words


def case_what_was_there_stays_when_the_run_fails(cli):
    old = cli.write("kept", OLD)
    trace = example(cli)
    cli.refuses("plan", trace, "-o", old, "--iterations", "1", "--learn", "budget",
                says=["nothing is planned yet"])
    with open(cli.path("made.run"), "w", encoding="utf-8") as file:
        file.write('{"cebus_run": 1, "trace": "t", "policy": "p", "budget_bytes": 1, '
                   '"machine": "m"}\n{"kind": "freed", "bytes": 512, "device_ns": 1}\n')
    cli.refuses("report", cli.path("made.run"), "-o", old, says=["out of order"])
    with open(old, encoding="utf-8") as file:
        assert file.read() == OLD


def case_nothing_is_left_of_a_command_that_is_stopped(cli):
    """A trace that never ends, so that all of it is still to be written when the signal comes."""
    os.makedirs(cli.path("stopped"), exist_ok=True)
    try:
        os.close(os.open(cli.path("stopped"), os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        return "no files without names here"
    path = cli.write("stopped/kept", OLD)
    steps = Trace()
    for _ in range(400):
        steps.free(steps.op(MS, [], MIB))
    trace = steps.save(cli, "long.trace")
    for number in (signal.SIGINT, signal.SIGKILL):
        with subprocess.Popen([cli.program, "replay", trace, "--record", path, "--iterations",
                               "1000"], stdout=subprocess.DEVNULL, env=cli.environment) as running:
            time.sleep(0.3)
            assert running.poll() is None, "it was over too soon"
            running.send_signal(number)
            assert running.wait() == -number
        assert os.listdir(cli.path("stopped")) == ["kept"], number
        with open(path, encoding="utf-8") as file:
            assert file.read() == OLD
    return None


def case_an_older_file_is_named_where_nothing_fits(cli):
    trace, old = example(cli), cli.write("older", OLD)
    blocks = cli.write("blocks.csv", f"id,lower,upper,size\na,0,2,{MIB}\nb,1,2,{MIB}\n")
    for words in (("plan", trace, "--budget", "4KiB"), ("pack", blocks, "--capacity", "1MiB"),
                  ("advise", trace, "-m", "v100-16g", "--memory", "4KiB")):
        for path, says in ((old, True), (cli.path("newer"), False)):
            done = cli.run(*words, "-o", path, status=2)
            assert ("the file that is there is an older one" in done.stderr) == says, done.stderr
            assert len(done.stderr.splitlines()) == 1, done.stderr
        assert not os.path.exists(cli.path("newer")), words
    with open(old, encoding="utf-8") as file:
        assert file.read() == OLD


def case_devices_are_written_to(cli):
    for words, source, option in commands(cli):
        cli.run(*words, source, option, "/dev/null")
        assert not os.path.isfile("/dev/null"), words


if __name__ == "__main__":
    main(globals())
