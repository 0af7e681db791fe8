// Opens the real browser of the machine. Plain `npm test` must do the same on every machine, so the browser runs only on request:
// HOSTWARD_CHROMIUM names its program.
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const howToGet = 'install Debian\'s package "chromium" and set HOSTWARD_CHROMIUM to its path';

export type BrowserSearch = { program: string } | { program: undefined; reason: string };

export function findChromium(environment: NodeJS.ProcessEnv = process.env): BrowserSearch {
  const program = environment['HOSTWARD_CHROMIUM'];
  if (program === undefined) return { program: undefined, reason: `HOSTWARD_CHROMIUM is not set: ${howToGet}` };
  try {
    accessSync(program, constants.X_OK);
    return { program };
  } catch {
    return { program: undefined, reason: `"${program}" cannot be run: ${howToGet}` };
  }
}

/** Root may not use the browser's own sandbox. */
export function openChromium(program: string): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: program, args });
}

export interface WatchedPage {
  page: Page;
  /** Console errors, faults of scripts, reports of the content security policy, requests to other origins. */
  troubles: string[];
  /** Status and path of every answer. */
  answers: { status: number; path: string }[];
}

export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const troubles: string[] = [];
  const answers: WatchedPage['answers'] = [];
  page.on('console', (message) => {
    // The browser says itself that an address gave no answer; a test of a daemon that is gone wants that.
    if (message.type() === 'error' && !/net::ERR_CONNECTION_REFUSED/.test(message.text()))
      troubles.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (fault) => troubles.push(`script: ${fault.message}`));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) troubles.push(`request: ${request.url()}`);
  });
  page.on('response', (answer) => {
    answers.push({ status: answer.status(), path: new URL(answer.url()).pathname });
  });
  // As text, because it runs in the browser, whose names this program does not know.
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', (event) => {
      console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI);
    });`,
  );
  return { page, troubles, answers };
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** No violation of WCAG 2 A and AA. The tool is injected past the policy of the page, which forbids foreign scripts. */
export async function expectAccessible(page: Page): Promise<void> {
  const { readFileSync } = await import('node:fs');
  await page.evaluate(readFileSync(axe, 'utf8'));
  const found = (await page.evaluate(
    `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }).then(({ violations }) => violations)`,
  )) as { id: string; nodes: { html: string; failureSummary: string }[] }[];
  expect(found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)).toEqual([]);
}

/** Nothing is cut off at the right, and nothing makes the page scroll sideways. */
export async function expectNarrowEnough(page: Page): Promise<void> {
  const [content, window] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [
    number,
    number,
  ];
  expect(content).toBeLessThanOrEqual(window);
}
