// The points of the map as the server sends them, and which of them lie within a lasso.

const MAGIC = 0x4d565645;
const HEADER = 16;
const RECORD = 16;
const GRID = 12;

/** `{ known, total, x, y, classes, numbers }`: known points first; `numbers` are of rows for those, of samples for the others. */
export function readPoints(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER || view.getUint32(0, true) !== MAGIC) throw new Error("This is no map.");
  const known = view.getUint32(4, true);
  const total = known + view.getUint32(8, true);
  if (buffer.byteLength < HEADER + total * RECORD) throw new Error("The map is cut off.");
  const points = {
    known,
    total,
    x: new Float32Array(total),
    y: new Float32Array(total),
    classes: new Uint32Array(total),
    numbers: new Uint32Array(total),
  };
  for (let point = 0, at = HEADER; point < total; point += 1, at += RECORD) {
    points.x[point] = view.getFloat32(at, true);
    points.y[point] = view.getFloat32(at + 4, true);
    points.classes[point] = view.getUint32(at + 8, true);
    points.numbers[point] = view.getUint32(at + 12, true);
  }
  return points;
}

/** Whether a point lies within a polygon of `[x, y]`, by the even-odd rule. */
export function isInside(x, y, polygon) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [xi, yi] = polygon[i];
    const [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

/** The unknown points within a polygon. */
export function unknownsInside(points, polygon) {
  const xs = polygon.map(([x]) => x);
  const ys = polygon.map(([, y]) => y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const found = [];
  for (let point = points.known; point < points.total; point += 1) {
    const [x, y] = [points.x[point], points.y[point]];
    if (x >= left && x <= right && y >= low && y <= high && isInside(x, y, polygon)) found.push(point);
  }
  return found;
}

/** The smallest box that holds all points, or the unit square where there are none. */
export function boxOf(points) {
  if (!points.total) return { left: 0, right: 1, low: 0, high: 1 };
  const box = { left: Infinity, right: -Infinity, low: Infinity, high: -Infinity };
  for (let point = 0; point < points.total; point += 1) {
    box.left = Math.min(box.left, points.x[point]);
    box.right = Math.max(box.right, points.x[point]);
    box.low = Math.min(box.low, points.y[point]);
    box.high = Math.max(box.high, points.y[point]);
  }
  return box;
}

/** Where each class is densest, on a coarse grid, which is where its name is written: `{ class, x, y }`. */
export function middlesOf(points) {
  const { left, right, low, high } = boxOf(points);
  const cell = (value, from, to) => Math.floor(((value - from) / (to - from || 1)) * (GRID - 1e-6));
  const cells = new Map();
  const densest = new Map();
  for (let point = 0; point < points.known; point += 1) {
    const [x, y, of] = [points.x[point], points.y[point], points.classes[point]];
    const key = (of * GRID + cell(x, left, right)) * GRID + cell(y, low, high);
    const sum = cells.get(key) ?? { class: of, x: 0, y: 0, count: 0 };
    sum.x += x;
    sum.y += y;
    sum.count += 1;
    cells.set(key, sum);
    if (sum.count > (densest.get(of)?.count ?? 0)) densest.set(of, sum);
  }
  return [...densest.values()].map((sum) => ({ class: sum.class, x: sum.x / sum.count, y: sum.y / sum.count }));
}
