// What the element of a page runs that carries this script: `start` with the element, each time that
// the page shows it anew, as after it has lost its server.
const start = (anchor) => {
  const page = window.hrpPage || (window.hrpPage = { count: 0, held: new Map() });
  const write = (field, text) => { // as a person would, since viser's fields ignore other changes
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
  page.field = () => {
    const next = anchor.parentElement && anchor.parentElement.nextElementSibling;
    return next && next.querySelector('input');
  };
  page.send = () => {
    const field = page.field();
    if (!field) return;
    const { dark, seen } = page;
    const state = { n: ++page.count, dark: dark.matches, drive: page.drive(), seen };
    write(field, JSON.stringify(state));
  };
  document.title = anchor.dataset.title || document.title;
  setTimeout(page.send, 50);
  if (page.dark) return; // all else is there since the first time
  const moves = {
    KeyW: [1, 0], ArrowUp: [1, 0], KeyS: [-1, 0], ArrowDown: [-1, 0],
    KeyA: [0, 1], ArrowLeft: [0, 1], KeyD: [0, -1], ArrowRight: [0, -1],
  };
  const sign = (x) => Math.max(-1, Math.min(1, x));
  page.dark = matchMedia('(prefers-color-scheme: dark)');
  page.drive = () => {
    const held = [...page.held.values()]; // moves of keys and fingers
    if (!held.length) return null;
    return [0, 1].map((i) => sign(held.reduce((sum, move) => sum + move[i], 0)));
  };
  const show = () => {
    const held = [...page.held.values()].map(String);
    for (const button of document.querySelectorAll('[data-drive]')) {
      button.classList.toggle('hrp-on', held.includes(button.dataset.drive));
    }
    page.send();
  };
  const hold = (what, move) => {
    page.held.set(what, move);
    show();
  };
  const release = (what) => page.held.delete(what) && show();
  const releaseAll = () => [...page.held.keys()].forEach(release);
  const isTaken = (target, key) => target.closest
    && (target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')
      || (key.startsWith('Arrow') && target.closest('[role=slider], [role=tab]')));
  window.addEventListener('keydown', (event) => {
    if (!moves[event.code] || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTaken(event.target, event.code) || !document.querySelector('[data-drive]')) return;
    event.stopPropagation();
    event.preventDefault();
    if (!page.held.has(event.code)) hold(event.code, moves[event.code]);
  }, true);
  window.addEventListener('keyup', (event) => release(event.code), true);
  window.addEventListener('blur', releaseAll);
  document.addEventListener('visibilitychange', releaseAll);
  document.addEventListener('pointerdown', (event) => {
    const button = event.target.closest && event.target.closest('[data-drive]');
    if (!button) return;
    event.preventDefault();
    hold(event.pointerId, button.dataset.drive.split(',').map(Number));
  });
  for (const name of ['pointerup', 'pointercancel']) {
    window.addEventListener(name, (event) => release(event.pointerId), true);
  }
  document.addEventListener('click', (event) => {
    const opener = event.target.closest && event.target.closest('[data-tab]');
    if (!opener) return;
    for (const tab of document.querySelectorAll('[role=tab]')) {
      if (tab.textContent.trim() !== opener.dataset.tab) continue;
      tab.click();
      tab.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    }
  });
  document.addEventListener('click', (event) => {
    const row = event.target.closest && event.target.closest('[data-link]');
    const label = [...document.querySelectorAll('label')]
      .find((x) => x.textContent === anchor.dataset.selection);
    if (!row || !label) return;
    const field = document.getElementById(label.htmlFor)
      || label.parentElement.parentElement.parentElement.querySelector('input');
    if (field) write(field, row.dataset.link);
  });
  document.addEventListener('mouseover', (event) => {
    const button = event.target.closest && event.target.closest('.mantine-Button-root');
    if (button) button.title = button.textContent.trim();
  });
  const look = () => {
    const parts = [...document.querySelectorAll('[data-part]')];
    const seen = parts.filter((part) => part.getClientRects().length).map((x) => x.dataset.part);
    if (page.drive() || String(seen) !== String(page.seen)) {
      page.seen = seen;
      page.send();
    }
    const sheet = document.querySelector('.mantine-Paper-root[style*="width: 20em"]');
    const height = sheet ? `${sheet.getBoundingClientRect().height}px` : '';
    document.documentElement.style.setProperty('--hrp-sheet', height);
  };
  setInterval(look, 200);
  page.dark.addEventListener('change', () => page.send());
  if (page.dark.matches) {
    document.documentElement.setAttribute('data-mantine-color-scheme', 'dark');
  }
};
