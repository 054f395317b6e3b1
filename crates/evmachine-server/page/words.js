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

/** P to three places; what is not zero is never shown as zero. */
export function probability(value) {
  if (!Number.isFinite(value)) return "–";
  if (value > 0 && value < 0.0005) return "< 0.001";
  return value.toFixed(3);
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

/** What a sample is called: what its owner calls it, or its number. */
export function sampleName(member) {
  return member.id ?? `sample ${member.sample ?? member.number}`;
}
