// Loads a module when its selector occurs on the page. Every page works without scripts; modules only improve it.
const modules = {
  'time[data-time]': './time.js',
  '[data-copy]': './copy.js',
  '.code .l[id]': './lines.js',
  '[data-live]': './live.js',
  '[data-board]': './board.js',
  '[data-compose]': './compose.js',
  'body[data-actions]': './keys.js',
};

export const load = (root) => {
  for (const [selector, path] of Object.entries(modules)) {
    if (root.querySelector(selector)) {
      import(path).then((module) => module.start(root)).catch(() => {
        // The page works without the module, so a failed download is not reported.
      });
    }
  }
};

load(document);
