// Buttons with `data-copy` copy that text. Without scripts they are hidden, because the text can be selected.
const SHOWN_FOR = 2_000;

const status = () => {
  let element = document.querySelector('#copied');
  if (!element) {
    element = Object.assign(document.createElement('p'), { id: 'copied', className: 'vh' });
    element.setAttribute('role', 'status');
    document.body.append(element);
  }
  return element;
};

const copy = async (button) => {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    status().textContent = 'The browser did not allow copying. Select the text instead.';
    return;
  }
  button.classList.add('done');
  status().textContent = 'Copied';
  setTimeout(() => {
    button.classList.remove('done');
    status().textContent = '';
  }, SHOWN_FOR);
};

export const start = (root) => {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll('[data-copy][hidden]')) {
    button.hidden = false;
    button.addEventListener('click', () => copy(button));
  }
};
