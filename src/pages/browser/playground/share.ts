// Shows the link that holds the case, with what one should know before sending it to somebody.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.ts';

export function ShareBox({ link }: { link: string }): VNode | null {
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState('');
  useEffect(() => {
    setSaid('');
    field.current?.focus();
    field.current?.select();
  }, [link]);
  if (link === '') return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(link);
      setSaid('Copied.');
    } catch {
      field.current?.select();
      setSaid('The browser does not let the page copy; press Ctrl-C.');
    }
  };
  return html`
    <section class="share" aria-label="Share">
      <label for="link">Link to this case</label>
      <input id="link" ref=${field} readonly value=${link} aria-describedby="link-help" />
      <button type="button" onClick=${copy}>Copy</button> <span role="status">${said}</span>
      <p id="link-help">The link holds all texts of the case, and objects hold addresses and names: whoever gets the link reads them. It holds no token, and no server sees it. Somebody else opens it with <code>hostward playground 'LINK'</code>.</p>
    </section>`;
}
