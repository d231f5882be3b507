// SPDX-License-Identifier: MIT
// The page of samtrack-live.

import { Annotations } from './annotations.js';
import { Answers } from './answers.js';
import { Graph } from './graph.js';
import { Hover } from './hover.js';
import { Link } from './link.js';
import { Objects } from './objects.js';
import { Pointer } from './pointer.js';
import { Saves } from './saves.js';
import { Video } from './video.js';
import { View } from './view.js';

const $ = (id) => document.getElementById(id);
const link = new Link();
const view = new View($('stage'), $('picture'), $('overlay'));
const video = new Video(link, $('video'), (...frame) => view.addFrame(...frame));
const objects = new Objects($('objects'), $('empty'), $('count'), ask, view);
const annotations = new Annotations($('coco'), $('lines'), $('kept'), $('loss'), $('where'));
const answers = new Answers($('answers'), ask);
const saves = new Saves($('saves'), $('save-form'), $('save-name'), $('save-list'), ask, tell);
const graphs = { delay: new Graph($('delay-graph')), age: new Graph($('age-graph')), rate: new Graph($('rate-graph')) };
const hover = new Hover(view, link);
const pointer = new Pointer($('stage'), $('marks'), view, prompt, (id) => objects.select(id), (at) => hover.at(at));
const silentMs = 4000; // the program tells its state seven times a second
let heard = 0; // ms
let camera = '';
let kind = 'webrtc';
let width = null;
let noticeTimer = 0;
let undone = null; // {n, text, large} of the last state: what would be undone

// undo: the number of the step that a button undoes.
function tell(text, undo = 0) {
  $('notice').firstChild.textContent = text;
  $('notice-undo').value = undo;
  $('notice-undo').hidden = !undo;
  $('notice').hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { $('notice').hidden = true; }, undo ? 10000 : 4000);
}

// What a page keeps for itself; a browser may forbid it.
function keep(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(`samtrack-${name}`, value);
    return localStorage.getItem(`samtrack-${name}`);
  } catch {
    return null;
  }
}

async function ask(op, fields = {}) {
  const reply = await link.ask(op, fields);
  if (reply.type === 'refused') tell(reply.why);
  return reply;
}

function endHint() {
  $('hint').classList.add('done');
  keep('hinted', 'yes');
}

async function prompt(op, fields, correct = false) {
  endHint();
  if (correct && !objects.selected) {
    tell('Select an object first.');
    return;
  }
  if (correct && objects.isLocked(objects.selected)) {
    tell('The object is locked.');
    return;
  }
  const reply = await ask(op, correct ? { ...fields, id: objects.selected } : fields);
  if (reply.type === 'done') objects.select(reply.id);
}

// For the selected object, unless it is locked.
function askSelected(op) {
  if (!objects.selected) return;
  if (objects.isLocked(objects.selected)) tell('The object is locked.');
  else ask(op, { id: objects.selected });
}

// Those that are locked stay.
async function clear() {
  const open = objects.ids.filter((id) => !objects.isLocked(id));
  if (open.length === objects.ids.length) await ask('clear');
  else for (const id of open) await ask('remove', { id });
}

// n: the step that is meant; 0: whatever was done last.
async function undo(n) {
  const { text } = undone ?? {};
  const reply = await ask('back', n ? { n } : {});
  if (reply.type === 'done') tell(`Undone: ${text}.`);
}

// Whoever removes or replaces something, here or in another page, can take it back.
function showUndo(step) {
  $('undo').disabled = !step.n;
  $('undo').title = step.n ? `Undo: ${step.text} (Ctrl-Z)` : 'There is nothing to undo';
  if (undone && step.n > undone.n && step.large) tell(`${step.text[0].toUpperCase()}${step.text.slice(1)}.`, step.n);
  undone = step;
}

function showCameras(names) {
  $('cameras').replaceChildren(...names.map((name) => {
    const button = Object.assign(document.createElement('button'), { textContent: name, type: 'button' });
    button.setAttribute('aria-pressed', name === camera);
    button.addEventListener('click', () => watch(name, names));
    return button;
  }));
  $('cameras').hidden = names.length < 2;
}

function watch(name, names) {
  camera = name;
  undone = width = null;
  showCameras(names);
  view.reset();
  video.watch(camera, kind);
}

const isOpen = () => ['live', 'waiting', 'gone'].includes(document.body.dataset.state);

// What the page is in, as index.html has its words. Values that are not of now go.
function showState(name, why = '') {
  document.body.dataset.state = name;
  $('link').lastElementChild.textContent = $('link').dataset[name];
  $('stage').classList.toggle('dim', !isOpen());
  const text = `${$('banner').dataset[name] ?? ''} ${why}`.trim();
  $('banner').hidden = !text;
  if ($('banner').textContent !== text) $('banner').textContent = text;
  if (isOpen()) return;
  for (const id of ['delay', 'age', 'rate']) $(id).textContent = '–';
  for (const id of ['source', 'viewers']) $(id).textContent = '';
}

// why: the program's reason, if it gave one. A page whose token is not valid any more is asked for it again.
async function showClosed(why) {
  showState(!navigator.onLine ? 'offline' : why ? 'refused' : 'lost', why && `${why}. Trying again.`);
  const answer = await fetch('./', { method: 'HEAD' }).catch(() => null);
  if (answer?.status === 401) location.reload();
}

