// Shows times in the time zone of the browser, and keeps ages up to date.
const UNITS = [[365 * 86400, 'y'], [30 * 86400, 'mo'], [7 * 86400, 'w'], [86400, 'd'], [3600, 'h'], [60, 'min']];
const UPDATE_INTERVAL = 30_000;
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const exact = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short',
});

// Return the same texts as `words::age` and `words::ago` on the server.
const age = (at) => {
  const seconds = (Date.now() - at) / 1000;
  for (const [length, unit] of UNITS) {
    const limit = unit === 'mo' ? 35 * 86400 : length;
    if (seconds >= limit) return `${Math.floor(seconds / length)} ${unit}`;
  }
  return 'now';
};

const ago = (at) => {
  const text = age(at);
  return text === 'now' ? 'just now' : `${text} ago`;
};

const FORMS = { age, ago, date: (at) => day.format(at) };

const set = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

const update = (element) => {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.valueOf())) return;
  element.title = exact.format(at);
  set(element, FORMS[element.dataset.time](at));
};

export const start = (root) => {
  root.querySelectorAll('time[data-time]').forEach(update);
};

setInterval(() => {
  if (!document.hidden) document.querySelectorAll('time:not([data-time="date"])[data-time]').forEach(update);
}, UPDATE_INTERVAL);
