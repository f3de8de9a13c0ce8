// The command palette: a dialog that leads to projects, to users and, after `>`, to the actions of the page. The server
// renders the suggestions; a text without one is searched.
import { fragment } from './fragment.js';
import { use } from './keys.js';

const DELAY = 120;
let dialog = null;

const create = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

const nameOf = (element) => {
  const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  return element.ariaLabel || element.placeholder || text.map((node) => node.data).join('').trim();
};

// Returns the elements of the page that have keys and whose names contain the text.
const actionList = (text) => {
  const list = create('ul', { className: 'rows' });
  for (const element of document.querySelectorAll('[data-keys]')) {
    const name = nameOf(element);
    if (!name.toLowerCase().includes(text.toLowerCase())) continue;
    const button = create('button', { type: 'button', className: 'link', textContent: name });
    button.addEventListener('click', () => {
      dialog.close();
      use(element);
    });
    const keys = create('span', { className: 'end' }, create('kbd', { textContent: element.dataset.keys }));
    list.append(create('li', {}, button, keys));
  }
  return list;
};

const suggest = async (text) => {
  if (text.startsWith('>')) return actionList(text.slice(1).trim());
  const response = await fetch(`/search/jump?${new URLSearchParams({ q: text })}`);
  if (!response.ok || response.redirected) throw new Error(response.statusText);
  return fragment(await response.text());
};

// Moves the focus between the field and the suggestions.
const moveFocus = (step) => {
  const stops = [...dialog.querySelectorAll('input, .rows a, .rows button')];
  const index = stops.indexOf(document.activeElement) + step;
  stops[(index + stops.length) % stops.length].focus();
};

export const open = () => {
  if (dialog) return;
  const field = create('input', { className: 'in', name: 'q', type: 'search', autocomplete: 'off', ariaLabel: 'Go to' });
  field.placeholder = 'A project, @username, or > for the actions of this page';
  const results = create('div', {});
  const status = create('p', { className: 'vh' });
  status.setAttribute('role', 'status');
  const form = create('form', { action: '/search' }, field);
  dialog = create('dialog', { className: 'jump', ariaLabel: 'Go to', closedBy: 'any' }, form, results, status);
  // The text whose suggestions are shown.
  let shown = null;
  let timer;

  const update = async () => {
    const text = field.value.trim();
    const list = await suggest(text).catch(() => '');
    // A later text may have been answered first.
    if (!dialog || text !== field.value.trim()) return;
    if (results.contains(document.activeElement)) field.focus();
    results.replaceChildren(list);
    shown = text;
    const count = results.querySelectorAll('li').length;
    status.textContent = `${count} ${count === 1 ? 'suggestion' : 'suggestions'}`;
  };
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(update, DELAY);
  });
  // Follows the first suggestion for the whole text, also if somebody types faster than the server responds.
  const follow = async () => {
    const text = field.value.trim();
    if (shown !== text) await update();
    const best = dialog && results.querySelector('.rows a, .rows button');
    if (best) best.click();
    else if (dialog && text && !text.startsWith('>')) form.submit();
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    clearTimeout(timer);
    follow();
  });
  dialog.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    moveFocus(step);
  });
  dialog.addEventListener('close', () => {
    clearTimeout(timer);
    dialog.remove();
    dialog = null;
  });
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  update();
};
