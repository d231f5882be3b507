// SPDX-License-Identifier: MIT
// The grid of cameras: what the API tells of them, every two seconds while somebody looks. A picture stays until the next one is there.

const [grid, card, link, count] = ['grid', 'card', 'link', 'count'].map((id) => document.getElementById(id));

function show(c) {
  const li = grid.querySelector(`[data-name="${c.name}"]`) ?? grid.appendChild(card.content.firstElementChild.cloneNode(true));
  const [a, image, ...texts] = li.querySelectorAll('*');
  [c.name, grid.dataset[c.state], c.says].forEach((text, i) => { texts[i].textContent = text; });
  li.dataset.name = c.name;
  li.dataset.state = c.state;
  a.href = `camera/${c.name}/`;
  if (c.width) image.src = `api/cameras/${c.name}/picture.jpg?${Date.now()}`;
}

async function look() {
  if (document.hidden) return;
  const answer = await fetch('api/cameras', { signal: AbortSignal.timeout(8000) }).catch(() => ({}));
  if (answer.status === 401) location.reload();
  link.lastElementChild.textContent = link.dataset[document.body.dataset.state = answer.ok ? 'live' : 'lost'];
  if (!answer.ok) return;
  const { cameras } = await answer.json();
  for (const li of [...grid.children]) if (!cameras.some((c) => c.name === li.dataset.name)) li.remove();
  cameras.forEach(show);
  count.textContent = cameras.length;
}

look();
setInterval(look, 2000);
