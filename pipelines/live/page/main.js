// SPDX-License-Identifier: MIT
// The page of samtrack-live.

import { showAnnotations } from './annotations.js';
import { Answers } from './answers.js';
import { $, later, make, press, say } from './dom.js';
import { Graph } from './graph.js';
import { Hover } from './hover.js';
import { Link } from './link.js';
import { Objects } from './objects.js';
import { Pointer } from './pointer.js';
import { Video } from './video.js';
import { View } from './view.js';

const link = new Link();
const view = new View();
const video = new Video(link, (...frame) => view.addFrame(...frame));
const objects = new Objects(ask, view);
const answers = new Answers(ask);
// Scripts that most visits do not need come when they are.
const saves = later(() => import('./saves.js'), ({ Saves }) => new Saves(ask, tell));
const words = later(() => import('./words.js'), ({ Words }) => new Words(ask));
const zones = later(() => import('./zones.js'), ({ Zones }) => new Zones(ask, view, () => setTool('select')));
const film = later(() => import('./film.js'), ({ Film }) => new Film(view, tell));
const hover = new Hover(view, link);
const pointer = new Pointer(view, { prompt, select: (id) => objects.select(id), look: (at) => hover.at(at),
  draw: (act) => zones.use((it) => it.draws && act(it)) });
const graphs = ['delay', 'age', 'rate'].map((id) => [id, new Graph($(`${id}-graph`))]);
const silentMs = 4000; // the program tells its state seven times a second
let hello = {}; // what the program said at first
let camera = '';
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

// Whether there is a selected object that may be changed; if not, it tells why.
function mayChange() {
  const why = !objects.selected ? 'Select an object first.' : objects.isLocked(objects.selected) ? 'The object is locked.' : '';
  if (why) tell(why);
  return !why;
}

async function prompt(op, fields, correct = false) {
  endHint();
  if (correct && !mayChange()) return;
  const reply = await ask(op, correct ? { ...fields, id: objects.selected } : fields);
  if (reply.type === 'done') objects.select(reply.id);
}

const askSelected = (op) => mayChange() && ask(op, { id: objects.selected });

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

function watch(name) {
  camera = name;
  undone = width = null;
  $('cameras').replaceChildren(...hello.cameras.map((value) => make('button', { type: 'button', value, textContent: value })));
  $('cameras').hidden = hello.cameras.length < 2;
  press($('cameras'), name);
  $('events').href = `events?camera=${name}`;
  view.reset();
  video.watch(camera, hello.video);
}

const isOpen = () => ['live', 'waiting', 'gone'].includes(document.body.dataset.state);

