// Numbers and times as a person reads them.

const counts = new Intl.NumberFormat("en");

/** `count(1, "sample")` is "1 sample", `count(1200, "sample")` "1,200 samples". */
export function count(number, noun, plural = `${noun}s`) {
  return `${counts.format(number)} ${number === 1 ? noun : plural}`;
}

export function whole(number) {
  return counts.format(number);
}

export function distance(value) {
  return Number.isFinite(value) ? value.toPrecision(3) : "–";
}

/** Support to two places with its sign, which is the decision: known at 0 and above. */
export function support(value) {
  if (!Number.isFinite(value)) return "–";
  const sign = value < 0 ? "−" : "+";
  const size = Math.abs(value);
  if (size > 1e300) return `${sign}∞`;
  return size > 0 && size < 0.005 ? `${sign}< 0.01` : `${sign}${size.toFixed(2)}`;
}

export function percent(share) {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

/** Seconds since 1970, as the clock on the wall says them; with the day where it is not today's. */
export function moment(seconds) {
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  if (date.toDateString() === new Date().toDateString()) return time;
  return `${date.toLocaleDateString([], { year: "numeric", month: "short", day: "numeric" })}, ${time}`;
}

/** The beginning of a version's hash. */
export function version(hash) {
  return hash ? hash.slice(0, 8) : "–";
}

/** A name that may be long, cut in its middle: both ends tell it. */
export function short(name, most = 40) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const half = Math.floor((most - 1) / 2);
  return `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
}

/** What a sample is called: what its owner calls it, or its number. */
export function sampleName(member) {
  return member.id ?? `sample ${member.sample ?? member.number}`;
}

/** What a button says that shows a sample closely: the text that is seen on it, or the name. */
export function lookLabel(member) {
  return `Look at ${member.text && !member.picture ? member.text : sampleName(member)}`;
}
