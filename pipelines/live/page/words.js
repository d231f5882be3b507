// SPDX-License-Identifier: MIT
// Words for a detector that finds what they name, and what became of each phrase.

import { $, make, say } from './dom.js';
import { editName, showName } from './names.js';

const field = $('words-of');
const says = {
  looking: () => 'looking',
  found: () => 'found',
  missing: ({ best, threshold }) => `not found: best score ${best.toFixed(2)}, ${threshold.toFixed(2)} is expected`,
};

export class Words {
  constructor(ask) {
    editName(field, (of) => ask('words', { of }));
    $('words').addEventListener('submit', (e) => {
      e.preventDefault();
      field.blur();
    });
  }

  // Of a state; undefined: there is no detector that takes words.
  show(words) {
    $('words').hidden = !words;
    if (!words) return;
    showName(field, words.of);
    $('words-refused').hidden = !words.refused;
    while ($('phrases').children.length > words.phrases.length) $('phrases').lastChild.remove();
    words.phrases.forEach((phrase, i) => {
      const item = $('phrases').children[i] ?? $('phrases').appendChild(make('li'));
      item.className = phrase.state;
      say(item, `${phrase.phrase}: ${says[phrase.state](phrase)}`);
    });
  }
}
