// The map of known and unknown samples: moved and zoomed by hand or by keys, with a lasso that chooses unknowns to answer.

import { answer } from "./answers.js";
import { get, getBytes } from "./api.js";
import { button, make } from "./elements.js";
import { sync } from "./labelling.js";
import { boxOf, middlesOf, readPoints, unknownsInside } from "./map-points.js";
import { palette, rasterise } from "./map-raster.js";
import { namingField } from "./naming.js";
import { complain } from "./notices.js";
import { can, standing } from "./pool.js";
import { faceOf } from "./samples.js";
import { count, whole } from "./words.js";

const MOST_FACES = 60;
/** More points than these are drawn small. */
const MANY = 20_000;

/** The view of the map, filled when it is first seen. */
export function mapView(place) {
  let points = null;
  let loadedAt = null;
  let classes = [];
  let middles = [];
  let image = null;
  let chosen = new Set();
  let lasso = [];
  let grabbed = null;
  let asked = 0;
  const frame = { scale: 1, left: 0, top: 0, size: 2 };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let colours = palette(dark.matches);

  const canvas = make("canvas", { tabindex: "0", role: "img", "aria-label": "Map of samples", "aria-describedby": "map-words" });
  const context = canvas.getContext("2d");
  const words = make("p", { id: "map-words", class: "quiet" }, "Asking for the map…");
  const found = make("h2", {}, "Choose unknowns on the map");
  const faces = make("ul", { class: "samples" });
  const field = namingField((label, isNew) => answerChosen("labels", label, isNew));
  const ignoreButton = button("Ignore", () => answerChosen("ignore"));
  const discardButton = button("Discard", () => answerChosen("discard"));
  const verbs = make("div", { class: "verbs" }, ignoreButton, discardButton, button("Choose none", () => choose([])));
  const panel = make("div", { class: "map-panel", hidden: true }, field.node, verbs, faces);
  const tools = make(
    "div",
    { class: "map-tools", role: "group", "aria-label": "Map" },
    button("Closer", () => zoom(1.5), { "aria-keyshortcuts": "+" }),
    button("Farther", () => zoom(1 / 1.5), { "aria-keyshortcuts": "-" }),
    button("Whole", fit, { "aria-keyshortcuts": "0" }),
    button("Choose all in view", chooseSeen, { "aria-keyshortcuts": "Enter" }),
    button("Load anew", load),
  );
  place.append(
    make("div", { class: "map-canvas" }, canvas, tools, words),
    make("aside", { class: "map-side", "aria-label": "Chosen samples" }, found, panel),
  );

  function redraw() {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => {
      if (!points || !image) return;
      rasterise(image, points, frame, colours, chosen);
      context.putImageData(image, 0, 0);
      drawNames();
      if (lasso.length > 1) drawLasso();
    });
  }

  function drawNames() {
    const style = getComputedStyle(document.body);
    context.font = `600 ${14 * devicePixelRatio}px ${style.fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4 * devicePixelRatio;
    context.strokeStyle = style.backgroundColor;
    context.fillStyle = style.color;
    for (const { class: of, x, y } of middles) {
      const at = [x * frame.scale + frame.left, frame.top - y * frame.scale];
      context.strokeText(classes[of] ?? "", ...at);
      context.fillText(classes[of] ?? "", ...at);
    }
  }

  function drawLasso() {
    context.beginPath();
    for (const [x, y] of lasso) context.lineTo(x * frame.scale + frame.left, frame.top - y * frame.scale);
    context.closePath();
    context.lineWidth = 2 * devicePixelRatio;
    context.strokeStyle = getComputedStyle(canvas).color;
    context.stroke();
  }

  function resize() {
    const width = Math.round(canvas.clientWidth * devicePixelRatio);
    const height = Math.round(canvas.clientHeight * devicePixelRatio);
    if (!width || !height || (image?.width === width && image?.height === height)) return;
    const first = image === null;
    canvas.width = width;
    canvas.height = height;
    image = context.createImageData(width, height);
    if (first) fit();
    else redraw();
  }

  function fit() {
    if (!points || !image) return;
    const { left, right, low, high } = boxOf(points);
    const room = 24 * devicePixelRatio;
    const scale = Math.min((image.width - room) / (right - left || 1), (image.height - room) / (high - low || 1));
    frame.scale = scale;
    frame.left = image.width / 2 - ((left + right) / 2) * scale;
    frame.top = image.height / 2 + ((low + high) / 2) * scale;
    frame.size = (points.total > MANY ? 1 : 2) * devicePixelRatio;
    redraw();
  }

  function zoom(by, x = canvas.width / 2, y = canvas.height / 2) {
    frame.left = x - (x - frame.left) * by;
    frame.top = y - (y - frame.top) * by;
    frame.scale *= by;
    redraw();
  }

  function move(x, y) {
    frame.left += x * devicePixelRatio;
    frame.top += y * devicePixelRatio;
    redraw();
  }

  function at(event) {
    const x = event.offsetX * devicePixelRatio;
    const y = event.offsetY * devicePixelRatio;
    return [(x - frame.left) / frame.scale, (frame.top - y) / frame.scale];
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    grabbed = event.shiftKey || event.button === 1 ? "map" : "lasso";
    lasso = grabbed === "lasso" ? [at(event)] : [];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (grabbed === "map") move(event.movementX, event.movementY);
    else if (grabbed === "lasso") {
      lasso.push(at(event));
      redraw();
    }
  });
  canvas.addEventListener("pointerup", () => {
    if (grabbed === "lasso" && lasso.length > 2) choose(unknownsInside(points, lasso));
    grabbed = null;
    lasso = [];
    redraw();
  });
  canvas.addEventListener("pointercancel", () => {
    grabbed = null;
    lasso = [];
    redraw();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 400), event.offsetX * devicePixelRatio, event.offsetY * devicePixelRatio);
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => move(60, 0),
      ArrowRight: () => move(-60, 0),
      ArrowUp: () => move(0, 60),
      ArrowDown: () => move(0, -60),
      "+": () => zoom(1.5),
      "=": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      0: fit,
      Enter: chooseSeen,
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  dark.addEventListener("change", () => {
    colours = palette(dark.matches);
    redraw();
  });
  new ResizeObserver(resize).observe(canvas);

  function chooseSeen() {
    if (!points) return;
    const x = (pixel) => (pixel - frame.left) / frame.scale;
    const y = (pixel) => (frame.top - pixel) / frame.scale;
    const [left, right, top, bottom] = [x(0), x(canvas.width), y(0), y(canvas.height)];
    choose(unknownsInside(points, [[left, top], [right, top], [right, bottom], [left, bottom]]));
  }

  function choose(places) {
    chosen = new Set(places);
    found.textContent = chosen.size ? `${count(chosen.size, "sample")} chosen` : "Choose unknowns on the map";
    panel.hidden = chosen.size === 0;
    const members = [...places].slice(0, MOST_FACES).map((point) => ({ sample: points.numbers[point] }));
    faces.replaceChildren(...members.map((member) => make("li", {}, make("span", { class: "sample" }, faceOf(member)))));
    redraw();
  }

  function answerChosen(verb, label, isNew) {
    const places = [...chosen];
    if (!places.length || !can("label")) return;
    const before = points;
    const samples = places.map((point) => points.numbers[point]);
    answer({
      verb,
      label,
      isNew,
      samples,
      field,
      apply() {
        points = without(before, new Set(places));
        choose([]);
        describe();
      },
      revert() {
        points = before;
        choose(places);
        describe();
      },
      after: sync,
      undone: sync,
      /** Others have answered these: they are no unknowns of the map any more. */
      taken(answered) {
        const gone = new Set(answered);
        const left = places.filter((point) => !gone.has(before.numbers[point])).map((point) => before.numbers[point]);
        points = without(before, new Set(places.filter((point) => gone.has(before.numbers[point]))));
        const still = new Set(left);
        choose(Array.from(points.numbers.keys()).filter((point) => point >= points.known && still.has(points.numbers[point])));
        describe();
      },
    });
  }

  function describe() {
    const unknown = points.total - points.known;
    words.textContent =
      `${whole(points.known)} known samples of ${count(classes.length, "class", "classes")}, by colour; ${whole(unknown)} unknown ones, as crosses. ` +
      "Draw around unknowns to choose them; shift and drag moves, the wheel zooms; with the keyboard arrows, + and −.";
  }

  async function load() {
    const state = stateOf(standing());
    try {
      const [bytes, names] = await Promise.all([getBytes("/v1/map"), get("/v1/map/classes")]);
      points = readPoints(bytes);
      loadedAt = state;
      classes = names.classes;
      middles = middlesOf(points);
      choose([]);
      describe();
      image = null;
      resize();
    } catch (error) {
      words.textContent = "There is no map.";
      complain(error);
    }
  }

  // What was answered or learned since it was drawn is not where it was.
  return { show: () => (points && loadedAt === stateOf(standing()) ? resize() : load()) };
}

function stateOf(status) {
  return status && `${status.live} ${status.events}`;
}

function without(points, gone) {
  const keep = [];
  for (let point = 0; point < points.total; point += 1) if (!gone.has(point)) keep.push(point);
  const pick = (values) => values.constructor.from(keep, (point) => values[point]);
  const { known, x, y, classes, numbers } = points;
  return { known, total: keep.length, x: pick(x), y: pick(y), classes: pick(classes), numbers: pick(numbers) };
}
