// SPDX-License-Identifier: MIT
// A line of the last values, for trends; the figure beside it has the number.

const length = 160;

export class Graph {
  #shapes; // the area and the line above it
  #values = [];

  constructor(svg) {
    this.#shapes = svg.children;
  }

  add(value) {
    const values = this.#values;
    values.push(value);
    if (values.length > length) values.shift();
    const most = Math.max(...values, 1e-6) * 1.15, left = length - values.length;
    const line = values.map((v, i) => `${left + i},${100 - 100 * v / most}`).join(' ');
    this.#shapes[0].setAttribute('points', `${left},100 ${line} ${length - 1},100`);
    this.#shapes[1].setAttribute('points', line);
  }
}
