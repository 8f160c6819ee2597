"""A sparse linear program, built row by row, and a bound on its optimum that holds by itself.

SciPy's HiGHS solves it. What is returned as the bound is not the solver's objective but the value
of its multipliers in the Lagrangian: whatever they are, no point of the box that satisfies the
rows costs less. So tolerances of the solver make a bound worse, never wrong. Only what branch and
bound adds stands on the solver's word.
"""
import warnings

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeWarning, linprog, milp
from scipy.sparse import coo_matrix

SAFETY = 1e-9  # for the rounding of the sums below; costs and sizes are scaled to 1
LARGE = 10000  # rows from which on interior points take less time
WHOLE_GAP = 1e-4  # of its optimum, at which branch and bound is over
BRANCHED_SAFETY = 1e-5  # for what branch and bound takes for equal, ten times its tolerances

OPTIMAL, INFEASIBLE, STOPPED = "optimal", "infeasible", "stopped"


class Rows:
    """Triplets of a matrix and its right-hand side."""

    def __init__(self):
        self.row, self.col, self.coef, self.rhs = [], [], [], []

    def add(self, terms, rhs):
        """terms: (variable, coefficient); returns the row's number."""
        number = len(self.rhs)
        for col, coef in terms:
            self.row.append(number)
            self.col.append(col)
            self.coef.append(coef)
        self.rhs.append(rhs)
        return number

    def matrix(self, columns):
        shape = (len(self.rhs), columns)
        return coo_matrix((self.coef, (self.row, self.col)), shape=shape).tocsr()


class Solution:
    """What a solve brought: status, a true lower bound (None unless optimal), point, multipliers
    of the `at_most` rows."""

    def __init__(self, status, bound=None, x=None, multipliers=None):
        self.status = status
        self.bound = bound
        self.x = x
        self.multipliers = multipliers


class LinearProgram:
    """Minimise cost . x over 0 <= x <= upper, subject to the rows."""

    def __init__(self):
        self.cost, self.upper, self.whole = [], [], []
        self.at_most_rows, self.equal_rows = Rows(), Rows()

    def add_variable(self, cost=0.0, upper=1.0, whole=True):
        """`whole`: it may be taken to be 0 or 1."""
        self.cost.append(cost)
        self.upper.append(upper)
        self.whole.append(whole)
        return len(self.cost) - 1

    def at_most(self, terms, rhs):
        """sum of terms <= rhs"""
        return self.at_most_rows.add(terms, rhs)

    def count_at_most(self):
        """How many of these rows there are, at_least included."""
        return len(self.at_most_rows.rhs)

    def at_least(self, terms, rhs):
        """sum of terms >= rhs"""
        return self.at_most_rows.add([(col, -coef) for col, coef in terms], -rhs)

    def equal(self, terms, rhs):
        """sum of terms == rhs"""
        return self.equal_rows.add(terms, rhs)

    def solve(self, seconds):
        """Within the time, or STOPPED. The dual simplex method, as interior points and the way from
        there to a vertex took longer on nearly all programs, the large ones apart."""
        columns = len(self.cost)
        if columns == 0 or not self.at_most_rows.rhs:
            return Solution(OPTIMAL, 0.0, np.zeros(columns), np.zeros(0))
        a, b = self.at_most_rows.matrix(columns), np.array(self.at_most_rows.rhs)
        a_eq, b_eq = None, None
        if self.equal_rows.rhs:
            a_eq, b_eq = self.equal_rows.matrix(columns), np.array(self.equal_rows.rhs)
        cost, upper = np.array(self.cost), np.array(self.upper)
        options = {"time_limit": max(seconds, 0.01)}
        method = "highs-ipm" if len(b) > LARGE else "highs-ds"
        for presolve in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OptimizeWarning)
                found = linprog(cost, a, b, a_eq, b_eq,
                                np.column_stack([np.zeros(columns), upper]), method=method,
                                options=dict(options, presolve=presolve))
            if found.status != 2:
                break
        if found.status == 2:  # both ways, as this cannot be checked here
            return Solution(INFEASIBLE)
        if found.status != 0 or found.x is None or found.ineqlin.marginals is None:
            return Solution(STOPPED)
        multipliers = np.maximum(0.0, -found.ineqlin.marginals)
        reduced = cost + a.T @ multipliers
        bound = -multipliers @ b
        if a_eq is not None:
            free = -found.eqlin.marginals
            reduced = reduced + a_eq.T @ free
            bound -= free @ b_eq
        bound += np.minimum(0.0, reduced) @ upper
        return Solution(OPTIMAL, bound - SAFETY, found.x, multipliers)

    def solve_whole(self, seconds, whole=None):
        """The same where what is `whole` is 0 or 1 (of each variable; all that may be), by branch
        and bound: (bound, None if nothing is proven; point, None if none was found; whether that is
        the optimum)."""
        columns = len(self.cost)
        if columns == 0 or not self.at_most_rows.rhs:
            return None, None, True
        rows = [LinearConstraint(self.at_most_rows.matrix(columns), -np.inf, self.at_most_rows.rhs)]
        if self.equal_rows.rhs:
            rhs = self.equal_rows.rhs
            rows.append(LinearConstraint(self.equal_rows.matrix(columns), rhs, rhs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizeWarning)
            found = milp(np.array(self.cost), integrality=np.array(whole or self.whole, dtype=int),
                         bounds=Bounds(np.zeros(columns), np.array(self.upper)), constraints=rows,
                         options={"time_limit": max(seconds, 0.01), "mip_rel_gap": WHOLE_GAP})
        bound = found.mip_dual_bound if found.status in (0, 1) else None
        if bound is None or not np.isfinite(bound):
            return None, None, False
        return bound - BRANCHED_SAFETY, found.x, found.status == 0
