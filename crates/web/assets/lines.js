// Selects ranges of lines: a click with Shift extends the selection, and the address becomes `#L3-L9`. The permalink of
// the file keeps the selection.
const RANGE = /^#L(\d+)(?:-L(\d+))?$/;

const selection = () => {
  const match = RANGE.exec(location.hash);
  if (!match) return null;
  const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
  return { first: Math.min(first, last), last: Math.max(first, last) };
};

const show = () => {
  document.querySelectorAll('.code .l.on').forEach((line) => line.classList.remove('on'));
  const range = selection();
  document.querySelectorAll('a[data-permalink]').forEach((link) => {
    link.hash = range ? location.hash : '';
  });
  if (!range) return;
  for (let number = range.first; number <= range.last; number += 1) {
    const line = document.getElementById(`L${number}`);
    if (!line) break;
    line.classList.add('on');
  }
};

const reveal = () => {
  const range = selection();
  // The browser itself scrolls to a single line.
  if (range && range.first !== range.last) document.getElementById(`L${range.first}`)?.scrollIntoView({ block: 'center' });
};

const extend = (event) => {
  const link = event.target.closest('.code .l > a');
  const range = selection();
  if (!link || !event.shiftKey || !range) return;
  event.preventDefault();
  const number = Number(link.parentElement.id.slice(1));
  const [first, last] = [Math.min(range.first, number), Math.max(range.first, number)];
  history.replaceState(null, '', `#L${first}-L${last}`);
  show();
};

export const start = (root) => {
  root.querySelectorAll('.code').forEach((code) => code.addEventListener('click', extend));
  show();
  reveal();
};

addEventListener('hashchange', show);
