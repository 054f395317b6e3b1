"""A progress bar for terminals and notebooks; silent elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

_WIDTH = 40


class Progress:
    """Draws what the library reports. Used as ``with Progress(verbose) as progress``.

    ``progress.callback`` is ``None`` where nobody would see it.
    """

    def __init__(self, verbose: int | bool) -> None:
        self._drawn = False
        self._display: Any = None
        self._notebook = bool(verbose) and _in_notebook()
        shown = self._notebook or (bool(verbose) and sys.stderr.isatty())
        self.callback = self._draw if shown else None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn and not self._notebook:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        elif self._drawn:
            self._show("")

    def _draw(self, stage: str, done: int, total: int) -> None:
        share = done / total if total else 0.0
        if self._notebook:
            self._show(f"<progress value='{share:.4f}' max='1'></progress> {stage}, {done:,} of {total:,}")
        else:
            bar = "#" * round(_WIDTH * share)
            sys.stderr.write(f"\r\033[K{stage:26}[{bar:{_WIDTH}}] {done:,}/{total:,}")
            sys.stderr.flush()
        self._drawn = True

    def _show(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._display is None:
            self._display = display(HTML(html), display_id=True)
        else:
            self._display.update(HTML(html))


def _in_notebook() -> bool:
    """Whether an IPython kernel runs this, without importing IPython for the answer."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
