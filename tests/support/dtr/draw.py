"""Chance for the recorder: the same seed draws the same on every machine and version."""
import random


class Draw:
    """Only random() is promised to repeat between versions of Python, so all is made of it."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def between(self, low, high):
        """An integer, both ends included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, probability):
        return self.random() < probability

    def pick(self, items):
        return items[self.between(0, len(items) - 1)]

    def some(self, items, count):
        """So many of them, or all, in their order."""
        left = list(range(len(items)))
        while len(left) > count:
            left.pop(self.between(0, len(left) - 1))
        return [items[i] for i in left]
