// SPDX-License-Identifier: MIT
// The page of samtrack-live.

import { Annotations } from './annotations.js';
import { Graph } from './graph.js';
import { Link } from './link.js';
import { Objects } from './objects.js';
import { Pointer } from './pointer.js';
import { Video } from './video.js';

const $ = (id) => document.getElementById(id);
const link = new Link();
const video = new Video(link, $('video'), $('picture'));
const objects = new Objects($('objects'), $('empty'), $('count'), ask);
const annotations = new Annotations($('coco'), $('lines'), $('kept'), $('loss'));
const graphs = { fps: new Graph($('fps-graph')), latency: new Graph($('latency-graph')), step: new Graph($('step-graph')) };
let camera = '';
let kind = 'webrtc';
let width = null;
let noticeTimer = 0;

function tell(text) {
  $('notice').textContent = text;
  $('notice').hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { $('notice').hidden = true; }, 4000);
}

async function ask(op, fields = {}) {
  const reply = await link.ask(op, fields);
  if (reply.type === 'refused') tell(reply.why);
  return reply;
}

async function prompt(op, fields, correct = false) {
  $('hint').classList.add('done');
  if (correct && !objects.selected) {
    tell('Select an object first.');
    return;
  }
  const reply = await ask(op, correct ? { ...fields, id: objects.selected } : fields);
  if (reply.type === 'done') objects.select(reply.id);
}

async function saveOrRestore(op, text) {
  const reply = await ask(op);
  if (reply.type === 'done') tell(text);
}

const save = () => saveOrRestore('save', 'The objects are saved.');
const restore = () => saveOrRestore('restore', 'The objects are restored.');

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
  width = null;
  showCameras(names);
  video.watch(camera, kind);
}

// The three states of the page: no program, no camera, live.
function showLink(open, fault = '') {
  $('link').className = !open ? '' : fault ? 'gone' : 'open';
  $('link').lastElementChild.textContent = !open ? 'connecting' : fault ? 'camera gone' : 'live';
  $('stage').classList.toggle('dim', !open);
  const text = !open ? 'The program does not answer. Trying again.' : fault ? `The camera is gone: ${fault}` : '';
  $('banner').hidden = !text;
  if ($('banner').textContent !== text) $('banner').textContent = text;
}

link.addEventListener('hello', ({ detail }) => {
  showLink(true);
  kind = detail.video;
  watch(detail.cameras.includes(camera) ? camera : detail.cameras[0], detail.cameras);
});

link.addEventListener('closed', () => {
  showLink(false);
});

link.addEventListener('notice', ({ detail }) => tell(detail.text));

link.addEventListener('state', ({ detail: s }) => {
  if (s.camera !== camera) return;
  // The source gave its first frame: there was nothing to connect to before.
  if (width === 0 && s.width) video.watch(camera, kind);
  width = s.width;
  objects.show(s.objects);
  annotations.show(camera, s.annotations);
  showLink(true, s.fault);
  if (s.objects.length) $('hint').classList.add('done');
  if (s.width && s.height) $('stage').style.aspectRatio = `${s.width} / ${s.height}`;
  $('fps').textContent = `${s.fps.toFixed(1)} Hz`;
  $('latency').textContent = s.latencyMs ? `${s.latencyMs.toFixed(0)} ms` : '–';
  $('step').textContent = s.stepMs ? `${s.stepMs.toFixed(1)} ms` : '–';
  graphs.fps.add(s.fps);
  graphs.latency.add(s.latencyMs);
  graphs.step.add(s.stepMs);
  $('viewers').textContent = s.viewers > 1 ? `${s.viewers} pages are open; they see the same objects.` : '';
});

$('save').addEventListener('click', save);
$('restore').addEventListener('click', restore);
$('clear').addEventListener('click', () => ask('clear'));
new Pointer($('stage'), $('marks'), video, prompt);

const keys = {
  ArrowUp: () => objects.step(-1),
  ArrowDown: () => objects.step(1),
  Enter: () => objects.rename(),
  Delete: () => objects.selected && ask('remove', { id: objects.selected }),
  Backspace: () => objects.selected && ask('remove', { id: objects.selected }),
  u: () => objects.selected && ask('undo', { id: objects.selected }),
  c: () => ask('clear'),
  s: save,
  l: restore,
  '?': () => { $('keys').open = !$('keys').open; },
};

document.addEventListener('keydown', (e) => {
  const act = keys[e.key];
  const elsewhere = e.target.closest('input, button, summary') && (e.key === 'Enter' || e.target.matches('input'));
  if (!act || e.ctrlKey || e.metaKey || e.altKey || elsewhere) return;
  e.preventDefault();
  act();
});
