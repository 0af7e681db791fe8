import { readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LocalServer } from '../../../src/apiserver/local/local-server.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { Evaluations } from '../../../src/cli/offline/playground/evaluations.ts';
import { systemClock } from '../../../src/clock.ts';
import { Assets } from '../../../src/pages/frame/assets.ts';
import { Playground } from '../../../src/pages/playground/playground.ts';
import { linkOf } from '../../../src/pages/playground-link.ts';
import { scene } from '../../cli/scene.ts';
import {
  expectAccessible,
  expectNarrowEnough,
  findChromium,
  openChromium,
  openPage,
  type WatchedPage,
} from './chromium.ts';
import { storedFiles } from './stored-files.ts';

const found = findChromium();
const token = 'a-token-of-this-test';

let browser: Browser;
let server: LocalServer;
let evaluations: Evaluations;
let origin: string;
const assets = new Assets();
const opened: WatchedPage[] = [];

beforeAll(async () => {
  if (found.program === undefined) return;
  browser = await openChromium(found.program);
  evaluations = new Evaluations({ clock: systemClock, nodePath: process.execPath });
  const routes = [new Playground({ evaluate: evaluations.evaluate, token, isAlone: true, assets })];
  server = new LocalServer({ listen: { host: '127.0.0.1', port: 0 }, routes });
  await server.start();
  origin = `http://127.0.0.1:${server.address.port}`;
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await evaluations?.stop();
});

afterEach(async () => {
  for (const { page, troubles } of opened.splice(0)) {
    // An address to come from that has no page is told by the browser too.
    expect(troubles.filter((one) => !/status of 404/.test(one))).toEqual([]);
    await page.context().close();
  }
});

async function open(fragment = `token=${token}`, options: BrowserContextOptions = {}): Promise<Page> {
  const watched = await openPage(browser, origin, options);
  opened.push(watched);
  await watched.page.goto(`${origin}/playground#${fragment}`);
  return watched.page;
}

async function write(page: Page, id: string, text: string): Promise<void> {
  await page.locator(`#text-${id} .cm-content`).focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(text);
}

const added = (page: Page, text: string) => page.locator('.diff ins', { hasText: text });
const marks = (page: Page) => page.locator('.marks li');

const object = (labels: string) => `apiVersion: v1
kind: Endpoints
metadata:
  name: db
  namespace: shop
  labels: {${labels}}
subsets:
- addresses: [{ip: 10.0.0.1}]
  ports: [{port: 5432}]
`;
const patch = (expression: string, rest = '') =>
  `- path: metadata.labels["team"]\n  expression: ${expression}\n${rest}`;

