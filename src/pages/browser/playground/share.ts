// Shows the link that holds the case as it is in the editors now, with what one should know before sending it to somebody.
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { PlaygroundCase } from '../../playground-api.ts';
import { linkOf } from '../../playground-link.ts';
import { addressOf } from './address.ts';
import { html } from './html.ts';

export function ShareBox({ texts }: { texts: PlaygroundCase }): VNode {
  const field = useRef<HTMLInputElement>(null);
  const [link, setLink] = useState('');
  const [said, setSaid] = useState('');
  // At once, and not when the link is made: by then somebody may have gone on to type elsewhere.
  useLayoutEffect(() => field.current?.focus(), []);
  useEffect(() => {
    let isLatest = true;
    setSaid('');
    void linkOf(texts).then((made) => isLatest && setLink(addressOf(made)));
    return () => {
      isLatest = false;
    };
  }, [texts]);
  useEffect(() => {
    if (document.activeElement === field.current) field.current?.select();
  }, [link]);
  const copy = async () => {
    try {
      // Made again from the texts, because the field may lack the last key that was pressed.
      const made = addressOf(await linkOf(texts));
      await navigator.clipboard.writeText(made);
      setLink(made);
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
