// The bytes of the map, and what a lasso holds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { boxOf, isInside, middlesOf, readPoints, unknownsInside } from "../../page/map-points.js";

function bytesOf(known, unknown) {
  const all = [...known, ...unknown];
  const view = new DataView(new ArrayBuffer(16 + all.length * 16));
  [0x4d565645, known.length, unknown.length, 2].forEach((value, at) => view.setUint32(at * 4, value, true));
  all.forEach(([x, y, of, number], at) => {
    view.setFloat32(16 + at * 16, x, true);
    view.setFloat32(20 + at * 16, y, true);
    view.setUint32(24 + at * 16, of, true);
    view.setUint32(28 + at * 16, number, true);
  });
  return view.buffer;
}

const NONE = 0xffffffff;
const buffer = bytesOf([[0, 0, 0, 1], [0, 0.5, 0, 2], [8, 8, 0, 3], [1, 5, 1, 4]], [[1, 1, NONE, 77], [9, 9, NONE, 78]]);

test("points are read, known ones first", () => {
  const points = readPoints(buffer);
  assert.deepEqual([points.known, points.total], [4, 6]);
  assert.deepEqual([...points.numbers], [1, 2, 3, 4, 77, 78]);
  assert.deepEqual(boxOf(points), { left: 0, right: 9, low: 0, high: 9 });
});

test("the name of a class stands where most of it is", () => {
  assert.deepEqual(middlesOf(readPoints(buffer)), [{ class: 0, x: 0, y: 0.25 }, { class: 1, x: 1, y: 5 }]);
});

test("what is no map, or half of one, is said", () => {
  assert.throws(() => readPoints(new ArrayBuffer(16)), /no map/);
  assert.throws(() => readPoints(buffer.slice(0, 40)), /cut off/);
});

test("a lasso holds unknowns alone", () => {
  const points = readPoints(buffer);
  assert.deepEqual(unknownsInside(points, [[-1, -1], [3, -1], [3, 3], [-1, 3]]), [4]);
  assert.deepEqual(unknownsInside(points, [[-1, -1], [0, -1], [0, 0]]), []);
});

test("a dent is outside", () => {
  const dented = [[0, 0], [4, 0], [4, 4], [2, 1], [0, 4]];
  assert.equal(isInside(2, 3, dented), false);
  assert.equal(isInside(0.5, 2, dented), true);
});
