"""What the examples share: a progress bar where tqdm is installed, a loss plot in text."""


def bar(steps):
    """range(steps) with a bar."""
    try:
        from tqdm import trange
    except ImportError:
        return range(steps)
    return trange(steps)


def plot(losses, width=60, height=8):
    """A curve of losses as text."""
    stride = max(len(losses) // width, 1)
    means = [sum(losses[i:i + stride]) / len(losses[i:i + stride])
             for i in range(0, len(losses), stride)]
    low, high = min(means), max(means)
    rows = [round((height - 1) * (x - low) / ((high - low) or 1)) for x in means]
    lines = ["".join("*" if row == level else " " for row in rows)
             for level in reversed(range(height))]
    lines[0] += f"  {high:.3f}"
    lines[-1] += f"  {low:.3f}"
    return "\n".join(lines)
