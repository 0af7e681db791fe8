// The status pages in a real browser: light and dark, narrow and wide, by keyboard, with names that look like HTML, and with a daemon
// that goes away and comes back.
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  expectAccessible,
  expectNarrowEnough,
  findChromium,
  openChromium,
  openPage,
  type WatchedPage,
} from './chromium.ts';
import { PagesStage } from './stage.ts';

const found = findChromium();
const reason = found.program === undefined ? ` (skipped: ${found.reason})` : '';

describe.skipIf(found.program === undefined)(`the status pages in Chromium${reason}`, () => {
  let browser: Browser;
  let stage: PagesStage;
  let open: WatchedPage | undefined;

  beforeAll(async () => {
    browser = await openChromium(found.program as string);
    stage = await new PagesStage().open();
  });
  afterEach(async () => {
    await open?.page.context().close();
    expect(open?.troubles ?? []).toEqual([]);
    open = undefined;
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  const paths = ['/', '/objects', '/objects/default/hostile'];
  const looks = (['light', 'dark'] as const).flatMap((colorScheme) =>
    [320, 1400].map((width) => ({ colorScheme, viewport: { width, height: 900 } })),
  );

  it.each(looks.flatMap((look) => paths.map((path) => ({ path, ...look }))))(
    'can be read by everybody: $path, $colorScheme, $viewport.width px',
    async ({ path, ...look }) => {
      open = await openPage(browser, stage.origin, look);
      const { page } = open;
      await page.goto(`${stage.origin}${path}`);
      for (const fold of await page.locator('details').all())
        await fold.evaluate((one) => one.setAttribute('open', ''));
      await expectAccessible(page);
      await expectNarrowEnough(page);
      expect(await page.locator('main script, main img').count()).toBe(0);
    },
  );

  it('is whole without JavaScript', async () => {
    open = await openPage(browser, stage.origin, { javaScriptEnabled: false });
    const { page } = open;
    await page.goto(stage.origin);
    expect(await page.locator('#verdict').innerText()).toContain('cannot reach the host cluster');
    expect(await page.locator('#attention code').count()).toBeGreaterThan(5);
    expect(await page.locator('#attention button').count()).toBe(0);
    await page.locator('summary', { hasText: 'Patches' }).click();
    expect(await page.getByRole('region', { name: 'Patches' }).isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Objects' }).click();
    await page.getByLabel('Name contains').fill('000007');
    await page.getByRole('button', { name: 'Filter' }).click();
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  it('is used by keyboard alone', async () => {
    open = await openPage(browser, stage.origin);
    const { page } = open;
    await page.goto(stage.origin);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    const passed: string[] = [];
    for (let at = 0; at < 60; at++) {
      await page.keyboard.press('Tab');
      const name = (await page.evaluate('document.activeElement.textContent.trim()')) as string;
      passed.push(name);
      if (name === 'Patches') break;
    }
    expect(passed.at(-1)).toBe('Patches');
    await page.keyboard.press('Enter');
    expect(await page.locator('#patches').getAttribute('open')).toBe('');
    await page.goto(`${stage.origin}/objects`);
    await page.getByLabel('Name contains').focus();
    await page.keyboard.type('hostile');
    await page.keyboard.press('Enter');
    await page.waitForURL(/text=hostile/);
    await page.getByRole('link', { name: 'default/hostile' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/objects\/default\/hostile/);
  });

  it('refreshes in place: asks for a version while nothing is new, and keeps what is open and focused', async () => {
    const before = stage.status;
    open = await openPage(browser, stage.origin);
    const { page, answers } = open;
    await page.goto(stage.origin);
    await page.locator('summary', { hasText: 'Proofs and windows' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => answers.some(({ status }) => status === 304), { timeout: 15_000 }).toBe(true);
    expect(await page.locator('#unchanged').innerText()).toMatch(/^, unchanged at 20/);
    try {
      const windows = [{ window: 'virtual services', state: 'watching', objects: 4711, heardSecondsAgo: 1 }];
      stage.status = { ...before, verdict: { isWell: true, sentence: 'all is well again' }, windows };
      await expect.poll(() => page.locator('#verdict').innerText(), { timeout: 15_000 }).toContain('all is well again');
      expect(await page.locator('#proofs').getAttribute('open')).toBe('');
      expect(await page.getByText('4711').isVisible()).toBe(true);
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Proofs and windows');
    } finally {
      stage.status = before;
    }
  });

  it('keeps a command that is selected, refreshes the rest, and that part when the selection ends', async () => {
    const before = stage.status;
    open = await openPage(browser, stage.origin);
    const { page } = open;
    await page.goto(stage.origin);
    const command = page.locator('#attention code').first();
    const text = await command.innerText();
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('#attention code'))");
    try {
      const windows = [{ window: 'virtual services', state: 'watching', objects: 4711, heardSecondsAgo: 1 }];
      const outages = [{ cluster: 'host', kind: 'unreachable', seconds: 99, message: 'something else' }];
      stage.status = { ...before, windows, outages };
      await expect.poll(() => page.locator('#proofs').textContent(), { timeout: 15_000 }).toContain('4711');
      expect(await page.evaluate('getSelection().toString()')).toBe(text);
      expect(await page.locator('#attention').innerText()).not.toContain('something else');
      await page.evaluate('getSelection().empty()');
      const attention = page.locator('#attention');
      await expect.poll(() => attention.innerText(), { timeout: 15_000 }).toContain('something else');
    } finally {
      stage.status = before;
    }
  });

  it.each([
    ['with the clipboard of the browser', ''],
    ['where the page has no clipboard', "Object.defineProperty(navigator, 'clipboard', { value: undefined })"],
  ])('copies a command by keyboard, %s', async (_, before) => {
    open = await openPage(browser, stage.origin, { permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = open;
    if (before !== '') await page.addInitScript(before);
    await page.goto(stage.origin);
    const codes = page.locator('#attention .remedy code');
    expect(await page.locator('#attention .copy').count()).toBe(await codes.count());
    const other = await page.context().newPage();
    await other.goto(stage.origin);
    const clipboard = async () => {
      await other.bringToFront();
      return other.evaluate('navigator.clipboard.readText()');
    };
    for (const [at, key] of (['Enter', 'Space'] as const).entries()) {
      await page.bringToFront();
      await page.locator('#attention .copy').nth(at).focus();
      await page.keyboard.press(key);
      await expect.poll(() => page.locator('#said').innerText()).toBe('Copied');
      expect(await clipboard()).toBe(await codes.nth(at).innerText());
    }
    await page.bringToFront();
    await expectAccessible(page);
  });

  it('keeps the button of a command, and the focus on it, when the part is refreshed', async () => {
    const before = stage.status;
    open = await openPage(browser, stage.origin);
    const { page } = open;
    await page.goto(stage.origin);
    await page.locator('#attention .copy').first().focus();
    try {
      stage.status = {
        ...before,
        outages: [{ cluster: 'host', kind: 'unreachable', seconds: 9, message: 'something else' }],
      };
      const attention = page.locator('#attention');
      await expect.poll(() => attention.innerText(), { timeout: 15_000 }).toContain('something else');
      expect(await page.locator('#attention .copy').count()).toBe(await attention.locator('.remedy code').count());
      expect(await page.evaluate('document.activeElement.className')).toBe('copy');
    } finally {
      stage.status = before;
    }
  });

  it('says when the daemon has gone, and that it is back', async () => {
    open = await openPage(browser, stage.origin);
    const { page } = open;
    await page.goto(stage.origin);
    const known = await page.locator('#verdict').innerText();
    await stage.stop();
    try {
      const banner = page.getByRole('alert');
      await banner.waitFor({ timeout: 15_000 });
      expect(await banner.innerText()).toMatch(
        /^The daemon has not answered since 20.*Z\. What is shown here is older\.$/,
      );
      await expectAccessible(page);
      expect(await page.locator('#verdict').innerText()).toBe(known);
    } finally {
      await stage.start();
    }
    await page.getByRole('alert').waitFor({ state: 'detached', timeout: 15_000 });
  });

  it('has the link to the playground of the daemon that is running, after a restart too', async () => {
    const links = (token: string) => [{ path: `/playground#token=${token}`, words: 'Playground' }];
    const restart = async (next: typeof stage.links) => {
      await stage.stop();
      stage.links = next;
      await stage.start();
    };
    await restart(links('first'));
    try {
      open = await openPage(browser, stage.origin);
      const { page } = open;
      await page.goto(stage.origin);
      const link = page.getByRole('link', { name: 'Playground' });
      await link.focus();
      await restart(links('second'));
      await expect.poll(() => link.getAttribute('href'), { timeout: 15_000 }).toBe('/playground#token=second');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Playground');
    } finally {
      await restart([]);
    }
  });

  it('goes back and forward through the pages of a list', async () => {
    open = await openPage(browser, stage.origin);
    const { page } = open;
    await page.goto(`${stage.origin}/objects`);
    const first = () => page.locator('tbody tr td').first().innerText();
    const names = [await first()];
    await page.getByRole('link', { name: 'later names' }).click();
    names.push(await first());
    await page.getByRole('link', { name: 'later names' }).click();
    names.push(await first());
    expect(names).toEqual(['default/hostile', 'default/object-000099', 'default/object-000199']);
    await page.goBack();
    expect(await first()).toBe(names[1]);
    await page.goForward();
    expect(await first()).toBe(names[2]);
    await page.getByRole('link', { name: 'earlier names' }).click();
    expect(await first()).toBe(names[1]);
    expect(await page.getByRole('link', { name: 'Objects' }).getAttribute('aria-current')).toBe('page');
  });

  it('shows what a tenant wrote as text', async () => {
    open = await openPage(browser, stage.origin);
    const { page } = open;
    await page.goto(`${stage.origin}/objects/default/hostile`);
    expect(await page.getByRole('region', { name: 'Host side' }).innerText()).toContain(
      '<script>alert("annotation")</script>',
    );
  });

  it('prints everything, opened', async () => {
    open = await openPage(browser, stage.origin);
    const { page } = open;
    await page.goto(stage.origin);
    expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(10_000);
    expect(await page.locator('details:not([open])').count()).toBe(0);
  });

  it.each(['/', '/objects?state=refused', '/objects/default/hostile'])(
    'cuts nothing off on paper: %s',
    async (path) => {
      // A4 without its margins.
      open = await openPage(browser, stage.origin, { viewport: { width: 718, height: 1000 } });
      const { page } = open;
      await page.goto(`${stage.origin}${path}`);
      await page.emulateMedia({ media: 'print' });
      for (const fold of await page.locator('details').all())
        await fold.evaluate((one) => one.setAttribute('open', ''));
      const cut = `[...document.querySelectorAll('.wide, pre')].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent.slice(0, 80))`;
      expect(await page.evaluate(cut)).toEqual([]);
      await expectNarrowEnough(page);
      const narrow = `[...document.querySelectorAll('td:last-child:not(.number)')].filter((one) => one.textContent.length > 20 && one.clientWidth < 120).map((one) => one.textContent)`;
      expect(await page.evaluate(narrow)).toEqual([]);
    },
  );

  it('goes through 100,000 objects a page at a time', async () => {
    const many = await new PagesStage().open(100_000);
    try {
      open = await openPage(browser, many.origin);
      const { page } = open;
      await page.goto(`${many.origin}/objects`);
      expect(await page.locator('#list > p').innerText()).toBe('100001 objects match, 100 on this page');
      await page.getByRole('link', { name: 'later names' }).click();
      expect(await page.locator('tbody tr td').first().innerText()).toBe('default/object-000099');
      await page.goto(`${many.origin}/objects?before=%7E`);
      expect(await page.locator('tbody tr td').last().innerText()).toContain('inSync');
      expect(await page.locator('tbody tr').last().innerText()).toContain('default/object-099999');
      await page.getByLabel('Name contains').fill('54321');
      await page.getByLabel('Name contains').press('Enter');
      await page.waitForURL(/text=54321/);
      expect(await page.locator('#list > p').innerText()).toBe('1 object matches, 1 on this page');
      await expectAccessible(page);
    } finally {
      await many.close();
    }
  }, 300_000);

  it('moves nothing, so that there is nothing to reduce for those who want less motion', async () => {
    open = await openPage(browser, stage.origin, { reducedMotion: 'reduce' });
    const { page } = open;
    await page.goto(stage.origin);
    const moving = `[...document.querySelectorAll('*')].filter((one) => {
      const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(one);
      return animationName !== 'none' || transitionDuration !== '0s' || scrollBehavior === 'smooth';
    }).length`;
    expect(await page.evaluate(moving)).toBe(0);
  });
});
