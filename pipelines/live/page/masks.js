// SPDX-License-Identifier: MIT
// The program's messages of masks, and their outlines as smooth curves.

const states = ['new', 'tracked', 'occluded', 'lost', 'found'];
const version = 1;
const preview = 2; // instead
const turns = [[1, 0], [0, 1], [-1, 0], [0, -1]]; // right, down, left, up
const around = [[0, 0], [-1, 0], [-1, -1], [0, -1]]; // the pixels at a corner: right of one who goes in each of these ways

class Reader {
  #bytes;
  #at = 0;

  constructor(buffer) {
    this.#bytes = new Uint8Array(buffer);
  }

  number() {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined || scale > 2 ** 49) throw new RangeError('a message of masks is too short');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  numbers(n) {
    return Array.from({ length: n }, () => this.number());
  }

  signed() {
    const n = this.number();
    return n & 1 ? -(n + 1) / 2 : n / 2;
  }
}

// Ends of runs, row by row: where the mask begins, where it ends, and so on.
function readRows(reader) {
  const y = reader.number(), rows = [];
  let above = [];
  for (let n = reader.number(); n > 0; n--) {
    const ends = new Array(2 * reader.number());
    for (let i = 0; i < ends.length; i++)
      ends[i] = reader.signed() + (ends.length === above.length ? above[i] : i ? ends[i - 1] : 0);
    rows.push(ends);
    above = ends;
  }
  return { y, rows };
}

function measure({ y, rows }) {
  let left = Infinity, right = 0, area = 0;
  for (const ends of rows) {
    if (!ends.length) continue;
    left = Math.min(left, ends[0]);
    right = Math.max(right, ends.at(-1));
    for (let i = 0; i < ends.length; i += 2) area += ends[i + 1] - ends[i];
  }
  return { x: left, y, w: right - left, h: rows.length, area };
}

// An object's pixels with a margin of one, as bytes.
function fill({ rows }, { x, y, w, h }) {
  const width = w + 2, cells = new Uint8Array(width * (h + 2));
  rows.forEach((ends, row) => {
    const at = (row + 1) * width + 1 - x;
    for (let i = 0; i < ends.length; i += 2) cells.fill(1, at + ends[i], at + ends[i + 1]);
  });
  return { cells, width, x, y, w, h };
}

// Follows the edge between pixels, with the mask on the right; what touches at a corner is apart.
function follow(f, x, y, seen) {
  const index = (cx, cy) => (cy + 1) * f.width + cx + 1;
  const at = ([dx, dy]) => f.cells[index(x + dx, y + dy)];
  const begin = [x, y], points = [];
  let turn = 0;
  do {
    points.push(x, y);
    if (turn === 0) seen[index(x, y)] = 1;
    x += turns[turn][0];
    y += turns[turn][1];
    const left = (turn + 3) % 4;
    if (!at(around[turn])) turn = (turn + 1) % 4;
    else if (at(around[left])) turn = left;
  } while (x !== begin[0] || y !== begin[1] || turn !== 0);
  return points;
}

// The mean of 2 r + 1 neighbours.
function smooth(points, r) {
  const n = points.length / 2, out = new Float32Array(2 * n);
  for (let c = 0; c < 2; c++) {
    let sum = 0;
    for (let i = -r; i <= r; i++) sum += points[2 * ((i + n * r) % n) + c];
    for (let i = 0; i < n; i++) {
      out[2 * i + c] = sum / (2 * r + 1);
      sum += points[2 * ((i + r + 1) % n) + c] - points[2 * ((i - r + n) % n) + c];
    }
  }
  return out;
}

function draw(f) {
  const path = new Path2D(), seen = new Uint8Array(f.cells.length);
  for (let y = 0; y < f.h; y++) {
    for (let x = 0; x < f.w; x++) {
      const i = (y + 1) * f.width + x + 1;
      if (!f.cells[i] || f.cells[i - f.width] || seen[i]) continue;
      let points = follow(f, x, y, seen);
      const r = points.length > 64 ? 3 : points.length > 24 ? 2 : 1;
      points = smooth(smooth(points, r), r);
      for (let k = 0; k < points.length; k += 4)
        path[k ? 'lineTo' : 'moveTo'](f.x + points[k], f.y + points[k + 1]);
      path.closePath();
    }
  }
  return path;
}

// A mask in pixels of the label map: x, y, w, h, area. Its path is made when it is asked for: most masks wait for a frame.
class Mask {
  #rows;
  #filled = null;
  #path = null;

  constructor(rows) {
    this.#rows = rows;
    Object.assign(this, measure(rows));
  }

  get #cells() {
    return this.#filled ??= fill(this.#rows, this);
  }

  get path() {
    return this.#path ??= draw(this.#cells);
  }

  // Whether a pixel is in it.
  has(x, y) {
    const f = this.#cells, cx = Math.floor(x) - f.x, cy = Math.floor(y) - f.y;
    return cx >= 0 && cy >= 0 && cx < f.w && cy < f.h && f.cells[(cy + 1) * f.width + cx + 1] === 1;
  }
}

// null: it has no pixel.
function readMask(reader) {
  const rows = readRows(reader);
  return rows.rows.length ? new Mask(rows) : null;
}

export const isPreview = (buffer) => new Uint8Array(buffer)[0] === preview;

// What a click would take: {re, rtp, us, width, height, mask}; mask is null if that is nothing.
export function parsePreview(buffer) {
  const reader = new Reader(buffer);
  const [, re, rtp, us, width, height] = reader.numbers(6);
  return { re, rtp, us, width, height, mask: readMask(reader) };
}

// {n, rtp, us, now, width, height, objects: [{id, slot, state, behind, mask}]}; mask is null where none is seen. rtp and us are
// the time of the frame that the masks are of, now the program's time.
export function parseMasks(buffer) {
  const reader = new Reader(buffer);
  if (reader.number() !== version) throw new RangeError('a message of masks has another version');
  const [n, rtp, us, now, width, height, count] = reader.numbers(7);
  const objects = [];
  for (let i = 0; i < count; i++) {
    const [id, slot, state, behind] = reader.numbers(4);
    objects.push({ id, slot, state: states[state] ?? 'tracked', behind, mask: readMask(reader) });
  }
  return { n, rtp, us, now, width, height, objects };
}
