// SPDX-License-Identifier: MIT
// Draws masks, names and marks over the picture, in pixels of the screen.

import { colourOf } from './colours.js';
import { clear } from './dom.js';

const paleMs = 1500; // masks of that age are as pale as they get
const palest = 0.35;
const margin = 0.02; // of the picture: an object that was so near to its edge has left there
const mostText = 170; // px

export class Drawing {
  #canvas;
  #c;
  #box; // the stage, px
  #at; // where the picture lies in it: left, top, width, height, px
  #seen = new Map(); // id -> box in the picture, 0 to 1, where it was seen last
  objects = new Map();
  selected = 0;
  hovered = 0;
  opacity = 0.45;
  outlines = false; // for all objects
  preview = null; // what a click would take, as parsePreview() returns it
  shapes = []; // zones and lines: {points: [{x, y}], 0 to 1, closed, text, draft}
  styles = new Map(); // id -> {look: 'fill', 'outline' or 'hidden', locked}

  constructor(canvas) {
    this.#canvas = canvas;
  }

  forget() {
    this.#seen.clear();
    this.preview = null;
  }

  styleOf(id) {
    return this.styles.get(id) ?? { look: 'fill', locked: false };
  }

  #isHidden(o) {
    return this.styleOf(o.id).look === 'hidden';
  }

  find(masks, x, y) {
    const hits = masks.objects.filter((o) => o.mask?.has(x * masks.width, y * masks.height) && !this.#isHidden(o) &&
      !this.styleOf(o.id).locked);
    return hits.sort((a, b) => a.mask.area - b.mask.area)[0]?.id ?? 0;
  }

  clear(box) {
    this.#box = box;
    this.#c = clear(this.#canvas, box.width, box.height);
  }

  // at: where the picture lies in the box. age: ms. gone: the camera gives nothing, so that nothing is where it was.
  draw(box, at, masks, age, gone) {
    this.clear(box);
    this.#at = at;
    if (this.preview?.mask && !gone) this.#drawPreview(this.preview);
    const names = masks ? this.#drawMasks(masks, age, gone) : () => {};
    this.shapes.filter(({ points }) => points.length).map((shape) => this.#drawShape(shape)).forEach((tag) => this.#drawTag(...tag));
    names();
  }

  // Returns what draws the names, which nothing is to be drawn over.
  #drawMasks(masks, age, gone) {
    const pale = Math.max(1 - age / paleMs, palest);
    const drawn = masks.objects.filter((o) => !this.#isHidden(o)), there = drawn.filter((o) => o.mask && !gone);
    for (const o of there) {
      const { x, y, w, h } = o.mask, { width, height } = masks;
      this.#seen.set(o.id, { left: x / width, top: y / height, right: (x + w) / width, bottom: (y + h) / height });
      this.#drawMask(o, masks, o.behind ? pale / 2 : pale);
    }
    return () => {
      there.forEach((o) => this.#drawName(o, pale));
      drawn.filter((o) => !there.includes(o)).forEach((o) => this.#drawLost(o));
    };
  }

  // Draws in pixels of a label map; paint(c, px): px is one of the screen.
  #stretch({ width, height }, paint) {
    const c = this.#c, at = this.#at;
    c.save();
    c.translate(at.left, at.top);
    c.scale(at.width / width, at.height / height);
    c.lineJoin = 'round';
    paint(c, width / at.width);
    c.restore();
  }

  #drawPreview(preview) {
    this.#stretch(preview, (c, px) => {
      c.fillStyle = '#fff';
      c.globalAlpha = 0.16;
      c.fill(preview.mask.path, 'evenodd');
      c.globalAlpha = 0.9;
      for (const [colour, dashes, width] of [['#000', [], 3], ['#fff', [6, 4], 2]]) {
        c.strokeStyle = colour;
        c.setLineDash(dashes.map((n) => n * px));
        c.lineWidth = width * px;
        c.stroke(preview.mask.path);
      }
    });
  }

  #drawMask(o, masks, pale) {
    const { path } = o.mask, colour = colourOf(o.slot);
    const picked = o.id === this.selected, near = o.id === this.hovered;
    const plain = this.outlines || this.styleOf(o.id).look === 'outline';
    this.#stretch(masks, (c, px) => {
      c.fillStyle = colour;
      if (!plain || near) {
        c.globalAlpha = pale * Math.min(plain ? 0.2 : this.opacity + (near ? 0.15 : 0), 1);
        c.fill(path, 'evenodd');
      }
      c.globalAlpha = pale;
      for (const [line, width] of [...(picked ? [['#fff', 5]] : []), [colour, picked || near ? 3 : 2]]) {
        c.strokeStyle = line;
        c.lineWidth = width * px;
        c.stroke(path);
      }
    });
  }

  // Returns its tag, which no other shape is to be drawn over.
  #drawShape({ points, closed, text, draft }) {
    const c = this.#c, at = this.#at, corners = points.map(({ x, y }) => [at.left + x * at.width, at.top + y * at.height]);
    const path = new Path2D();
    for (const corner of corners) path.lineTo(...corner);
    if (closed) path.closePath();
    c.save();
    c.lineJoin = c.lineCap = 'round';
    c.fillStyle = '#fff2';
    if (closed) c.fill(path);
    for (const [colour, width] of [['#0009', 4], ['#fff', 2]]) {
      c.strokeStyle = colour;
      c.lineWidth = width;
      c.stroke(path);
    }
    c.fillStyle = '#fff';
    for (const [x, y] of draft ? corners : []) c.fillRect(x - 4, y - 4, 8, 8);
    c.restore();
    const [x, y] = corners.reduce((a, b) => a[1] < b[1] ? a : b);
    return [text, '#fff', x, y - 6, 1];
  }

  #cut(text) {
    const isLong = (shown) => this.#c.measureText(shown).width > mostText;
    if (!isLong(text)) return text;
    const letters = [...text.slice(0, 200)];
    while (letters.length && isLong(`${letters.join('')}…`)) letters.pop();
    return `${letters.join('')}…`;
  }

  // A tag with its middle at x, as far as it has room. bottom: of its lower edge.
  #drawTag(text, colour, x, bottom, alpha, picked) {
    if (!text) return;
    const c = this.#c, box = this.#box;
    c.save();
    c.font = `${picked ? 650 : 550} 12.5px ${getComputedStyle(this.#canvas).fontFamily}`;
    const shown = this.#cut(text), width = c.measureText(shown).width + 28, height = 22;
    const left = Math.min(Math.max(x - width / 2, 4), box.width - width - 4);
    const top = Math.min(Math.max(bottom - height, 4), box.height - height - 4);
    c.globalAlpha = Math.max(alpha, 0.6);
    c.fillStyle = picked ? '#fff' : '#000b';
    c.beginPath();
    c.roundRect(left, top, width, height, 11);
    c.fill();
    c.fillStyle = colour;
    c.beginPath();
    c.arc(left + 11, top + height / 2, 4, 0, 2 * Math.PI);
    c.fill();
    c.fillStyle = picked ? '#111' : '#fff';
    c.textBaseline = 'middle';
    c.fillText(shown, left + 20, top + height / 2 + 0.5);
    c.restore();
  }

  // Of an object; its name goes into the text.
  #drawLabel(o, text, ...where) {
    const name = this.objects.get(o.id)?.name || `object ${o.id}`;
    this.#drawTag(text.replace('*', () => name), colourOf(o.slot), ...where, o.id === this.selected);
  }

  // Where the middle of an object was seen last, and its upper edge, px.
  #locate({ left, right, top, bottom }) {
    const at = this.#at;
    return { x: at.left + (left + right) / 2 * at.width, y: at.top + (top + bottom) / 2 * at.height,
      top: at.top + top * at.height };
  }

  #drawName(o, pale) {
    const { x, top } = this.#locate(this.#seen.get(o.id));
    this.#drawLabel(o, '*', x, top - 6, pale);
  }

  // At the edge where it left, or where it was seen last.
  #drawLost(o) {
    const last = this.#seen.get(o.id);
    if (!last) return;
    const { x, y } = this.#locate(last), { width, height } = this.#box;
    const edges = [['←', last.left, 0, y + 11], ['→', 1 - last.right, width, y + 11], ['↑', last.top, x, 0],
      ['↓', 1 - last.bottom, x, height]];
    const [arrow, far, ...edge] = edges.sort((a, b) => a[1] - b[1])[0];
    if (far < margin) {
      this.#drawLabel(o, `${arrow} *`, ...edge, 1);
      return;
    }
    const c = this.#c;
    c.save();
    c.strokeStyle = colourOf(o.slot);
    c.lineWidth = 2;
    c.setLineDash([5, 5]);
    c.beginPath();
    c.arc(x, y, 16, 0, 2 * Math.PI);
    c.stroke();
    c.restore();
    this.#drawLabel(o, `* · ${o.state === 'occluded' ? 'hidden' : 'lost'}`, x, y - 22, 1);
  }
}
