// What the address of the page says behind its #: the token, which is taken out at once, and the case that is shown. A browser sends
// none of it to a server. The token and a person's own texts stay in this tab only, so that reloading the page loses neither.
import { type PlaygroundCase, textNames } from '../../playground-api.ts';

export type Shown = { kind: 'case'; link: string } | { kind: 'example'; name: string } | { kind: 'nothing' };

const tokenKey = 'hostward-playground-token';
/** What the tab had before an address gave it another token, which anybody's link can do. */
const formerTokenKey = 'hostward-playground-former-token';
/** A person's own texts, and those that a link or an example took the place of. */
const keys = { own: 'hostward-playground-texts', aside: 'hostward-playground-aside' } as const;

export function takeToken(): string {
  const said = parameters();
  const token = said.get('token');
  if (token === null) return sessionStorage.getItem(tokenKey) ?? '';
  const before = sessionStorage.getItem(tokenKey);
  if (before !== null && before !== token) sessionStorage.setItem(formerTokenKey, before);
  keepToken(token);
  said.delete('token');
  const rest = said.toString();
  history.replaceState(null, '', rest === '' ? location.pathname : `#${rest}`);
  return token;
}

/** Once, after the token of the address was refused. */
export function formerToken(): string | undefined {
  const token = sessionStorage.getItem(formerTokenKey);
  sessionStorage.removeItem(formerTokenKey);
  return token ?? undefined;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

export function shownNow(): Shown {
  const said = parameters();
  const [link, name] = [said.get('case'), said.get('example')];
  if (link !== null) return { kind: 'case', link };
  return name === null ? { kind: 'nothing' } : { kind: 'example', name };
}

/** A new entry of the history, so that the back button leads to what was there before. */
export function show(shown: Exclude<Shown, { kind: 'nothing' }>): void {
  const fragment = shown.kind === 'case' ? `case=${shown.link}` : `example=${encodeURIComponent(shown.name)}`;
  if (location.hash !== `#${fragment}`) history.pushState(null, '', `#${fragment}`);
}

/** Own texts have an address without a name; the back button leads to the link or the example that they began with. */
export function showOwn(): void {
  if (location.hash !== '') history.pushState(null, '', location.pathname);
}

export function addressOf(link: string): string {
  return `${location.origin}${location.pathname}#case=${link}`;
}

export function keptTexts(which: keyof typeof keys): PlaygroundCase | undefined {
  try {
    const texts = JSON.parse(sessionStorage.getItem(keys[which]) ?? '{}');
    return textNames.every((name) => typeof texts?.[name] === 'string') ? texts : undefined;
  } catch {
    return undefined;
  }
}

export function keepTexts(which: keyof typeof keys, texts: PlaygroundCase | undefined): void {
  try {
    if (texts === undefined) sessionStorage.removeItem(keys[which]);
    else sessionStorage.setItem(keys[which], JSON.stringify(texts));
  } catch {
    // A browser may refuse to keep more; then a reload shows the case of the address.
  }
}

function parameters(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}
