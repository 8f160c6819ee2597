"""Switches of cuDNN: taken, and without effect."""
enabled, benchmark, deterministic, allow_tf32 = True, False, True, False


def is_available():
    """cebus does not use it."""
    return False


def version():
    return None
