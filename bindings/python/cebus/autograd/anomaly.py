"""Accepted for programs that ask for it: an error in a backward names its operation anyway."""


class set_detect_anomaly:
    """Does nothing, as a call or as a block."""

    def __init__(self, mode=True, check_nan=True):
        self.mode, self.check_nan = mode, check_nan

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


class detect_anomaly(set_detect_anomaly):
    """As set_detect_anomaly(True)."""

    def __init__(self, check_nan=True):
        super().__init__(True, check_nan)
