"""The products of predictions alone, by torch on a device: python benches/device.py QUERIES VECTORSxDIMENSIONS"""

import sys
import time

import torch

queries, shape = int(sys.argv[1]), sys.argv[2]
vectors, dimensions = (int(part) for part in shape.split("x"))
torch.backends.cuda.matmul.allow_tf32 = False
generator = torch.Generator("cuda").manual_seed(1)
x = torch.randn(queries, dimensions, device="cuda", generator=generator)
y = torch.randn(vectors, dimensions, device="cuda", generator=generator)
rows = max(1, min(queries, (4 << 30) // (4 * vectors)))
for what, work in (("product", lambda a: a @ y.T), ("product and nearest", lambda a: (a @ y.T).max(1))):
    for turn in range(2):
        torch.cuda.synchronize()
        clock = time.perf_counter()
        for first in range(0, queries, rows):
            work(x[first : first + rows])
        torch.cuda.synchronize()
        seconds = time.perf_counter() - clock
    flops = 2 * queries * vectors * dimensions
    print(f"torch {torch.__version__}, {what}: {seconds:.3f} s, {queries / seconds:.0f} queries/s, {flops / seconds / 1e12:.1f} TFLOP/s")
