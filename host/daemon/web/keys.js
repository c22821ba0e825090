// Keys that work everywhere: `/` searches, Escape goes back.
import { back, go } from './route.js';

const isText = (element) => element instanceof HTMLElement && (element.matches('input, textarea, select') || element.isContentEditable);

export function keys() {
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector('dialog[open]')) return;
    const search = document.getElementById('search');
    if (event.key === '/' && !isText(event.target)) {
      event.preventDefault();
      if (search) search.focus();
      else { go('/'); setTimeout(() => document.getElementById('search')?.focus(), 60); }
    } else if (event.key === 'Escape') {
      if (event.target === search) {
        if (search.value !== '') { search.value = ''; search.dispatchEvent(new Event('input', { bubbles: true })); } else search.blur();
      } else if (!isText(event.target) && window.location.hash.startsWith('#/targets/')) {
        back();
      }
    } else if ((event.key === 'ArrowDown' || event.key === 'Enter') && event.target === search) {
      event.preventDefault();
      document.querySelector('#fleet-list [tabindex="0"]')?.focus();
    } else if (event.key === 'ArrowDown' && event.target.id === 'main') {
      const first = document.querySelector('#fleet-list [tabindex="0"]');
      if (first) { event.preventDefault(); first.focus(); }
    }
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}
