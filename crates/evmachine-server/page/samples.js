// Samples as the person sees them: a picture, a text, or a drawing of the features.

import { get, pictureSource } from "./api.js";
import { drawing, reachOf } from "./drawing.js";
import { make } from "./elements.js";

const AT_ONCE = 6;
const MOST_KEPT = 5_000;
const features = new Map();
const wanted = new Map();
let running = 0;
let reach = 0;

/** The features of a sample, fetched once. */
function featuresOf(sample) {
  if (features.has(sample)) return Promise.resolve(features.get(sample));
  const asked = wanted.get(sample) ?? {};
  asked.promise ??= new Promise((resolve) => {
    asked.resolve = resolve;
  });
  wanted.set(sample, asked);
  next();
  return asked.promise;
}

function next() {
  for (const [sample, asked] of wanted) {
    if (running >= AT_ONCE) return;
    if (asked.started) continue;
    asked.started = true;
    running += 1;
    get(`/v1/samples/${sample}`)
      .then((found) => keep(sample, found.features ?? []), () => [])
      .then(asked.resolve)
      .finally(() => {
        wanted.delete(sample);
        running -= 1;
        next();
      });
  }
}

function keep(sample, found) {
  if (features.size > MOST_KEPT) features.delete(features.keys().next().value);
  features.set(sample, found);
  return found;
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    featuresOf(Number(target.dataset.sample)).then((found) => paint(target, found));
  }
});

function paint(place, found) {
  if (!found.length) return;
  // Grows with what is seen; drawings of a group differ in their sizes, not in their scale.
  reach = Math.max(reach, reachOf([found]));
  place.replaceChildren(drawing(found, reach));
}

/** What is shown of a member of a group. */
export function faceOf(member) {
  if (member.picture) {
    const done = ({ target }) => URL.revokeObjectURL(target.src);
    const image = make("img", { class: "face", alt: "", decoding: "async", onload: done });
    pictureSource(member.sample).then((source) => image.setAttribute("src", source), () => image.remove());
    return image;
  }
  if (member.text) return make("span", { class: "face text" }, member.text);
  const place = make("span", { class: "face", "data-sample": member.sample });
  if (member.features) keep(member.sample, member.features);
  if (features.has(member.sample)) paint(place, features.get(member.sample));
  else seen.observe(place);
  return place;
}

/** A link to the original, if it is one that a browser may follow. */
export function linkOf(member) {
  if (!member.link || !/^https?:\/\//i.test(member.link)) return null;
  return make("a", { href: member.link, target: "_blank", rel: "noopener noreferrer" }, "original");
}
