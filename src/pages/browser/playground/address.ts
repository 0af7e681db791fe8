// What the address of the page says behind its #: the token, which is taken out at once, and the case that is shown. A browser sends
// none of it to a server. The token and the unsaved texts stay in this tab only, so that reloading the page loses neither.
import { type PlaygroundCase, textNames } from '../../playground-api.ts';

export type Shown = { kind: 'case'; link: string } | { kind: 'example'; name: string } | { kind: 'nothing' };

const kept = { token: 'hostward-playground-token', texts: 'hostward-playground-texts' };

export function takeToken(): string {
  const said = parameters();
  const token = said.get('token');
  if (token === null) return sessionStorage.getItem(kept.token) ?? '';
  keepToken(token);
  said.delete('token');
  const rest = said.toString();
  history.replaceState(null, '', rest === '' ? location.pathname : `#${rest}`);
  return token;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(kept.token, token);
}

export function shownNow(): Shown {
  const said = parameters();
  const [link, name] = [said.get('case'), said.get('example')];
  if (link !== null) return { kind: 'case', link };
  return name === null ? { kind: 'nothing' } : { kind: 'example', name };
}

/** A new entry of the history, so that the back button leads to what was there before. */
export function show(shown: Exclude<Shown, { kind: 'nothing' }>): string {
  const fragment = shown.kind === 'case' ? `case=${shown.link}` : `example=${encodeURIComponent(shown.name)}`;
  if (location.hash !== `#${fragment}`) history.pushState(null, '', `#${fragment}`);
  return location.href;
}

/** The texts in this tab; undefined when they were written for another entry of the history. */
export function keptTexts(): PlaygroundCase | undefined {
  try {
    const { hash, texts } = JSON.parse(sessionStorage.getItem(kept.texts) ?? '{}');
    const isWhole = hash === location.hash && textNames.every((name) => typeof texts?.[name] === 'string');
    return isWhole ? texts : undefined;
  } catch {
    return undefined;
  }
}

export function keepTexts(texts: PlaygroundCase): void {
  try {
    sessionStorage.setItem(kept.texts, JSON.stringify({ hash: location.hash, texts }));
  } catch {
    // A browser may refuse to keep more; then a reload shows the case of the address.
  }
}

function parameters(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}