// One of several buttons is pressed.
function press(group, value) {
  for (const button of $(group).children) button.setAttribute('aria-pressed', button.value === value);
}

function setMode(mode) {
  view.mode = mode;
  press('modes', mode);
  keep('mode', mode);
}

function setTool(tool) {
  pointer.tool = tool;
  press('hands', tool);
  $('stage').dataset.tool = tool;
}

function setLooks() {
  view.looks.opacity = $('opacity').value / 100;
  view.looks.outlines = $('outlines').checked;
  keep('opacity', $('opacity').value);
  keep('outlines', $('outlines').checked);
  view.redraw();
}

function showFigures(s) {
  const { delay, age, rate } = view.figures;
  const ms = (value) => value === null ? '–' : `${value.toFixed(0)} ms`;
  $('delay').textContent = ms(delay);
  $('age').textContent = ms(age);
  $('rate').textContent = s.objects.length ? `${rate.toFixed(1)} Hz` : '–';
  graphs.delay.add(delay ?? 0);
  graphs.age.add(age ?? 0);
  graphs.rate.add(rate);
  $('source').textContent = `camera ${s.fps.toFixed(1)} Hz${s.latencyMs ? `, encoded after ${s.latencyMs.toFixed(0)} ms` : ''}` +
    `${s.stepMs ? `, tracker's step ${s.stepMs.toFixed(1)} ms` : ''}`;
}

link.addEventListener('hello', ({ detail }) => {
  heard = performance.now();
  showState('waiting');
  kind = detail.video;
  annotations.hello = detail;
  watch(detail.cameras.includes(camera) ? camera : detail.cameras[0], detail.cameras);
});

link.addEventListener('closed', ({ detail }) => showClosed(detail));
window.addEventListener('offline', () => showState('offline'));
// A connection may be dead long before it closes.
setInterval(() => {
  if (isOpen() && performance.now() - heard > silentMs) showState('lost');
}, 1000);
link.addEventListener('notice', ({ detail }) => tell(detail.text));
link.addEventListener('masks', ({ detail }) => view.addMasks(detail));

link.addEventListener('state', ({ detail: s }) => {
  if (s.camera !== camera) return;
  // The source gave its first frame: there was nothing to connect to before.
  if (width === 0 && s.width) video.watch(camera, kind);
  width = s.width;
  view.setClock(s.us);
  view.setObjects(s.objects, !!s.fault);
  objects.show(s.objects);
  answers.show(s.objects.find((o) => o.id === objects.selected));
  showUndo(s.undo);
  annotations.show(camera, s.annotations);
  heard = performance.now();
  showState(s.fault ? 'gone' : view.shown ? 'live' : 'waiting', s.fault);
  if (s.objects.length) $('hint').classList.add('done');
  if (s.width && s.height) $('stage').style.aspectRatio = `${s.width} / ${s.height}`;
  showFigures(s);
  $('viewers').textContent = s.viewers > 1 ? `${s.viewers} pages are open; they see the same objects.` : '';
});

$('open-saves').addEventListener('click', () => {
  saves.toggle();
  $('open-saves').setAttribute('aria-expanded', !$('saves').hidden);
});
$('undo').addEventListener('click', () => undo(undone?.n));
$('notice-undo').addEventListener('click', () => {
  undo(Number($('notice-undo').value));
  $('notice').hidden = true;
});
$('clear').addEventListener('click', clear);
$('modes').addEventListener('click', (e) => e.target.value && setMode(e.target.value));
$('hands').addEventListener('click', (e) => e.target.value && setTool(e.target.value));
$('opacity').addEventListener('input', setLooks);
$('outlines').addEventListener('input', setLooks);
$('opacity').value = keep('opacity') ?? 45;
$('outlines').checked = keep('outlines') === 'true';
setLooks();
setMode(keep('mode') === 'live' ? 'live' : 'sync');
setTool('select');
if (keep('hinted')) $('hint').classList.add('done');

const keys = {
  ArrowUp: () => objects.step(-1),
  ArrowDown: () => objects.step(1),
  Enter: () => !objects.isLocked(objects.selected) && objects.rename(),
  Delete: () => askSelected('remove'),
  Backspace: () => askSelected('remove'),
  Escape: () => setTool('select'),
  '+': () => setTool('add'),
  '-': () => setTool('take'),
  a: () => answers.cycle(),
  u: () => askSelected('undo'),
  h: () => objects.cycleLook(objects.selected),
  k: () => objects.toggleLock(objects.selected),
  m: () => setMode(view.mode === 'sync' ? 'live' : 'sync'),
  c: clear,
  s: () => saves.save(),
  l: () => saves.restore(),
  '?': () => { $('keys').open = !$('keys').open; },
};

document.addEventListener('keydown', (e) => {
  const act = e.key === 'z' && (e.ctrlKey || e.metaKey) ? () => undo(0) : keys[e.key];
  const elsewhere = e.target.closest('input, button, summary') &&
    (e.key === 'Enter' || e.target.matches('input:not([type="range"], [type="checkbox"])'));
  if (!act || ((e.ctrlKey || e.metaKey) && e.key !== 'z') || e.altKey || elsewhere) return;
  e.preventDefault();
  act();
});
