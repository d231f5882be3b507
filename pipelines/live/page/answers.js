// SPDX-License-Identifier: MIT
// What a click may have meant, to choose from.

const names = ['Part', 'Thing', 'Group']; // by area

export class Answers {
  #bar;
  #ask;
  #id = 0;
  #count = 0;
  #taken = 0;
  #waits = 0; // the one that was asked for

  constructor(bar, ask) {
    this.#bar = bar;
    this.#ask = ask;
    bar.addEventListener('click', (e) => e.target.value && this.#take(Number(e.target.value)));
  }

  // Of the selected object of a state; undefined: there is none.
  show(object) {
    const count = object?.answers?.length ?? 0;
    if (object?.id !== this.#id || count !== this.#count) this.#make(object, count);
    if (!count) return;
    if (object.taken === this.#waits || object.taken !== this.#taken) this.#waits = 0;
    this.#taken = object.taken;
    object.answers.forEach((answer, i) => {
      const button = this.#bar.children[i];
      button.setAttribute('aria-pressed', (this.#waits || this.#taken) === i + 1);
      button.title = `${names[i]}: ${answer.area} pixels, sure by ${answer.iou.toFixed(2)} (A takes the next one)`;
    });
  }

  // The next one, after the last the first.
  cycle() {
    if (this.#count) this.#take((this.#waits || this.#taken) % this.#count + 1);
  }

  #make(object, count) {
    this.#id = object?.id ?? 0;
    this.#count = count;
    this.#waits = 0;
    this.#bar.replaceChildren(...names.slice(0, count).map((textContent, i) =>
      Object.assign(document.createElement('button'), { type: 'button', textContent, value: i + 1 })));
    this.#bar.hidden = !count;
  }

  async #take(answer) {
    this.#waits = answer;
    for (const button of this.#bar.children) button.setAttribute('aria-pressed', Number(button.value) === answer);
    const reply = await this.#ask('take', { id: this.#id, answer });
    if (reply.type !== 'done') this.#waits = 0;
  }
}
