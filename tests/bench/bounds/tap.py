"""Tests of unittest, printed as TAP."""
import unittest


class Tap(unittest.TestResult):
    """One line a test."""

    def _line(self, test, good, rest=""):
        print(f"{'ok' if good else 'not ok'} {self.testsRun} - {test.id()}{rest}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line(test, True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(test, True, f" # SKIP {reason}")

    def _bad(self, test, text):
        self._line(test, False)
        print("# " + text.replace("\n", "\n# "), flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._bad(test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._bad(test, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            print(f"# in {subtest.id()}")
            self._bad(test, (self.errors + self.failures)[-1][1])


def run(module):
    """All tests of a module; whether one failed."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    print(f"1..{tests.countTestCases()}")
    result = Tap()
    tests.run(result)
    return not result.wasSuccessful()
