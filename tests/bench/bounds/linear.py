"""A sparse linear program, built row by row, and a bound on its optimum that holds by itself.

SciPy's HiGHS solves it. What is returned as the bound is not the solver's objective but the value
of its multipliers in the Lagrangian: whatever they are, no point of the box that satisfies the
rows costs less. So tolerances of the solver make a bound worse, never wrong.
"""
import warnings

import numpy as np
from scipy.optimize import OptimizeWarning, linprog
from scipy.sparse import coo_matrix

SAFETY = 1e-9  # for the rounding of the sums below; costs and sizes are scaled to 1

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
        self.cost, self.upper = [], []
        self.at_most_rows, self.equal_rows = Rows(), Rows()

    def add_variable(self, cost=0.0, upper=1.0):
        self.cost.append(cost)
        self.upper.append(upper)
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
        there to a vertex took longer on nearly all traces."""
        columns = len(self.cost)
        if columns == 0 or not self.at_most_rows.rhs:
            return Solution(OPTIMAL, 0.0, np.zeros(columns), np.zeros(0))
        a, b = self.at_most_rows.matrix(columns), np.array(self.at_most_rows.rhs)
        a_eq, b_eq = None, None
        if self.equal_rows.rhs:
            a_eq, b_eq = self.equal_rows.matrix(columns), np.array(self.equal_rows.rhs)
        cost, upper = np.array(self.cost), np.array(self.upper)
        options = {"time_limit": max(seconds, 0.01)}
        for presolve in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OptimizeWarning)
                found = linprog(cost, a, b, a_eq, b_eq,
                                np.column_stack([np.zeros(columns), upper]), method="highs-ds",
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
