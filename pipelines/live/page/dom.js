// SPDX-License-Identifier: MIT
// What all parts of the page do with elements.

export const $ = (id) => document.getElementById(id);

// An element with these properties and children.
export function make(tag, fields = {}, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children);
  return element;
}

// A copy of a template's element, and its parts by their data-part. '*' in their titles becomes `name`; those of buttons are read aloud.
export function stamp(template, name) {
  const item = $(template).content.firstElementChild.cloneNode(true), parts = { item };
  for (const part of item.querySelectorAll('[data-part]')) {
    parts[part.dataset.part] = part;
    part.title = part.title.replace('*', name);
    if (part.matches('button, input')) part.setAttribute('aria-label', part.title);
  }
  return parts;
}

// What a script of its own makes, which comes when it is used first. now: it, once it is there; use(act) calls act(it).
export function later(load, make) {
  let coming = null;
  const it = { now: null, use: async (act) => {
    coming ??= load().then((script) => { it.now = make(script); });
    // The program may be away just now.
    await coming.catch(() => { coming = null; });
    if (it.now) act(it.now);
  } };
  return it;
}

// One of several buttons is pressed.
export function press(group, value) {
  for (const button of group.children) button.setAttribute('aria-pressed', button.value === String(value));
}

// Texts of a state come seven times a second: one that is the same stays, so that it is not read aloud again.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Returns the context of a canvas of that size.
export function resize(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  return canvas.getContext('2d');
}

// The same, cleared and in CSS pixels of a canvas that is sharp on the screen.
export function clear(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const c = resize(canvas, Math.round(width * ratio), Math.round(height * ratio));
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  return c;
}