// What the page is in, as index.html has its words. Values that are not of now go.
function showState(name, why = '') {
  document.body.dataset.state = name;
  $('link').lastElementChild.textContent = $('link').dataset[name];
  $('stage').classList.toggle('dim', !isOpen());
  const text = `${$('banner').dataset[name] ?? ''} ${why}`.trim();
  $('banner').hidden = !text;
  say($('banner'), text);
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

function setMode(mode) {
  view.mode = mode;
  press($('modes'), mode);
  keep('mode', mode);
}

function setTool(tool) {
  pointer.tool = $('stage').dataset.tool = tool;
  for (const id of ['hands', 'draw']) press($(id), tool);
  if (pointer.draws || zones.now) zones.use((it) => it.begin(pointer.tool));
}

// What the buttons of a zone that is drawn do.
function draft(act) {
  if (act === 'cancel') setTool('select');
  else zones.now[act]();
}

// The video and its bar, on the whole screen and back.
function showLarge() {
  if (document.fullscreenElement) document.exitFullscreen();
  else $('large').closest('section').requestFullscreen?.();
}
$('large').hidden = !document.fullscreenEnabled;
$('film').hidden = !window.MediaRecorder;

function setLooks() {
  view.looks.opacity = $('opacity').value / 100;
  view.looks.outlines = $('outlines').checked;
  keep('opacity', $('opacity').value);
  keep('outlines', $('outlines').checked);
  view.redraw();
}

function showFigures({ objects: { length }, fps, latencyMs, stepMs }) {
  const figures = view.figures, { delay, age, rate } = figures;
  const ms = (value) => value === null ? '–' : `${value.toFixed(0)} ms`;
  $('delay').textContent = ms(delay);
  $('age').textContent = ms(age);
  $('rate').textContent = length ? `${rate.toFixed(1)} Hz` : '–';
  for (const [id, graph] of graphs) graph.add(figures[id] ?? 0);
  $('source').textContent = [`camera ${fps.toFixed(1)} Hz`, ...(latencyMs ? [`encoded after ${latencyMs.toFixed(0)} ms`] : []),
    ...(stepMs ? [`tracker's step ${stepMs.toFixed(1)} ms`] : [])].join(', ');
}

function showAll(s) {
  if (s.camera !== camera) return;
  // The source gave its first frame: there was nothing to connect to before.
  if (width === 0 && s.width) video.watch(camera, hello.video);
  width = s.width;
  view.setClock(s.us);
  view.setObjects(s.objects, !!s.fault);
  objects.show(s.objects);
  answers.show(s.objects.find((o) => o.id === objects.selected));
  zones.now?.count(s.zones);
  if (s.words || words.now) words.use((it) => it.show(s.words));
  showUndo(s.undo);
  showAnnotations(camera, s.annotations, hello);
  showState(s.fault ? 'gone' : view.shown ? 'live' : 'waiting', s.fault);
  if (s.objects.length) $('hint').classList.add('done');
  if (s.width && s.height) $('stage').style.aspectRatio = `${s.width} / ${s.height}`;
  showFigures(s);
  $('viewers').textContent = s.viewers > 1 ? `${s.viewers} pages are open; they see the same objects.` : '';
}

link.on('hello', (message) => {
  hello = message;
  showState('waiting');
  watch(hello.cameras.includes(camera) ? camera : hello.cameras[0]);
});
link.on('closed', showClosed);
link.on('zones', (message) => (message.zones.length || zones.now) && zones.use((it) => it.show(message.zones)));
link.on('notice', ({ text }) => tell(text));
link.on('masks', (masks) => view.addMasks(masks));
link.on('state', showAll);
window.addEventListener('offline', () => showState('offline'));
// A connection may be dead long before it closes.
setInterval(() => {
  if (isOpen() && link.silence > silentMs) showState('lost');
}, 1000);

$('shortcuts').checked = keep('shortcuts') !== 'false';
$('shortcuts').addEventListener('input', () => keep('shortcuts', $('shortcuts').checked));

const clicks = {
  undo: () => undo(undone?.n),
  'notice-undo': () => {
    undo(Number($('notice-undo').value));
    $('notice').hidden = true;
  },
  clear,
  'open-saves': () => saves.use((it) => it.toggle()),
  large: showLarge,
  film: () => film.use((it) => it.toggle(camera)),
};
for (const [id, act] of Object.entries(clicks)) $(id).addEventListener('click', act);
for (const [id, choose] of Object.entries({ cameras: watch, modes: setMode, hands: setTool, draw: setTool, draft }))
  $(id).addEventListener('click', (e) => e.target.value && choose(e.target.value));
for (const id of ['opacity', 'outlines']) $(id).addEventListener('input', setLooks);
$('opacity').value = keep('opacity') ?? 45;
$('outlines').checked = keep('outlines') === 'true';
setLooks();
setMode(keep('mode') === 'live' ? 'live' : 'sync');
setTool('select');
if (keep('hinted')) $('hint').classList.add('done');

const keys = {
  ArrowUp: () => objects.step(-1),
  ArrowDown: () => objects.step(1),
  Enter: () => zones.now?.draws ? zones.now.finish(true) : !objects.isLocked(objects.selected) && objects.rename(),
  Delete: () => askSelected('remove'),
  Backspace: () => zones.now?.draws ? zones.now.back() : askSelected('remove'),
  Escape: () => setTool('select'),
  '+': () => setTool('add'),
  '-': () => setTool('take'),
  a: () => answers.cycle(),
  u: () => askSelected('undo'),
  h: () => objects.cycleLook(objects.selected),
  k: () => objects.toggleLock(objects.selected),
  m: () => setMode(view.mode === 'sync' ? 'live' : 'sync'),
  c: clear,
  s: () => saves.use((it) => it.save()),
  l: () => saves.use((it) => it.restore()),
  f: () => showLarge(),
  '?': () => { $('keys').open = !$('keys').open; },
};

document.addEventListener('keydown', (e) => {
  const act = e.key === 'z' && (e.ctrlKey || e.metaKey) ? () => undo(0) : keys[e.key];
  const elsewhere = e.target.closest('input, button, summary') &&
    (e.key === 'Enter' || e.target.matches('input:not([type="range"], [type="checkbox"])'));
  const isOff = !$('shortcuts').checked && e.key.length === 1 && !e.ctrlKey && !e.metaKey;
  if (!act || isOff || ((e.ctrlKey || e.metaKey) && e.key !== 'z') || e.altKey || elsewhere) return;
  e.preventDefault();
  act();
});
