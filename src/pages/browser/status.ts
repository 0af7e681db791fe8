// Keeps a status page current in place. It asks for the page again with the version that it shows, so that a daemon with nothing new
// answers 304; parts that differ are replaced, and what the reader has opened, selected or focused elsewhere stays. When the daemon is
// gone it says so. XMLHttpRequest parses the answer into a document, so that no text becomes HTML in this script.
import { scriptHeader } from '../script-headers.ts';

const askEveryMs = 3_000;
const patienceMs = 10_000;
/** Ages are news after this time, although nothing else is. */
const wholeEveryMs = 60_000;

let goneSince: Date | undefined;
let wholeAtMs = performance.now();
let timer = 0;
let quiet = 0;
const said = document.createElement('p');
/** A part was left as it is, because the reader has selected text in it. */
let isHeldBack = false;

/** Long enough to be read. */
const saidForMs = 3_000;

function byId(id: string, within: Document = document): HTMLElement | null {
  return within.getElementById(id);
}

function clock(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}

function ask(): void {
  const request = new XMLHttpRequest();
  request.open('GET', location.href.replace(/#.*$/, ''));
  request.responseType = 'document';
  request.timeout = patienceMs;
  const isWhole = performance.now() - wholeAtMs > wholeEveryMs;
  const version = byId('page')?.dataset['version'];
  request.setRequestHeader(scriptHeader, '1');
  if (!isWhole && version !== undefined) request.setRequestHeader('If-None-Match', version);
  request.onload = () => {
    answered();
    if (request.status === 304) unchanged(request.getResponseHeader('Date'));
    // A page about an object that is gone is news as well.
    else if (request.response !== null && request.status === 200) take(request.response);
    later();
  };
  request.onerror = request.ontimeout = () => {
    gone();
    later();
  };
  request.send();
}

function later(): void {
  clearTimeout(timer);
  if (document.visibilityState === 'visible') timer = setTimeout(ask, askEveryMs);
}

function unchanged(date: string | null): void {
  const words = byId('unchanged');
  if (words !== null && date !== null) words.textContent = `, unchanged at ${clock(new Date(date))}`;
}

function gone(): void {
  goneSince ??= new Date();
  const banner = byId('gone') ?? document.createElement('p');
  if (banner.id === '') {
    banner.id = 'gone';
    banner.setAttribute('role', 'alert');
    byId('main')?.prepend(banner);
  }
  const words = `The daemon has not answered since ${clock(goneSince)}. What is shown here is older.`;
  if (banner.textContent !== words) banner.textContent = words;
}

function answered(): void {
  goneSince = undefined;
  byId('gone')?.remove();
}

function take(found: Document): void {
  const [now, then] = [byId('page'), byId('page', found)];
  if (now === null || then === null) return;
  addButtons(found);
  wholeAtMs = performance.now();
  isHeldBack = false;
  // The link to the playground holds another token after a restart of the daemon.
  const [nav, newNav] = [document.querySelector('header nav'), found.querySelector('header nav')];
  if (nav !== null && newNav !== null && nav.outerHTML !== newNav.outerHTML) replace(nav, newNav);
  merge(now, then);
  // What was held back comes with the next answer, which must not be "unchanged".
  now.dataset['version'] = isHeldBack ? '' : (then.dataset['version'] ?? '');
  const [asOf, newAsOf] = [byId('asof'), byId('asof', found)];
  if (asOf !== null && newAsOf !== null) asOf.replaceWith(document.adoptNode(newAsOf));
  const words = byId('unchanged');
  if (words !== null) words.textContent = isHeldBack ? ', the part with the selected text is older' : '';
  document.title = found.title;
}

/** Both pages have the same parts, by their ids; otherwise the whole content is replaced. */
function merge(now: Element, then: Element): void {
  const idsOf = (one: Element) => [...one.children].map(({ tagName, id }) => `${tagName} ${id}`).join(',');
  if (idsOf(now) !== idsOf(then)) {
    replace(now, then);
    return;
  }
  const pairs = [...now.children].map((child, at) => [child, then.children[at] as Element] as const);
  for (const [own, other] of pairs) {
    if (own instanceof HTMLFormElement || shownIn(own) === shownIn(other)) continue;
    if (!isSelected(own)) own.className = other.className;
    replace(own, other);
  }
}

/** Whether a fold is open is the reader's business, and no difference. */
function shownIn(part: Element): string {
  const copy = part.cloneNode(true) as Element;
  for (const fold of [copy, ...copy.querySelectorAll('details')]) fold.removeAttribute('open');
  return copy.outerHTML;
}

/** A command that is about to be copied. */
function isSelected(part: Element): boolean {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
}

function replace(own: Element, other: Element): void {
  if (isSelected(own)) {
    isHeldBack = true;
    return;
  }
  const openIds = [...own.querySelectorAll('details[open]')].map(nameOf);
  const focused = own.contains(document.activeElement) ? placeOf(own, document.activeElement as Element) : undefined;
  own.replaceChildren(...[...other.childNodes].map((node) => document.adoptNode(node)));
  for (const fold of own.querySelectorAll('details')) if (openIds.includes(nameOf(fold))) fold.open = true;
  if (focused !== undefined)
    own.querySelectorAll<HTMLElement>(focused.selector)[focused.at]?.focus({ preventScroll: true });
}

/** A fold without an id goes by its summary without numbers, which change. */
function nameOf(fold: Element): string {
  return fold.id || (fold.querySelector('summary')?.textContent ?? '').replace(/\d+/g, '');
}

function placeOf(own: Element, element: Element): { selector: string; at: number } {
  const selector = element.tagName.toLowerCase();
  return { selector, at: [...own.querySelectorAll(selector)].indexOf(element) };
}

/** Behind each command. Without this script a click on a command selects it whole. */
function addButtons(within: Document): void {
  for (const code of within.querySelectorAll('.remedy code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', `Copy the command ${code.textContent}`);
    code.after(' ', button);
  }
}

async function copy(button: HTMLButtonElement): Promise<void> {
  const code = button.previousElementSibling;
  if (code === null) return;
  said.textContent = (await copied(code)) ? 'Copied' : 'The browser does not copy here; the command is selected';
  clearTimeout(quiet);
  quiet = setTimeout(() => {
    said.textContent = '';
  }, saidForMs);
}

/** A page at a name that is not this machine's has no clipboard of its own, and asks the browser to copy what is selected. */
async function copied(code: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return document.execCommand('copy');
  }
}

document.addEventListener('click', ({ target }) => {
  if (target instanceof HTMLButtonElement && target.className === 'copy') void copy(target);
});
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (document.visibilityState === 'visible') ask();
});
// A page that comes back from the browser's memory shows what was true then.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) ask();
});
// A folded part that holds what a link names is opened, and everything is printed.
addEventListener('beforeprint', () => {
  for (const fold of document.querySelectorAll('details')) fold.open = true;
});
addButtons(document);
// There from the start, because a screen reader hears only of what changes in it.
said.id = 'said';
said.setAttribute('role', 'status');
document.body.append(said);
later();
