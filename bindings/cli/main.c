/**
 * cebus: what would this trace cost on that machine, in so much memory?
 */
#include <cebus/info.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *title; /**< argv[0] of its parser */
    const char *what;
} commands[] = {
    {"replay", command_replay, "cebus replay", "run a trace on a simulated machine, in a budget"},
    {"sweep", command_sweep, "cebus sweep", "the same at many budgets: a table and a plot"},
    {"explain", command_explain, "cebus explain", "each eviction: why, and what it cost"},
    {"report", command_report, "cebus report", "a page that shows a recorded run"},
    {"profile", command_profile, "cebus profile", "turn recorded traces into measured costs"},
    {"pack", command_pack, "cebus pack",
     "offsets for blocks of known lifetimes, within a capacity"},
    {"plan", command_plan, "cebus plan", "what a policy plans for a trace, as a file"},
    {"advise", command_advise, "cebus advise",
     "search a plan for a trace: order, swaps, replays, offsets"},
    {"info", command_info, "cebus info", "devices, libraries, versions, settings"},
};

static void print_usage(FILE *to)
{
    fputs(
        "Usage: cebus COMMAND [OPTION...] [ARGUMENT...]\n"
        "What a trace of tensor operations costs on a simulated machine, within a memory budget.\n"
        "\n",
        to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].what);
    fputs("\n`cebus COMMAND --help' describes each.\n", to);
}

static int wrong_command(const char *name)
{
    complain("there is no command \"%s\"", name);
    print_usage(stderr);
    return EXIT_USAGE;
}

/** What was printed must have got there, help included: the parsers exit by themselves after it. */
static void finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    complain("standard output cannot be written");
    fflush(stderr);
    _Exit(EXIT_WRONG);
}

int main(int argc, char **argv)
{
    if (atexit(finish) != 0) {
        complain("out of memory");
        return EXIT_WRONG;
    }
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("cebus %s\n", cebus_version());
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        argv[1] = (char *)commands[i].title;
        return commands[i].run(argc - 1, argv + 1);
    }
    return wrong_command(name);
}
