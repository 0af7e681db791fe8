// Templates for HTML. Whatever is between braces is text and is escaped, because names and values belong to tenants; only a
// finished piece of HTML stays as it is. Pure.
import { safeText } from '../../safe-text.ts';

export class Html {
  readonly text: string;

  /** For html`` alone. */
  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | undefined | null | false | readonly HtmlValue[];

export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] as string;
  for (const [index, value] of values.entries()) text += piece(value) + strings[index + 1];
  return new Html(text);
}

function piece(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(piece).join('');
  return escapeHtml(String(value));
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Good between tags and between quotes. Invisible characters become visible escapes, as on a terminal. */
function escapeHtml(text: string): string {
  return safeText(text).replace(/[&<>"']/g, (character) => escapes[character] as string);
}
