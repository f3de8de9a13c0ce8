// Keeps parts of a page up to date. An element with `data-live` names the address of a stream of events, and
// `data-from` the position at which it begins. Events:
// - `part`, `state`: each element in it replaces the element of the page with the same id.
// - `chunk`: lines of a trace, which are appended to the element with `data-live`.
// - `end`: nothing will change any more.
// A hidden tab closes its stream and opens it again when it is shown.
import { fragment } from './fragment.js';
import { load } from './main.js';

const RETRY_AFTER = 30_000;

const replace = (html) => {
  for (const element of [...fragment(html).children]) {
    const old = document.getElementById(element.id);
    if (!old) continue;
    const focused = old.contains(document.activeElement) ? document.activeElement.id : '';
    old.replaceWith(element);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    load(element.parentElement);
  }
};

// Appends lines to a trace. A first block with `data-continues` belongs to the section that is open at the end.
const append = (trace, html) => {
  const end = () => [...trace.querySelectorAll(':scope > pre, :scope > details > pre')].pop();
  for (const block of [...fragment(html).children]) {
    const last = end();
    if (last && block.hasAttribute('data-continues')) last.append(...block.childNodes);
    else trace.append(block);
  }
  trace.parentElement?.querySelector('[data-empty]')?.remove();
  const follow = document.querySelector('[data-follow] input');
  if (follow?.checked) end()?.lastElementChild?.scrollIntoView({ block: 'nearest' });
};

const follow = (element) => {
  const address = element.dataset.live;
  let from = element.dataset.from ?? '';
  let source = null;
  let timer = 0;
  let isOver = false;

  const mark = (isLive) => document.querySelectorAll('[data-live-mark]').forEach((it) => { it.hidden = !isLive; });
  const listen = (name, act) => source.addEventListener(name, (event) => {
    from = event.lastEventId || from;
    act(event.data);
    mark(!isOver);
  });
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
    mark(false);
  };
  const open = () => {
    if (source || isOver || document.hidden) return;
    source = new EventSource(from ? `${address}?from=${encodeURIComponent(from)}` : address);
    source.addEventListener('open', () => mark(true));
    source.addEventListener('error', () => {
      mark(false);
      // The browser tries again by itself after a lost connection, but not after a refusal.
      if (source?.readyState === EventSource.CLOSED) {
        close();
        timer = setTimeout(open, RETRY_AFTER);
      }
    });
    listen('part', replace);
    listen('state', replace);
    listen('chunk', (html) => append(element, html));
    listen('end', () => {
      isOver = true;
      close();
    });
  };

  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  open();
};

export const start = (root) => {
  for (const element of root.querySelectorAll('[data-live]:not([data-is-live])')) {
    element.dataset.isLive = '';
    follow(element);
  }
  root.querySelectorAll('[data-follow][hidden]').forEach((label) => { label.hidden = false; });
};