describe.skipIf(found.program === undefined)('the playground in Chromium', () => {
  it.each([
    ['light', 1400],
    ['dark', 1400],
    ['light', 320],
    ['dark', 320],
  ] as const)(
    'is accessible in %s at %d px, on both tabs, with faults, and with its share box open',
    async (colorScheme, width) => {
      const page = await open(undefined, { colorScheme, viewport: { width, height: 900 } });
      await added(page, '100.64.0.1').waitFor();
      await expectAccessible(page);
      await expectNarrowEnough(page);
      await page.getByRole('tab', { name: 'Back to the tenant' }).click();
      await page.getByText('Nothing flows back to the tenant.').waitFor();
      await write(page, 'config', patch('value +'));
      await marks(page).first().waitFor();
      await page.getByRole('button', { name: 'Share' }).click();
      await page.getByLabel('Link to this case').waitFor();
      await page.locator('#text-config .cm-content').focus();
      await expectAccessible(page);
      await expectNarrowEnough(page);
    },
  );

  it('removes the token from the address first, and asks for a token when the address has none', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    expect(page.url()).toBe(`${origin}/playground`);
    await page.reload();
    await added(page, '100.64.0.1').waitFor();
    // A stranger's link does not take the tab its token.
    await page.goto(`${origin}/playground#token=of-a-stranger`);
    await page.reload();
    await added(page, '100.64.0.1').waitFor();
    const other = await open('');
    await other.getByLabel('Token').fill('wrong');
    await other.keyboard.press('Enter');
    await other.getByRole('alert').filter({ hasText: 'The token is wrong' }).waitFor();
    await other.getByLabel('Token').fill(`${origin}/playground#token=${token}`);
    await other.keyboard.press('Enter');
    await added(other, '100.64.0.1').waitFor();
  });

  it('is whole by keyboard: writing, a fault and its place, the tabs, an example', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await reach(page, 'document.activeElement.getAttribute("aria-label") === "Patches"');
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('- path: subsets[*].addresses[*].ip\n  expression: value.no.way\n');
    await marks(page).filter({ hasText: 'throws' }).waitFor();
    await reach(page, 'document.activeElement.closest(".marks") !== null');
    expect(await marks(page).first().innerText()).toMatch(/^Patches, line 2, column 2\d/);
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Patches');
    await reach(page, 'document.activeElement.id === "tab-forward"');
    await page.keyboard.press('ArrowRight');
    await page.locator('#panel-back').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('tab-back');
    await page.locator('#example').focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(/#example=map-names$/);
  });

  it('shows a result while somebody types fast, and loses no key', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await write(page, 'virtual', object('team: ada'));
    await write(page, 'config', patch(`'"t-" + value'`));
    await added(page, 'team: t-ada').waitFor();
    await page.locator('#text-config .cm-content').focus();
    await page.keyboard.press('Control+End');
    const comment = `# ${'abcdefghij'.repeat(20)}`;
    await page.keyboard.type(comment);
    expect(await page.locator('#text-config .cm-content').innerText()).toContain(comment);
    await added(page, 'team: t-ada').waitFor();
  });

  it('shows names that look like HTML as text, in every field', async () => {
    const hostile = '<script>alert(1)</script><img src=x onerror=alert(2)>';
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    const annotations = `annotations: {"example.com/a": ${JSON.stringify(hostile)}}`;
    await write(page, 'virtual', object('team: ada').replace('  labels', `  ${annotations}\n  labels`));
    await write(
      page,
      'config',
      `- path: metadata.annotations["example.com/a"]\n  expression: value + ${JSON.stringify(hostile)}\n`,
    );
    await added(page, hostile + hostile).waitFor();
    await page.locator('.patches summary').first().click();
    await page.locator('.patches li', { hasText: hostile }).first().waitFor();
    await write(page, 'config', `- path: ${hostile}\n  ${hostile}: 1\n`);
    await marks(page).filter({ hasText: '<script>' }).first().waitFor();
    await write(page, 'virtual', `kind: ${JSON.stringify(hostile)}\nmetadata: {name: a}\n`);
    await marks(page)
      .filter({ hasText: `found only ${hostile}` })
      .waitFor();
    await page.getByRole('button', { name: 'Share' }).click();
    expect(await page.locator('script').count()).toBe(1);
    expect(await page.locator('img').count()).toBe(0);
  });

  it('shows invisible characters and those that turn a line around as escapes: in texts, faults and results', async () => {
    const turned = 'a\u202eb';
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    const annotations = `annotations: {"example.com/a": "${turned}"}`;
    await write(page, 'virtual', object('team: ada').replace('  labels', `  ${annotations}\n  labels`));
    await write(page, 'config', '- path: metadata.annotations["example.com/a"]\n  expression: value + "c"\n');
    await page.locator('.patches summary').first().click();
    await page.locator('.patches li', { hasText: 'a\\u202ebc' }).first().waitFor();
    expect(await page.locator('#text-virtual .cm-specialChar').innerText()).toBe('\\u202e');
    await write(page, 'virtual', object('team: ada').replace(/name: .*/, `name: "${turned}"`));
    await marks(page).filter({ hasText: 'metadata.name: "a\\u202eb"' }).waitFor();
    expect(await page.locator('.results').innerText()).not.toContain('\u202e');
  });

  it('puts hanging, swelling and throwing expressions to their places, and goes on', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await write(page, 'virtual', object('team: ada'));
    for (const expression of [
      "'(() => { for (;;) {} })()'",
      "'[...Array(90000).keys()].map((n) => Array(90000).fill(n)).length'",
      "'value.no.way'",
    ]) {
      await write(page, 'config', patch(expression));
      await marks(page)
        .filter({ hasText: /^Patches, line 2.*at metadata\.labels/ })
        .first()
        .waitFor();
      await write(page, 'config', patch(`'"t-" + value'`));
      await added(page, 'team: t-ada').waitFor();
      await marks(page).first().waitFor({ state: 'detached' });
    }
  });

  it('says in a sentence what is wrong with a link, a body that is too large and YAML of another kind', async () => {
    const link = await linkOf({ config: patch('value'), virtual: object('team: ada') });
    const alert = (page: Page, words: string) => page.getByRole('alert').filter({ hasText: words }).waitFor();
    const cut = await open(`token=${token}&case=${link.slice(0, -20)}`);
    await alert(cut, 'The link is cut or changed; copy it again, as a whole.');
    await alert(await open(`token=${token}&case=7.abc`), 'another version of the playground');
    await cut.locator('#example').selectOption('map-names');
    await cut.locator('.diff ins').first().waitFor();
    await write(cut, 'virtual', `# ${'x'.repeat(300_000)}`);
    await alert(cut, 'The texts are longer than 262144 bytes; make them shorter.');
    await write(cut, 'virtual', 'kind: Pod\nmetadata: {name: a}\n');
    await marks(cut).filter({ hasText: 'wanted Endpoints or EndpointSlices to render, found only Pod' }).waitFor();
    await write(cut, 'virtual', 'a: [1');
    await marks(cut).filter({ hasText: "Tenant's object, line" }).waitFor();
    await cut.getByRole('button', { name: 'Download' }).click();
    await alert(cut, 'Nothing to download yet: mend the faults on the right first.');
  });

  it('shares a case by its link, without the token, and goes back and forward', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await page.locator('#example').selectOption('two-way-prefix');
    await added(page, 'tenant-ada').first().waitFor();
    await write(page, 'virtual', object('example.com/owner: grace'));
    await added(page, 'tenant-grace').waitFor();
    await page.getByRole('button', { name: 'Share' }).click();
    const link = await page.getByLabel('Link to this case').inputValue();
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/playground#case=1\.[\w-]+$/);
    expect(page.url()).toBe(link);
    const other = await open(`token=${token}&${link.split('#')[1]}`);
    await added(other, 'tenant-grace').waitFor();
    expect(other.url()).toBe(link);
    await page.goBack();
    // What was written there; before it comes the example as it was.
    await added(page, 'tenant-grace').waitFor();
    await page.goBack();
    await added(page, 'tenant-ada').first().waitFor();
    await page.goForward();
    await added(page, 'tenant-grace').waitFor();
    await page.goForward();
    await added(page, 'tenant-grace').waitFor();
    expect(page.url()).toBe(link);
  });

  it('copies a link to what the editors hold now, however long the box has been open', async () => {
    const page = await open(undefined, { permissions: ['clipboard-read', 'clipboard-write'] });
    await added(page, '100.64.0.1').waitFor();
    await page.getByRole('button', { name: 'Share' }).click();
    const field = page.getByLabel('Link to this case');
    const before = await field.inputValue();
    await write(page, 'virtual', object('team: grace'));
    expect(page.url()).toBe(`${origin}/playground`);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    const link = (await page.evaluate('navigator.clipboard.readText()')) as string;
    expect([link === before, await field.inputValue()]).toEqual([false, link]);
    const other = await open(`token=${token}&${link.split('#')[1]}`);
    await other.locator('#text-virtual .cm-content').filter({ hasText: 'team: grace' }).waitFor();
  });

  it('shows what a link holds in a tab where somebody has written, and gives back what was written', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    const virtual = (name: string) =>
      page
        .locator('#text-virtual .cm-content')
        .filter({ hasText: `team: ${name}` })
        .waitFor();
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByLabel('Link to this case').waitFor();
    const link = page.url();
    await write(page, 'virtual', object('team: mine'));
    await virtual('mine');
    await page.goto(link);
    const back = page.getByRole('button', { name: 'Bring it back' });
    await back.waitFor();
    await page.locator('#text-virtual .cm-content').filter({ hasText: 'team: mine' }).waitFor({ state: 'detached' });
    await expectAccessible(page);
    await write(page, 'virtual', object('team: further'));
    await page.reload();
    await virtual('further');
    await back.click();
    await virtual('mine');
    await back.click();
    await virtual('further');
  });

  it.each(['in the same page', 'after a load'])('keeps what was written when a link is cut, %s', async (how) => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await write(page, 'virtual', object('team: mine'));
    if (how === 'after a load') await page.goto(`${origin}/assets/none`);
    await page.goto(`${origin}/playground#token=${token}&case=1.abc`);
    await page.getByRole('alert').filter({ hasText: 'The link is cut or changed' }).waitFor();
    await page.locator('#text-virtual .cm-content').filter({ hasText: 'team: mine' }).waitFor();
    expect(page.url()).not.toContain(token);
    await page.getByText(/evaluated in/).waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
  });

  it.each(['two-way-prefix', 'keep-last', 'fail-closed'])(
    'says that the example %s means to show a fault',
    async (name) => {
      const page = await open(`token=${token}&example=${name}`);
      const words = page.getByText('The example means to show a fault');
      await words.waitFor();
      await expectAccessible(page);
      await write(page, 'config', patch('value +'));
      await words.waitFor({ state: 'detached' });
      await page.locator('#example').selectOption('map-names');
      await page.getByText(/^no faults/).waitFor();
      expect(await words.count()).toBe(0);
    },
  );

  it('shows what an edit on the host changes for the tenant', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await write(page, 'virtual', object('team: ada'));
    await write(page, 'config', patch(`'"t-" + value'`, '  reverseExpression: value.slice(2)\n'));
    await added(page, 'team: t-ada').waitFor();
    await page.getByRole('tab', { name: 'Back to the tenant' }).click();
    const host = page.locator('#text-hostEdited .cm-content');
    await host.filter({ hasText: 't-ada' }).waitFor();
    await write(page, 'hostEdited', (await host.innerText()).replace('t-ada', 't-bob'));
    await added(page, 'team: bob').waitFor();
  });

  it('has a copy of the host object to edit, however early the way back is opened, and leaves it empty when it was emptied', async () => {
    const page = await openPage(browser, origin);
    opened.push(page);
    // The first answer comes after the click.
    let answer = () => {};
    const isOpened = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.page.route('**/api/render', async (route) => {
      await isOpened;
      await route.continue();
    });
    await page.page.goto(`${origin}/playground#token=${token}&example=rewrite-a-subnet`);
    await page.page.getByRole('tab', { name: 'Back to the tenant' }).click();
    const host = page.page.locator('#text-hostEdited .cm-content');
    expect(await host.innerText()).not.toContain('kind:');
    answer();
    await host.filter({ hasText: 'kind: Endpoints' }).waitFor();
    await write(page.page, 'hostEdited', '');
    await write(page.page, 'config', patch("'value'"));
    await page.page.getByText(/^no faults/).waitFor();
    expect(await host.innerText()).not.toContain('kind:');
  });

  it('downloads a folder that hostward test passes', async () => {
    const page = await open(undefined, { acceptDownloads: true });
    await added(page, '100.64.0.1').waitFor();
    await write(page, 'virtual', object('team: ada'));
    await write(page, 'config', patch("'value.no.way'"));
    await marks(page).first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    const files = storedFiles(readFileSync(await download.path()));
    expect([...files.keys()].sort()).toEqual(['my-case/config.yaml', 'my-case/says.txt', 'my-case/virtual.yaml']);
    const on = scene({ files: Object.fromEntries([...files].map(([name, text]) => [`/home/${name}`, text])) });
    expect([await runCommandLine(on.context, ['test', 'my-case']), on.out()]).toEqual([
      0,
      expect.stringContaining('ok   my-case'),
    ]);
  });

  it('prints the texts and the result, and none of the buttons', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('#text-config .cm-content').isVisible()).toBe(true);
    expect(await added(page, '100.64.0.1').isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Share' }).isVisible()).toBe(false);
    expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(10_000);
  });

  it('says when Hostward has gone', async () => {
    const page = await open();
    await added(page, '100.64.0.1').waitFor();
    await page.route('**/api/render', (route) => route.abort());
    await write(page, 'config', '');
    await page.getByRole('alert').filter({ hasText: 'Hostward does not answer' }).waitFor();
    await page.unroute('**/api/render');
    await page.getByText('No patch changes this object.').waitFor();
    // The browser reports the request that the test broke off.
    const { troubles } = opened[0] as WatchedPage;
    troubles.splice(0, troubles.length, ...troubles.filter((one) => !one.includes('net::ERR_FAILED')));
  });

  it('is at most 130 kB with brotli', async () => {
    const { brotliCompressSync } = await import('node:zlib');
    const names = [...(await assets.files())].filter(([name]) => !name.startsWith('status'));
    const sizes = names.map(([, bytes]) => brotliCompressSync(bytes).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(130_000);
  });
});

/** Presses Tab until the focus is where it is wanted. */
async function reach(page: Page, isThere: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(isThere)) return;
  }
  throw new Error(`the focus never got to ${isThere}`);
}
