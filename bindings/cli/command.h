/**
 * command.h: the commands, a file each. argv[0] is "cebus COMMAND". They return the exit status.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <argp.h>

int command_replay(int argc, char **argv);
int command_sweep(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_report(int argc, char **argv);
int command_profile(int argc, char **argv);
int command_pack(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_advise(int argc, char **argv);
int command_info(int argc, char **argv);

/** The end of --help of commands that run a trace, and of those that do not. */
#define COMMAND_EXIT_STATUS                                                                        \
    "\vExit status: 0 when done, also when a run does not fit its budget; 1 after an error; 64 "   \
    "when the command line makes no sense."
#define COMMAND_EXIT_STATUS_NO_RUN                                                                 \
    "\vExit status: 0 when done; 1 after an error; 64 when the command line makes no sense."

#endif
