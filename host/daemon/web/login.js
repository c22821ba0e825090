// A token is given here, and kept by the browser in a cookie that no script can read.
import { html, useState } from './lib.js';
import { logIn } from './api.js';

export function Login() {
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError('');
    const field = event.target.elements.token;
    try {
      await logIn(field.value.trim());
    } catch (problem) {
      field.value = '';
      setError(problem.status === 401 ? 'This token is not known here.' : problem.message);
      setBusy(false);
      field.focus();
    }
  };
  return html`<main class="login"><form class="panel" onSubmit=${submit}>
    <h1>probehost</h1>
    <p class="muted">Give a token to go on. An operator makes one with <code>probehost token new</code>.</p>
    <label class="field">Token<input name="token" type="password" autocomplete="off" required autofocus aria-describedby="login-error" /></label>
    <p id="login-error" role="alert" class=${error ? 'problem' : 'hidden'}>${error}</p>
    <button type="submit" class="button primary" disabled=${busy}>Log in</button></form></main>`;
}
