// SPDX-License-Identifier: MIT
// What a download would hold, and the links to it.

const size = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

function span(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export class Annotations {
  #links;
  #kept;
  #loss;
  #where;
  hello = {}; // what the program says where it keeps things

  constructor(coco, lines, kept, loss, where) {
    this.#links = { json: coco, jsonl: lines };
    this.#kept = kept;
    this.#loss = loss;
    this.#where = where;
  }

  show(camera, a) {
    for (const [ending, link] of Object.entries(this.#links)) {
      const href = `annotations/${encodeURIComponent(camera)}.${ending}`;
      if (!a.frames) link.removeAttribute('href');
      else if (link.getAttribute('href') !== href) link.href = href;
    }
    this.#kept.textContent = a.frames ? `${a.frames} tracked frames in ${span(a.seconds)}, ${size(a.bytes)}` +
      (a.forgotten ? '; older ones are given up' : '') : a.mostBytes ? 'Tracked frames are kept for a download.' :
      'No annotations are kept.';
    const { folder, keepTracks } = this.hello;
    const kinds = [...(a.mostBytes ? [`annotations (at most ${size(a.mostBytes)})`] : []), 'saves',
      ...(keepTracks ? ['objects with their names (every minute)'] : [])];
    const where = `Kept over restarts in ${folder} of the server: ${kinds.join(', ')}.`;
    if (this.#where.textContent !== where) this.#where.textContent = where;
    this.#loss.hidden = !a.lost;
    this.#loss.textContent = `${a.lost} frames are missing. ${a.fault}`;
  }
}
