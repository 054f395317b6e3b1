"""The extreme vectors of a model: which they are, how they were fitted, and how many there may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evmachine import _parameters
from evmachine._files import ModelFiles
from evmachine._open_set import Features
from evmachine._progress import Progress

if TYPE_CHECKING:
    from typing_extensions import Self


class ExtremeVectors(ModelFiles):
    """The extreme vectors as arrays, a row for each, class by class; and fewer of them."""

    def reduce(
        self,
        *,
        cover_threshold: float | None = None,
        cover_risk: float | None = None,
        max_extreme_vectors: int | float | Mapping[str, int | float] | None = None,
        reduction: str | None = None,
    ) -> Self:
        """Make the model smaller; later updates keep to the limit.

        Parameters
        ----------
        cover_threshold : float or None, default=None
            Keep what covers the rest at this probability.
        cover_risk : float or None, default=None
            With it, as in the constructor; as before unless given.
        max_extreme_vectors : int, float, dict or None, default=None
            Or keep so many; as in the constructor.
        reduction : {"set_cover", "weighted_max_k"} or None, default=None
            How they are chosen; as before unless given.

        Returns
        -------
        self
        """
        if (cover_threshold is None) == (max_extreme_vectors is None):
            raise ValueError("give either cover_threshold or max_extreme_vectors")
        if cover_risk is not None and cover_threshold is None:
            raise ValueError("cover_risk goes with cover_threshold, not with max_extreme_vectors")
        with self._changing():
            model = self._native_model()
            params = _parameters.from_json(model.params)
            params["max_extreme_vectors"] = max_extreme_vectors
            if cover_threshold is None:
                params["cover_risk"] = 0.0
            elif cover_risk is not None:
                params["cover_risk"] = cover_risk
            if cover_threshold is not None:
                params["cover_threshold"] = cover_threshold
            if reduction is not None:
                params["reduction"] = reduction
            with Progress(self.verbose) as progress:
                self._model = model.reduce(_parameters.to_json(params), _parameters.means(self), progress.callback)
        return self

    @property
    def extreme_vectors_(self) -> Features:
        return self._fitted_model("extreme_vectors_").vectors

    @property
    def extreme_vector_classes_(self) -> npt.NDArray[Any]:
        model = self._fitted_model("extreme_vector_classes_")
        return self.classes_[self._class_positions(model)[model.vector_classes]]

    @property
    def extreme_vector_indices_(self) -> npt.NDArray[np.int64]:
        return self._fitted_model("extreme_vector_indices_").sources

    @property
    def weibull_shape_(self) -> npt.NDArray[np.float64]:
        return self._fitted_model("weibull_shape_").shapes

    @property
    def weibull_scale_(self) -> npt.NDArray[np.float64]:
        return self._fitted_model("weibull_scale_").scales

    @property
    def fit_status_(self) -> npt.NDArray[Any]:
        return np.array(self._fitted_model("fit_status_").statuses)

    @property
    def vector_ratio_(self) -> float:
        return self._fitted_model("vector_ratio_").vector_ratio
