// SPDX-License-Identifier: MIT
// A film of what is seen, the picture with its masks, from one press of the button to the next. The page makes and holds all of it.

import { $, make } from './dom.js';

const types = ['video/mp4;codecs=avc1', 'video/webm;codecs=vp9', 'video/webm']; // the best that the browser has
const mostBytes = 256e6; // then it ends
const bitsPerPixel = 6; // a second: of a still camera and of masks, whose edges are to stay sharp
const button = $('film');
const label = button.textContent;

export class Film {
  #view;
  #tell;
  #canvas = make('canvas');
  #recorder = null;

  // tell(text): to whoever looks at the page.
  constructor(view, tell) {
    this.#view = view;
    this.#tell = tell;
  }

  toggle(camera) {
    if (this.#recorder) this.#stop();
    else if (this.#view.shown) this.#begin(camera);
    else this.#tell('There is no picture to record yet.');
  }

  #begin(camera) {
    const { width, height } = this.#view.shown, even = (n) => n + n % 2; // encoders want it
    Object.assign(this.#canvas, { width: even(width), height: even(height) });
    const mimeType = types.find((type) => MediaRecorder.isTypeSupported(type)), parts = [];
    const recorder = this.#recorder = new MediaRecorder(this.#canvas.captureStream(),
      { mimeType, videoBitsPerSecond: bitsPerPixel * width * height });
    let bytes = 0, seconds = 0;
    const timer = setInterval(() => this.#show(`Stop and download: ${++seconds} s`), 1000);
    recorder.ondataavailable = ({ data }) => {
      parts.push(data);
      bytes += data.size;
      if (bytes > mostBytes) this.#stop();
    };
    recorder.onerror = ({ error }) => this.#tell(`The film ends: ${error?.message ?? 'the browser cannot record it'}.`);
    recorder.onstop = () => {
      clearInterval(timer);
      this.#end(camera, new Blob(parts, { type: mimeType.split(';')[0] }));
    };
    recorder.start(1000);
    this.#view.film = (at) => at ? this.#take(at) : this.#stop();
    this.#show('Stop and download: 0 s');
    this.#view.redraw(); // a picture that stands still is a film, too
  }

  #stop() {
    if (this.#recorder.state !== 'inactive') this.#recorder.stop();
  }

  // at: where the picture lies on the screen.
  #take({ left, top, width, height }) {
    const c = this.#canvas.getContext('2d'), all = [0, 0, this.#canvas.width, this.#canvas.height];
    const ratio = window.devicePixelRatio || 1;
    c.drawImage($('picture'), ...all);
    c.drawImage($('overlay'), ...[left, top, width, height].map((px) => px * ratio), ...all);
  }

  #show(text) {
    button.textContent = text;
    button.setAttribute('aria-pressed', this.#recorder !== null);
  }

  #end(camera, film) {
    this.#recorder = this.#view.film = null;
    this.#show(label);
    if (!film.size) return;
    const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-'), href = URL.createObjectURL(film);
    make('a', { href, download: `${camera}.${time}.${film.type.split('/')[1]}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
  }
}
