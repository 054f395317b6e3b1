"""Single tails, for whoever has margins or libmr's parameters from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evmachine import _native


@dataclass(frozen=True)
class PsiModel:
    """The curve that is fitted to one tail.

    Parameters
    ----------
    shape : float
        kappa of ``weibull``, b of ``libmr``, c / s of ``gumbel``. No unit.
    scale : float
        lambda of ``weibull``, a of ``libmr``, c of ``gumbel``. In the unit of distances.
    shift : float, default=0.0
        The largest margin of the tail for ``libmr``, 0 for the others.
    tail_model : {"weibull", "libmr", "gumbel"}, default="weibull"
        Which curve.
    status : str, default="converged"
        How the fit went.

    Examples
    --------
    >>> from evmachine import PsiModel
    >>> psi = PsiModel.fit([1.9, 1.2, 1.6, 2.1])
    >>> psi.probability([0.5, 1.7, 3.0]).round(3).tolist()
    [1.0, 0.538, 0.0]
    """

    shape: float
    scale: float
    shift: float = 0.0
    tail_model: str = "weibull"
    status: str = "converged"

    @classmethod
    def fit(cls, margins: npt.ArrayLike, tail_model: str = "weibull") -> PsiModel:
        """Fit margins, in any order.

        Parameters
        ----------
        margins : array-like of shape (n,)
            Finite and not negative.
        tail_model : {"weibull", "libmr", "gumbel"}, default="weibull"
            Which curve.

        Returns
        -------
        PsiModel
        """
        values = np.ascontiguousarray(margins, dtype=np.float64).ravel()
        shape, scale, shift, status = _native.fit_margins(tail_model, values)
        return cls(shape, scale, shift, tail_model, status)

    @classmethod
    def from_libmr(
        cls, scale: float, shape: float, sign: float, translate_amount: float, small_score: float
    ) -> PsiModel:
        """The curve of ``libmr.MR.get_params()``, after ``fit_low``.

        Parameters
        ----------
        scale, shape, sign, translate_amount, small_score : float
            As ``get_params`` returns them: ``PsiModel.from_libmr(*mr.get_params())``.

        Returns
        -------
        PsiModel
            ``probability(d)`` is libmr's ``w_score(d)``.
        """
        if sign != -1 or translate_amount != 1:
            raise ValueError(
                f"sign = {sign}, translate_amount = {translate_amount}: only what fit_low gives (-1 and 1) is a tail "
                "of margins"
            )
        return cls(shape, scale, -small_score, "libmr")

    def probability(self, distances: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """psi at each distance.

        Parameters
        ----------
        distances : array-like
            In the unit of the margins.

        Returns
        -------
        ndarray of the shape of ``distances``
        """
        array = np.ascontiguousarray(distances, dtype=np.float64)
        values: Any = _native.psi_at(self.tail_model, self.shape, self.scale, self.shift, array.ravel())
        return np.asarray(values).reshape(array.shape)
