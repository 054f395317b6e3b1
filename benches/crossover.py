"""Where a device overtakes the processor: seconds of a fit by rows and dimensions, as a picture.

    python benches/crossover.py measure times.json       # on a machine with a device
    python benches/crossover.py draw times.json docs/images/crossover.png

Drawn features in 20 classes, cosine, tail size 200; the better of two fits, vectors in the memory of the processor. Needs the package evmachine,
to draw matplotlib.
"""

import json
import sys
import time

import numpy as np


def measure(path: str) -> None:
    """Fits on both, written as rows, dimensions, seconds of the processor, seconds of the device."""
    from evmachine import ExtremeValueMachine

    random, times = np.random.default_rng(1), []
    for dimensions in (64, 384, 1536):
        for rows in (1000, 2000, 5000, 10000, 20000, 40000):
            centers, labels = random.normal(size=(20, dimensions)), random.integers(20, size=rows)
            X = (centers[labels] + random.normal(size=(rows, dimensions))).astype(np.float32)
            seconds = []
            for device in ("cpu", "cuda"):
                machine = ExtremeValueMachine(preset="plain", device=device, metric="cosine", tail_size=200)
                turns = []
                for _ in range(2):
                    clock = time.perf_counter()
                    machine.fit(X, labels)
                    turns.append(time.perf_counter() - clock)
                seconds.append(min(turns))
            times.append((rows, dimensions, *seconds))
            print(*times[-1], flush=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(times, file)


def draw(path: str, picture: str) -> None:
    """Both as lines, a color for each number of dimensions."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with open(path, encoding="utf-8") as file:
        times = json.load(file)
    figure, axes = plt.subplots(figsize=(7, 4.2), dpi=110)
    for dimensions, color in zip(sorted({row[1] for row in times}), ("#1b6ca8", "#c8553d", "#4a7c3f"), strict=True):
        some = [row for row in times if row[1] == dimensions]
        rows = [row[0] for row in some]
        axes.plot(rows, [row[2] for row in some], "--", color=color, marker="o", ms=3, label=f"{dimensions}, 16 cores")
        axes.plot(rows, [row[3] for row in some], color=color, marker="o", ms=3, label=f"{dimensions}, device")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of a fit", title="A fit on an H200 and on 16 cores")
    axes.legend(title="dimensions", fontsize=8, title_fontsize=8)
    axes.grid(alpha=0.3, which="both")
    figure.tight_layout()
    figure.savefig(picture)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    elif sys.argv[1:2] == ["draw"]:
        draw(sys.argv[2], sys.argv[3])
    else:
        raise SystemExit(__doc__)
