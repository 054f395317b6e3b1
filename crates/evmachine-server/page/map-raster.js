// Points as pixels, written straight into a picture: a frame of 100,000 points takes a few milliseconds.

const HUES = 12;

/** Colours of classes as pixels (ABGR, as canvases have them): even hues, one lightness. */
export function palette(isDark) {
  const canvas = document.createElement("canvas");
  canvas.width = HUES + 2;
  canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const paint = (at, colour) => {
    context.fillStyle = colour;
    context.fillRect(at, 0, 1, 1);
  };
  for (let hue = 0; hue < HUES; hue += 1) {
    paint(hue, `hsl(${(hue * 360) / HUES + (hue % 2) * 9} ${isDark ? "45% 58%" : "48% 62%"})`);
  }
  paint(HUES, isDark ? "#ffffff" : "#111418");
  paint(HUES + 1, isDark ? "#ffb020" : "#d6330a");
  const pixels = new Uint32Array(context.getImageData(0, 0, HUES + 2, 1).data.buffer);
  return { classes: pixels.slice(0, HUES), unknown: pixels[HUES], chosen: pixels[HUES + 1] };
}

/**
 * Draws into `image`. `frame` maps a point to pixels: `x * scale + left`, `top - y * scale`. Known points are squares in the colour of
 * their class, unknown ones crosses, or dashes where all are small, so that they differ without colour too; `chosen` are points, by their
 * place.
 */
export function rasterise(image, points, frame, colours, chosen) {
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill(0);
  const { width, height } = image;
  const half = Math.max(1, Math.round(frame.size));
  const square = (cx, cy, colour) => {
    for (let y = cy - half + 1; y < cy + half; y += 1) pixels.fill(colour, y * width + cx - half + 1, y * width + cx + half);
  };
  const cross = (cx, cy, colour, reach) => {
    for (let step = -reach; step <= reach; step += 1) {
      pixels[(cy + step) * width + cx + step] = colour;
      pixels[(cy + step) * width + cx - step] = colour;
      pixels[(cy + step) * width + cx + step + 1] = colour;
      pixels[(cy + step) * width + cx - step + 1] = colour;
    }
  };
  const margin = half + 3;
  for (let point = 0; point < points.total; point += 1) {
    const cx = Math.round(points.x[point] * frame.scale + frame.left);
    const cy = Math.round(frame.top - points.y[point] * frame.scale);
    if (cx < margin || cy < margin || cx >= width - margin || cy >= height - margin) continue;
    if (point < points.known) square(cx, cy, colours.classes[points.classes[point] % HUES]);
    else if (chosen.has(point)) cross(cx, cy, colours.chosen, half);
    else if (half === 1) pixels.fill(colours.unknown, cy * width + cx, cy * width + cx + 2);
    else cross(cx, cy, colours.unknown, half);
  }
}
