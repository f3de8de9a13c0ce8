// Keys that use the links, buttons and fields of the page, and that move through lists. The table is in `keys.rs`:
// elements have their keys in `data-keys`, and `data-actions` of the body names the keys of the actions below.
import { fragment } from './fragment.js';

const SEQUENCE_TIMEOUT = 1_500;
const TYPING = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]';
let first = '';
let timer;

const currentRow = () => document.querySelector('main .rows > li.on');
const linkOf = (row) => row.querySelector('a.title') ?? row.querySelector('a[href]');

// Follows a link, presses a button or focuses a field.
export const use = (element) => {
  if (element.matches('input, textarea')) {
    element.focus();
    element.select();
  } else element.click();
};

// Moves the cursor and the focus to a row of the lists of the page.
const move = (step) => {
  const rows = [...document.querySelectorAll('main .rows > li')].filter((row) => linkOf(row)?.checkVisibility());
  if (rows.length === 0) return false;
  const old = currentRow();
  const index = rows.indexOf(old) + step;
  const row = rows[Math.min(Math.max(index, 0), rows.length - 1)];
  old?.classList.remove('on');
  row.classList.add('on');
  linkOf(row).focus();
  row.scrollIntoView({ block: 'nearest' });
  return true;
};

// Shows the list of keys of their page in a dialog.
const help = async () => {
  const link = document.querySelector('[data-keys="?"]');
  const response = await fetch(link.href);
  const list = response.ok ? fragment(await response.text()).querySelector('#keyboard') : null;
  if (!list) throw new Error('no list');
  const properties = { ariaLabel: 'Keyboard shortcuts', tabIndex: -1, className: 'jump', closedBy: 'any' };
  const dialog = Object.assign(document.createElement('dialog'), properties);
  const close = Object.assign(document.createElement('button'), { className: 'btn', textContent: 'Close' });
  close.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => dialog.remove());
  list.append(close);
  dialog.append(list);
  document.body.append(dialog);
  dialog.showModal();
  // A long list is shown from its beginning, and not from the button at its end.
  dialog.focus();
};

// An action returns false if it has nothing to do. The browser then does what it does without this script.
const actions = {
  help: () => {
    const link = document.querySelector('[data-keys="?"]');
    if (!link || link.pathname === location.pathname) return false;
    help().catch(() => link.click());
    return true;
  },
  jump: () => {
    import('./jump.js').then((module) => module.open());
    return true;
  },
  leave: () => {
    const [row, focused] = [currentRow(), document.activeElement];
    if (focused?.matches(TYPING) || row?.contains(focused)) focused.blur();
    row?.classList.remove('on');
    return false;
  },
  next: () => move(1),
  previous: () => move(-1),
  open: () => {
    const row = currentRow();
    // A focused link or button is used by the browser.
    if (!row || document.activeElement !== document.body) return false;
    linkOf(row).click();
    return true;
  },
  select: () => {
    const box = currentRow()?.querySelector('input[type="checkbox"]');
    box?.click();
    return Boolean(box);
  },
};

const begins = (key) => document.querySelector(`[data-keys^="${CSS.escape(key)} "]`) !== null;

const press = (key, names) => {
  const keys = first ? `${first} ${key}` : key;
  clearTimeout(timer);
  if (!first && begins(key)) {
    first = key;
    timer = setTimeout(() => { first = ''; }, SEQUENCE_TIMEOUT);
    return true;
  }
  first = '';
  const action = actions[names.get(keys)];
  if (action) return action();
  const element = document.querySelector(`[data-keys="${CSS.escape(keys)}"]`);
  if (!element) return false;
  use(element);
  return true;
};

export const start = () => {
  const names = new Map(document.body.dataset.actions.split(' ').map((pair) => pair.split('=')));
  document.addEventListener('keydown', (event) => {
    const hasControl = event.ctrlKey || event.metaKey;
    if (event.defaultPrevented || event.isComposing || event.altKey || (hasControl && event.shiftKey)) return;
    if (!event.key || event.key === 'Shift' || document.querySelector('dialog[open]')) return;
    const key = hasControl ? `Ctrl+${event.key.toUpperCase()}` : event.key;
    const isTyping = event.target instanceof Element && event.target.matches(TYPING);
    // While somebody types, only keys of the table that write nothing have a meaning.
    if ((isTyping || hasControl) && (key.length === 1 || key === 'Enter' || !names.has(key))) return;
    if (press(key, names)) event.preventDefault();
  });
};
