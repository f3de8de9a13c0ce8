// Fields for Markdown: the button "Preview" shows the preview in place, and Ctrl+Enter or Cmd+Enter sends the form.
// Without scripts the button sends the form, which shows the preview on the page.
import { fragment } from './fragment.js';

const preview = async (area, target, button) => {
  button.setAttribute('aria-busy', 'true');
  try {
    const body = new URLSearchParams({ text: area.value });
    const response = await fetch(target.parentElement.dataset.compose, { method: 'POST', body });
    if (!response.ok) throw new Error(response.statusText);
    target.replaceChildren(fragment(await response.text()));
    target.hidden = false;
  } finally {
    button.removeAttribute('aria-busy');
  }
};

export const start = (root) => {
  for (const field of root.querySelectorAll('[data-compose]')) {
    const area = field.querySelector('textarea');
    const target = field.querySelector('[data-preview]');
    const button = area.form?.querySelector('button[name="preview"]');
    target.setAttribute('role', 'status');
    area.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        area.form.requestSubmit();
      }
    });
    button?.addEventListener('click', (event) => {
      event.preventDefault();
      // The form shows the preview if the request fails.
      preview(area, target, button).catch(() => area.form.requestSubmit(button));
    });
  }
};
