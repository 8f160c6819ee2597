"""Lower bounds on what any memory policy must pay on a trace; see ../lower_bound.py."""
