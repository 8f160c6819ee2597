/**
 * profile_file.h: measured costs by name and hash of an op:
 *
 *     {"cebus_profile": 1, "machine": "cpu", "ops": [
 *         {"name": "matmul", "hash": "00c5f6d2a39b1e07", "cost_ns": 1234, "count": 3}, ...]}
 */
#ifndef PROFILE_FILE_H
#define PROFILE_FILE_H

#include "program.h"

/** Replaces the costs of the ops that the file lists; the others keep the trace's. `path` NULL: all
 * do. What is wrong with the file is printed, and false returned. */
bool profile_apply(struct program *program, const char *path);

#endif
