// SPDX-License-Identifier: MIT
// What a click may have meant, to choose from.

import { $, press } from './dom.js';

const buttons = [...$('answers').children]; // by area

export class Answers {
  #ask;
  #id = 0;
  #count = 0;
  #taken = 0;
  #waits = 0; // the one that was asked for

  constructor(ask) {
    this.#ask = ask;
    $('answers').addEventListener('click', (e) => e.target.value && this.#take(Number(e.target.value)));
  }

  // Of the selected object of a state; undefined: there is none.
  show({ id = 0, answers = [], taken = 0 } = {}) {
    if (id !== this.#id || taken === this.#waits || taken !== this.#taken) this.#waits = 0;
    this.#id = id;
    this.#count = answers.length;
    this.#taken = taken;
    $('answers').hidden = !answers.length;
    press($('answers'), this.#waits || taken);
    buttons.forEach((button, i) => { button.hidden = i >= answers.length; });
    answers.forEach(({ area, iou }, i) => {
      buttons[i].title = `${buttons[i].textContent}: ${area} pixels, sure by ${iou.toFixed(2)} (A takes the next one)`;
    });
  }

  // The next one, after the last the first.
  cycle() {
    if (this.#count) this.#take((this.#waits || this.#taken) % this.#count + 1);
  }

  async #take(answer) {
    this.#waits = answer;
    press($('answers'), answer);
    const reply = await this.#ask('take', { id: this.#id, answer });
    if (reply.type !== 'done') this.#waits = 0;
  }
}
