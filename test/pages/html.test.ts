import { describe, expect, it } from 'vitest';
import { html } from '../../src/pages/frame/html.ts';

describe('html', () => {
  it('takes every value as text', () => {
    const hostile = `<script>alert(1)</script> & "quoted" 'quoted'`;
    expect(html`<p title="${hostile}">${hostile}</p>`.text).toBe(
      '<p title="&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; &#39;quoted&#39;">' +
        '&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; &#39;quoted&#39;</p>',
    );
  });

  it('keeps finished pieces, joins lists and leaves nothing for nothing', () => {
    const rows = ['a<', 'b'].map((one) => html`<li>${one}</li>`);
    expect(html`<ul>${rows}</ul>${undefined}${false}${null}${0}`.text).toBe('<ul><li>a&lt;</li><li>b</li></ul>0');
  });

  it('makes invisible characters visible, which could reverse a line', () => {
    expect(html`${'shop\u202edrop\u0000'}`.text).toBe('shop\\u202edrop\\u0000');
  });

  it('takes an object that only looks like a finished piece as text', () => {
    const forged = JSON.parse('{"text":"<script>"}');
    expect(() => html`${forged}`).toThrow();
  });
});
