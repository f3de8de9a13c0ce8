// Turns HTML that the server has rendered into elements. This is the only place that does so: the policy of the pages
// allows one trusted types policy, `part`.
const policy = globalThis.trustedTypes?.createPolicy('part', { createHTML: (html) => html })
  ?? { createHTML: (html) => html };

export const fragment = (html) => {
  const template = document.createElement('template');
  template.innerHTML = policy.createHTML(html);
  return template.content;
};
