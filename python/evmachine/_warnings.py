"""What the package warns of, by category.

``warnings.simplefilter("error", PrecisionWarning)`` is stopped by one of them, ``"ignore"`` hides it.
"""

from __future__ import annotations


class FallbackWarning(UserWarning):
    """What was asked for could not be done, and something less was.

    One class with nothing to measure its margins against, a tail size that exceeds the negatives, tails that exceed
    ``tail_memory_limit``, a threshold without rows to hold out, with fewer than its share asks for, or by an
    estimate. Its text says what was done instead and which parameter asks for it.
    """


class PrecisionWarning(UserWarning):
    """Values differ by less than a float32 can tell, and lose their differences.

    Distances are computed from 32-bit numbers, of about seven digits: seconds since 1970 differ by no less than 128.
    Subtract what all values of a column have in common, or multiply values that are tiny, before ``fit``.
    """


class DataWarning(UserWarning):
    """Data that can be learned, but look wrong.

    Rows that are equally far from all their nearest negatives, or labels most of which occur once.
    """


class EnrolmentWarning(UserWarning):
    """An update of a pool held labelled samples back, as its :class:`Enrolment` asks for.

    ``held_back()`` lists them, each with its reason.
    """


class RetuneWarning(UserWarning):
    """A model has changed so much by updates that its parameters should be chosen anew.

    Its classes have doubled, or held-out rows are named right less often than at the fit.
    """
