// What is drawn of a vector.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bars, reachOf } from "../../page/drawing.js";
import { support } from "../../page/words.js";

test("few features have a bar each", () => {
  assert.deepEqual(bars([3, -1, 2]), [3, -1, 2]);
});

test("many features share bars, none is left out", () => {
  const shared = bars(Array.from({ length: 384 }, (_, at) => at));
  assert.equal(shared.length, 48);
  assert.deepEqual([shared[0], shared.at(-1)], [3.5, 379.5]);
  const uneven = bars(Array.from({ length: 50 }, () => 2));
  assert.deepEqual(new Set(uneven), new Set([2]));
});

test("the reach is the largest bar, whatever its sign", () => {
  assert.equal(reachOf([[1, -4], [3]]), 4);
  assert.equal(reachOf([]), 0);
});

test("support is shown with its sign", () => {
  assert.deepEqual([0, 1e-9, -0.004, -1.234, 12, Number.MAX_VALUE, null].map(support), ["+0.00", "+< 0.01", "−< 0.01", "−1.23", "+12.00", "+∞", "–"]);
});
