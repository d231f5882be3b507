// SPDX-License-Identifier: MIT
// Draws masks, names and marks over the picture, in pixels of the screen.

import { colourOf } from './colours.js';

const paleMs = 1500; // masks of that age are as pale as they get
const palest = 0.35;
const margin = 0.02; // of the picture: an object that was so near to its edge has left there
const mostText = 170; // px

export const nameOf = (object, id) => object?.name || `object ${id}`;

export class Drawing {
  #canvas;
  #c;
  #seen = new Map(); // id -> box in the picture, 0 to 1, where it was seen last
  objects = new Map();
  selected = 0;
  hovered = 0;
  opacity = 0.45;
  outlines = false; // for all objects
  preview = null; // what a click would take, as parsePreview() returns it
  styles = new Map(); // id -> {look: 'fill', 'outline' or 'hidden', locked}

  constructor(canvas) {
    this.#canvas = canvas;
    this.#c = canvas.getContext('2d');
  }

  forget() {
    this.#seen.clear();
    this.preview = null;
  }

  styleOf(id) {
    return this.styles.get(id) ?? { look: 'fill', locked: false };
  }

  find(masks, x, y) {
    const hits = masks.objects.filter((o) => o.mask?.has(x * masks.width, y * masks.height) &&
      this.styleOf(o.id).look !== 'hidden' && !this.styleOf(o.id).locked);
    return hits.sort((a, b) => a.mask.area - b.mask.area)[0]?.id ?? 0;
  }

  clear(box) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
    if (this.#canvas.width !== width) this.#canvas.width = width;
    if (this.#canvas.height !== height) this.#canvas.height = height;
    this.#c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#c.clearRect(0, 0, box.width, box.height);
  }

  // fit: where the picture lies in the box. age: ms. gone: the camera gives nothing, so that nothing is where it was.
  draw(box, fit, masks, age, gone) {
    this.clear(box);
    if (this.preview?.mask && !gone) this.#drawPreview(this.preview, fit);
    if (!masks) return;
    const pale = Math.max(1 - age / paleMs, palest);
    const marks = [];
    for (const o of masks.objects) {
      if (this.styleOf(o.id).look === 'hidden') continue;
      if (!o.mask || gone) {
        marks.push(o);
        continue;
      }
      this.#seen.set(o.id, { left: o.mask.x / masks.width, top: o.mask.y / masks.height,
        right: (o.mask.x + o.mask.w) / masks.width, bottom: (o.mask.y + o.mask.h) / masks.height });
      this.#drawMask(o, masks, fit, o.behind ? pale / 2 : pale);
    }
    for (const o of masks.objects)
      if (o.mask && !gone && this.styleOf(o.id).look !== 'hidden') this.#drawName(o, masks, fit, box, pale);
    marks.forEach((o) => this.#drawLost(o, fit, box));
  }

  #drawPreview({ mask, width, height }, fit) {
    const c = this.#c, scale = fit.scale * fit.width / width;
    c.save();
    c.translate(fit.left, fit.top);
    c.scale(scale, fit.scale * fit.height / height);
    c.fillStyle = '#fff';
    c.globalAlpha = 0.16;
    c.fill(mask.path, 'evenodd');
    c.globalAlpha = 0.9;
    for (const [colour, dashes, width] of [['#000', [], 3], ['#fff', [6, 4], 2]]) {
      c.strokeStyle = colour;
      c.setLineDash(dashes.map((n) => n / scale));
      c.lineWidth = width / scale;
      c.stroke(mask.path);
    }
    c.restore();
  }

  #drawMask(o, masks, fit, pale) {
    const c = this.#c, { path } = o.mask, scale = fit.scale * fit.width / masks.width;
    const picked = o.id === this.selected, near = o.id === this.hovered;
    const plain = this.outlines || this.styleOf(o.id).look === 'outline';
    c.save();
    c.translate(fit.left, fit.top);
    c.scale(scale, fit.scale * fit.height / masks.height);
    c.lineJoin = 'round';
    c.fillStyle = c.strokeStyle = colourOf(o.slot);
    if (!plain || near) {
      c.globalAlpha = pale * Math.min(plain ? 0.2 : this.opacity + (near ? 0.15 : 0), 1);
      c.fill(path, 'evenodd');
    }
    c.globalAlpha = pale;
    if (picked) {
      c.lineWidth = 5 / scale;
      c.strokeStyle = '#fff';
      c.stroke(path);
      c.strokeStyle = colourOf(o.slot);
    }
    c.lineWidth = (picked || near ? 3 : 2) / scale;
    c.stroke(path);
    c.restore();
  }

  #cut(text) {
    const c = this.#c;
    if (c.measureText(text).width <= mostText) return text;
    const letters = [...text.slice(0, 200)];
    while (letters.length && c.measureText(`${letters.join('')}…`).width > mostText) letters.pop();
    return `${letters.join('')}…`;
  }

  // A tag with its middle at x, as far as it has room. below: of its lower edge.
  #drawTag(text, colour, x, bottom, box, alpha, picked) {
    const c = this.#c;
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

  #drawName(o, masks, fit, box, pale) {
    const m = o.mask, picked = o.id === this.selected;
    const x = fit.left + (m.x + m.w / 2) / masks.width * fit.width * fit.scale;
    const top = fit.top + m.y / masks.height * fit.height * fit.scale;
    this.#drawTag(nameOf(this.objects.get(o.id), o.id), colourOf(o.slot), x, top - 6, box, pale, picked);
  }

  // At the edge where it left, or where it was seen last.
  #drawLost(o, fit, box) {
    const last = this.#seen.get(o.id);
    if (!last) return;
    const name = nameOf(this.objects.get(o.id), o.id), colour = colourOf(o.slot), picked = o.id === this.selected;
    const width = fit.width * fit.scale, height = fit.height * fit.scale;
    const x = fit.left + (last.left + last.right) / 2 * width, y = fit.top + (last.top + last.bottom) / 2 * height;
    const edges = [['←', last.left, 0, y + 11], ['→', 1 - last.right, box.width, y + 11], ['↑', last.top, x, 0],
      ['↓', 1 - last.bottom, x, box.height]];
    const [arrow, far, ex, ey] = edges.sort((a, b) => a[1] - b[1])[0];
    if (far < margin) {
      this.#drawTag(`${arrow} ${name}`, colour, ex, ey, box, 1, picked);
      return;
    }
    const c = this.#c;
    c.save();
    c.strokeStyle = colour;
    c.lineWidth = 2;
    c.setLineDash([5, 5]);
    c.beginPath();
    c.arc(x, y, 16, 0, 2 * Math.PI);
    c.stroke();
    c.restore();
    this.#drawTag(`${name} · ${o.state === 'occluded' ? 'hidden' : 'lost'}`, colour, x, y - 22, box, 1, picked);
  }
}
