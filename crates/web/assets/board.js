// Moves cards of the board by dragging and by keys. A move sends the same form as the card's own control. The card is
// shown in its new list at once, and returns if the server refuses.
import { fragment } from './fragment.js';
import { load } from './main.js';

const cardOf = (target) => (target instanceof Element ? target.closest('.card') : null);
const columnOf = (element) => element.closest('.column');
const formOf = (card) => card.querySelector('.card-move form');

const announce = (text) => {
  let element = document.querySelector('#board-status');
  if (!element) {
    element = Object.assign(document.createElement('p'), { id: 'board-status', className: 'vh' });
    element.setAttribute('role', 'status');
    document.body.append(element);
  }
  element.textContent = text;
};

// One card can be reached with the tab key, and the arrow keys move from there.
const prepare = (root) => {
  const cards = [...root.querySelectorAll('.card')];
  const current = cards.find((card) => card === document.activeElement) ?? cards[0];
  for (const card of cards) {
    card.tabIndex = card === current ? 0 : -1;
    card.draggable = formOf(card) !== null;
  }
};

const focusCard = (root, card) => {
  if (!card) return;
  root.querySelectorAll('.card[tabindex="0"]').forEach((other) => { other.tabIndex = -1; });
  card.tabIndex = 0;
  card.focus();
  card.scrollIntoView({ block: 'nearest', inline: 'nearest' });
};

// Shows the board that the server has sent after a move, at the same position.
const replaceBoard = (root, board) => {
  const old = root.querySelector('#board');
  const lists = old.querySelector('.board');
  const { scrollLeft, scrollTop } = lists;
  old.replaceWith(board);
  Object.assign(board.querySelector('.board'), { scrollLeft, scrollTop });
  load(root);
};

const moveTo = async (root, card, column) => {
  const form = formOf(card);
  const from = columnOf(card);
  if (!form || !column || column === from || card.ariaBusy === 'true') return;
  const { issue } = card.dataset;
  const { list } = column.dataset;
  const title = column.querySelector('h2').textContent;
  const place = { parent: card.parentElement, next: card.nextElementSibling };
  card.ariaBusy = 'true';
  column.querySelector('.cards').prepend(card);
  focusCard(root, card);
  try {
    const body = new URLSearchParams({ issue, from: from.dataset.list, to: list });
    const response = await fetch(form.action, { method: 'POST', body });
    const board = response.ok ? fragment(await response.text()).querySelector('#board') : null;
    if (!board) throw new Error('refused');
    replaceBoard(root, board);
    focusCard(root, document.getElementById(`card-${list}-${issue}`));
    announce(`#${issue} moved to ${title}`);
  } catch {
    card.ariaBusy = 'false';
    if (place.parent.isConnected) place.parent.insertBefore(card, place.next?.isConnected ? place.next : null);
    focusCard(root, card);
    announce(`#${issue} could not be moved. Reload the page and try again.`);
  }
};

const neighbor = (column, step) => {
  const columns = [...column.parentElement.querySelectorAll(':scope > .column')];
  return columns[columns.indexOf(column) + step];
};

// Returns the first card of the next column that has one, at the same height if possible.
const cardBeside = (card, step) => {
  const row = [...card.parentElement.children].indexOf(card);
  for (let column = neighbor(columnOf(card), step); column; column = neighbor(column, step)) {
    const cards = column.querySelectorAll('.card');
    if (cards.length > 0) return cards[Math.min(row, cards.length - 1)];
  }
  return null;
};

const listenToKeys = (root) => root.addEventListener('keydown', (event) => {
  const card = event.target;
  if (!(card instanceof Element) || !card.matches('.card') || event.altKey || event.ctrlKey || event.metaKey) return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step && event.shiftKey) moveTo(root, card, neighbor(columnOf(card), step));
  else if (step) focusCard(root, cardBeside(card, step));
  else if (event.key === 'ArrowUp') focusCard(root, card.previousElementSibling);
  else if (event.key === 'ArrowDown') focusCard(root, card.nextElementSibling);
  else if (event.key === 'Enter') card.querySelector('a.title').click();
  else if (event.key === 'm' && formOf(card)) {
    card.querySelector('.card-move').open = true;
    card.querySelector('.card-move select').focus();
  } else return;
  event.preventDefault();
});

const listenToPointer = (root) => {
  let dragged = null;
  const mark = (column) => root.querySelectorAll('.column').forEach((it) => it.classList.toggle('over', it === column));
  root.addEventListener('dragstart', (event) => {
    // A link in a card is dragged as a link.
    dragged = event.target instanceof Element && event.target.matches('.card') ? event.target : null;
    if (dragged) event.dataTransfer.effectAllowed = 'move';
  });
  root.addEventListener('dragover', (event) => {
    if (!dragged) return;
    const column = event.target instanceof Element ? columnOf(event.target) : null;
    mark(column);
    if (column) event.preventDefault();
  });
  root.addEventListener('drop', (event) => {
    const column = event.target instanceof Element ? columnOf(event.target) : null;
    if (!dragged || !column) return;
    event.preventDefault();
    moveTo(root, dragged, column);
  });
  root.addEventListener('dragend', () => {
    dragged = null;
    mark(null);
  });
};

const listenToForms = (root) => root.addEventListener('submit', (event) => {
  const card = cardOf(event.target);
  if (!card || event.target !== formOf(card)) return;
  const list = event.target.elements.to.value;
  const column = [...root.querySelectorAll('.column')].find((it) => it.dataset.list === list);
  if (!column) return;
  event.preventDefault();
  moveTo(root, card, column);
});

export const start = (document) => {
  for (const root of document.querySelectorAll('[data-board]:not([data-is-ready])')) {
    root.dataset.isReady = '';
    prepare(root);
    // Live updates replace columns.
    new MutationObserver(() => prepare(root)).observe(root, { childList: true, subtree: true });
    if (root.querySelector('.card-move')) document.querySelectorAll('[data-board-keys]').forEach((it) => { it.hidden = false; });
    listenToKeys(root);
    listenToPointer(root);
    listenToForms(root);
  }
};
