// Samples as the person sees them: a picture, a text, or a drawing of the features.

import { get, pictureSource } from "./api.js";
import { drawing, reachOf } from "./drawing.js";
import { make } from "./elements.js";

const AT_ONCE = 6;
const MOST_KEPT = 5_000;
const kept = new Map();
const wanted = new Map();
let running = 0;
let reach = 0;

/** A sample with its features, fetched once; nothing of it where the server does not give it. */
function sampleOf(number) {
  if (kept.has(number)) return Promise.resolve(kept.get(number));
  const asked = wanted.get(number) ?? {};
  asked.promise ??= new Promise((resolve) => {
    asked.resolve = resolve;
  });
  wanted.set(number, asked);
  next();
  return asked.promise;
}

function next() {
  for (const [number, asked] of wanted) {
    if (running >= AT_ONCE) return;
    if (asked.started) continue;
    asked.started = true;
    running += 1;
    get(`/v1/samples/${number}`)
      .then(({ features, text, picture }) => keep(number, { features: features ?? [], text, picture }), () => ({ features: [] }))
      .then(asked.resolve)
      .finally(() => {
        wanted.delete(number);
        running -= 1;
        next();
      });
  }
}

function keep(number, found) {
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  kept.set(number, found);
  return found;
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    sampleOf(Number(target.dataset.sample)).then((found) => paint(target, found));
  }
});

/** What a sample brought with it is shown as such; only one that brought nothing is drawn. */
function paint(place, found) {
  if (found.picture || found.text) {
    place.replaceWith(faceOf({ sample: Number(place.dataset.sample), ...found }));
    return;
  }
  if (!found.features.length) return;
  // Grows with what is seen; drawings of a group differ in their sizes, not in their scale.
  reach = Math.max(reach, reachOf([found.features]));
  place.replaceChildren(drawing(found.features, reach));
}

/** What is shown of a member of a group, or of a sample of which only the number is known. */
export function faceOf(member) {
  if (member.picture) {
    const done = ({ target }) => URL.revokeObjectURL(target.src);
    const image = make("img", { class: "face", alt: "", decoding: "async", onload: done });
    pictureSource(member.picture).then((source) => image.setAttribute("src", source), () => image.remove());
    return image;
  }
  if (member.text) return make("span", { class: "face text" }, member.text);
  const place = make("span", { class: "face", "data-sample": member.sample });
  if (member.features) keep(member.sample, { features: member.features });
  if (kept.has(member.sample) && !kept.get(member.sample).picture && !kept.get(member.sample).text) paint(place, kept.get(member.sample));
  else seen.observe(place);
  return place;
}

/** A link to the original, if it is one that a browser may follow. */
export function linkOf(member) {
  if (!member.link || !/^https?:\/\//i.test(member.link)) return null;
  return make("a", { href: member.link, target: "_blank", rel: "noopener noreferrer" }, "original");
}
