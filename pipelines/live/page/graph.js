// SPDX-License-Identifier: MIT
// A line of the last values, for trends; the figure beside it has the number.

const length = 160;

export class Graph {
  #canvas;
  #values = [];

  constructor(canvas) {
    this.#canvas = canvas;
  }

  add(value) {
    this.#values.push(value);
    if (this.#values.length > length) this.#values.shift();
    this.#draw();
  }

  #draw() {
    const ratio = window.devicePixelRatio || 1;
    const w = this.#canvas.clientWidth, h = this.#canvas.clientHeight;
    const c = this.#canvas.getContext('2d');
    const most = Math.max(...this.#values, 1e-6) * 1.15;
    if (this.#canvas.width !== Math.round(w * ratio)) this.#canvas.width = Math.round(w * ratio);
    if (this.#canvas.height !== Math.round(h * ratio)) this.#canvas.height = Math.round(h * ratio);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, h);
    c.beginPath();
    this.#values.forEach((v, i) => {
      const x = w - (this.#values.length - 1 - i) * w / (length - 1);
      c.lineTo(x, h - 2 - v / most * (h - 4));
    });
    const colour = getComputedStyle(this.#canvas).getPropertyValue('--accent');
    c.strokeStyle = colour;
    c.lineWidth = 1.5;
    c.lineJoin = 'round';
    c.stroke();
    c.lineTo(w, h);
    c.lineTo(w - (this.#values.length - 1) * w / (length - 1), h);
    c.globalAlpha = 0.12;
    c.fillStyle = colour;
    c.fill();
    c.globalAlpha = 1;
  }
}
