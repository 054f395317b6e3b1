"""Corrections of a trained model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from evmachine import _labels, _native, _parameters, _rows
from evmachine._files import ModelFiles
from evmachine._open_set import Fitted
from evmachine._progress import Progress
from evmachine._warnings import FallbackWarning


@dataclass(frozen=True)
class EditReport:
    """What a correction did.

    Attributes
    ----------
    rows : int
        Rows that moved, came or went.
    refitted : int
        Other extreme vectors whose Psi-model was fitted again.
    new_classes : list
        Classes that are new.
    ended_classes : list
        Classes that ended, having no row any more.
    extreme_vectors : int
        Extreme vectors in the model now.
    recalibrated : bool
        Whether the threshold was set anew; it stands where less than one row in a thousand changed.
    """

    rows: int
    refitted: int
    new_classes: list[Any]
    ended_classes: list[Any]
    extreme_vectors: int
    recalibrated: bool


#: What can be done where one class is left alone.
ALONE = " (fit(..., ignored=...) or ignore())"

#: How rows are named by all that take them.
_Rows = Any
_Batch = str | int | None


class Corrections(ModelFiles):
    """Classes renamed, merged and split; rows relabelled, unlearned, ignored, set aside or brought back; denials.

    With every row kept (``cover_loss=0``), an int as ``tail_size`` and no whitening, standardizing or smoothing,
    a corrected model has the very Psi-models of a fit to the corrected rows. Otherwise it is exact as far as the model
    remembers: rows that the cover dropped are not there to be moved.
    """

    unknown_label: Any

    def rename_class(self, label: Any, to: Any) -> EditReport:
        """Give a class another label. Nothing else changes.

        Parameters
        ----------
        label
            The class.
        to
            Its new label, of the kind that the classes have.

        Returns
        -------
        EditReport
        """
        return self._edit(lambda fitted: {"edit": "rename", "class": fitted.class_name(label)}, to, "to")

    def merge_classes(self, label: Any, into: Any) -> EditReport:
        """Make two classes one.

        Parameters
        ----------
        label
            The class that ends.
        into
            The class that takes its rows.

        Returns
        -------
        EditReport
        """
        return self._edit(
            lambda fitted: {"edit": "merge", "class": fitted.class_name(label), "into": fitted.class_name(into)}
        )

    def split_class(
        self, label: Any, into: Any, *, rows: _Rows = None, ids: Any = None, batch: _Batch = None
    ) -> EditReport:
        """Make some rows of a class a class of their own.

        Parameters
        ----------
        label
            The class, which keeps the other rows.
        into
            The new class.
        rows, ids, batch
            The rows that leave it, as for :meth:`relabel`.

        Returns
        -------
        EditReport
        """
        return self._edit(
            lambda fitted: {
                "edit": "split",
                "class": fitted.class_name(label),
                "rows": _rows.find(fitted.model, rows, ids, batch),
            },
            into,
            "into",
        )

    def relabel(
        self, label: Any, *, rows: _Rows = None, ids: Any = None, batch: _Batch = None, new_class: bool = False
    ) -> EditReport:
        """Give rows another class, one that is there or a new one. Ignored samples may be among them.

        Parameters
        ----------
        label
            Their class from now on, of the kind that the classes have.
        rows : int, Row or a sequence of them, default=None
            Numbers of rows in the batch they came in, from 1, as :meth:`explain`, :meth:`doubt` and :meth:`rows` give
            them; or what these give, itself.
        ids : str, int or a sequence of them, default=None
            Ids that ``fit`` or ``partial_fit`` was given. All rows with the id are meant.
        batch : str, int or None, default=None
            The batch that rows and ids are looked for in, by name or by number from 1. By itself, all of its rows.
        new_class : bool, default=False
            Found the class, although its name is close to that of another. Without it such a label is rejected, because
            it may be a typing error.

        Returns
        -------
        EditReport
        """
        return self._edit(
            lambda fitted: {"edit": "relabel", "rows": _rows.find(fitted.model, rows, ids, batch)},
            label,
            "class",
            founds=bool(new_class),
        )

    def unlearn(self, *, rows: _Rows = None, ids: Any = None, batch: _Batch = None) -> EditReport:
        """Take rows out as if they had never been there, with the margins that they gave to others.

        Parameters
        ----------
        rows, ids, batch
            The rows, as for :meth:`relabel`.

        Returns
        -------
        EditReport
        """
        return self._edit_rows("unlearn", rows, ids, batch)

    def ignore_rows(self, *, rows: _Rows = None, ids: Any = None, batch: _Batch = None) -> EditReport:
        """Make rows of classes ignored samples, as :meth:`ignore` has them.

        Parameters
        ----------
        rows, ids, batch
            The rows, as for :meth:`relabel`.

        Returns
        -------
        EditReport
        """
        return self._edit_rows("ignore", rows, ids, batch)

    def set_aside(self, *, rows: _Rows = None, ids: Any = None, batch: _Batch = None) -> EditReport:
        """Take rows out as :meth:`unlearn` does, and keep them beside the model for :meth:`restore`.

        Parameters
        ----------
        rows, ids, batch
            The rows, as for :meth:`relabel`.

        Returns
        -------
        EditReport
        """
        return self._edit_rows("set_aside", rows, ids, batch)

    def restore(self, *, rows: _Rows = None, ids: Any = None, batch: _Batch = None) -> EditReport:
        """Bring rows back that were set aside, to the class they were of.

        Parameters
        ----------
        rows, ids, batch
            The rows, as for :meth:`relabel`, among those that are set aside.

        Returns
        -------
        EditReport
        """
        return self._edit_rows("restore", rows, ids, batch, aside=True)

    def ignore(
        self, X: npt.ArrayLike, *, ids: Any = None, batch: str | None = None, time: _rows.Time = None
    ) -> EditReport:
        """Learn samples that are no class: they stay strangers.

        They stand in the tails of all classes, are never answered, and a query nearest to one of them is unknown.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        ids, batch, time
            What they are called, as for :meth:`fit`.

        Returns
        -------
        EditReport
        """
        with self._changing():
            rows, fitted = self._check_queries(X), self._fitted()
            names = _rows.names(len(rows), ids, batch, time)
            with Progress(self.verbose) as progress:
                model, text = _native.ignore(fitted.model, rows, names, _parameters.means(self), progress.callback)
            return self._adopt_edit(model, text, fitted.classes)

    def not_class(
        self, X: npt.ArrayLike, label: Any, *, ids: Any = None, batch: str | None = None, time: _rows.Time = None
    ) -> EditReport:
        """Say of rows that they are not of a class, whatever else they are.

        They are negatives of that class alone. A query that is no farther from one of them than from every extreme
        vector is never answered with the class, whatever witnesses say, but as the other classes have it.
        :meth:`unlearn` of the last ones gives the model before, exactly. The threshold stays where it is until the
        model next learns or is calibrated.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        label
            The class that they are not of.
        ids, batch, time
            What they are called, as for :meth:`fit`.

        Returns
        -------
        EditReport
        """
        with self._changing():
            rows, fitted = self._check_queries(X), self._fitted()
            names = _rows.names(len(rows), ids, batch, time)
            model, text = _native.deny(fitted.model, rows, fitted.class_name(label), names)
            return self._adopt_edit(model, text, fitted.classes)

    def _edit_rows(self, edit: str, rows: _Rows, ids: Any, batch: _Batch, *, aside: bool = False) -> EditReport:
        return self._edit(
            lambda fitted: {"edit": edit, "rows": _rows.find(fitted.model, rows, ids, batch, aside=aside)}, stacklevel=2
        )

    def _edit(
        self,
        edit: Callable[[Fitted], dict[str, Any]],
        label: Any = None,
        entry: str = "",
        *,
        founds: bool = True,
        stacklevel: int = 1,
    ) -> EditReport:
        """Makes the correction that ``edit`` says; ``entry`` of it is the class of ``label``, which may be new.

        Unless the label ``founds`` a class, it may not look like a typing error for another.
        """
        with self._changing():
            fitted = self._fitted()
            said, classes = edit(fitted), fitted.classes
            if entry:
                classes, new = _labels.single(fitted.classes, label)
                if _labels.first_row(new, fitted.unknown) is not None:
                    raise ValueError(
                        f"{label!r} is what predict says of unknowns; choose another label, or make strangers of rows "
                        "with ignore_rows"
                    )
                (said[entry],) = _labels.names_for(fitted.model, new)
                if not founds:
                    _native.check_label(fitted.model, said[entry], [])
            with Progress(self.verbose) as progress:
                model, text = _native.edit(fitted.model, json.dumps(said), _parameters.means(self), progress.callback)
            return self._adopt_edit(model, text, classes, stacklevel + 1)

    def _adopt_edit(
        self, model: _native.Model, text: str, classes: npt.NDArray[Any], stacklevel: int = 1
    ) -> EditReport:
        """Answers as the corrected model does, whose labels are of the type of ``classes``."""
        report = json.loads(text)
        concern = report.pop("alone")
        for name in ("new_classes", "ended_classes"):
            report[name] = _labels.of_names(report[name], classes)
        found = _labels.of_model(model, classes)
        if _labels.type_name(found) != model.label_type:
            model = model.with_label_type(_labels.type_name(found))
        unknown = _labels.unknown_label(found, self.unknown_label)
        # In one step, as updates are.
        self.__dict__.update(_model=model, classes_=found, unknown_label_=unknown)
        if concern is not None:
            warnings.warn(concern + ALONE, FallbackWarning, stacklevel=stacklevel + 2)
        return EditReport(**report)
