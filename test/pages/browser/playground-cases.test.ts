import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { linkOf, readLink } from '../../../src/pages/playground-link.ts';
import { scene } from '../../cli/scene.ts';
import { expectAccessible } from './chromium.ts';
import { added, found, marks, object, openedPlayground, patch, token, write } from './playground-stage.ts';
import { storedFiles } from './stored-files.ts';

const stage = openedPlayground();

/** A link is deflated in the browser: those that begin between `holdLinks` and `passLinks` end with `releaseLinks`. */
const lateLinks = `
  let held;
  const released = new Promise((resolve) => { globalThis.releaseLinks = () => resolve(); });
  globalThis.holdLinks = () => { held = released; };
  globalThis.passLinks = () => { held = undefined; };
  const Real = CompressionStream;
  globalThis.CompressionStream = class {
    constructor(format) {
      const real = new Real(format);
      const wait = held;
      if (held) globalThis.heldLinks = (globalThis.heldLinks ?? 0) + 1;
      const reader = real.readable.getReader();
      this.writable = real.writable;
      this.readable = { getReader: () => ({ read: async () => { await wait; return reader.read(); } }) };
    }
  };`;

/** The link of the case, in the field and in the address. */
async function shared(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Share' }).click();
  await expect.poll(() => page.getByLabel('Link to this case').inputValue()).toContain('#case=');
  await page.waitForURL(/#case=/);
  return page.url();
}

async function openedWithLateLinks(): Promise<Page> {
  const page = await stage.page({ permissions: ['clipboard-read', 'clipboard-write'] });
  await page.addInitScript(lateLinks);
  await page.goto(`${stage.origin}/playground#token=${token}`);
  await added(page, '100.64.0.1').waitFor();
  return page;
}

describe.skipIf(found.program === undefined)('a case in the playground, in Chromium', () => {
  it('puts hanging, swelling and throwing expressions to their places, and goes on', async () => {
    const page = await stage.open();
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

  it('shows what an edit on the host changes for the tenant', async () => {
    const page = await stage.open();
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
    const page = await stage.page();
    // The first answer comes after the click.
    let answer = () => {};
    const isOpened = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/render', async (route) => {
      await isOpened;
      await route.continue();
    });
    await page.goto(`${stage.origin}/playground#token=${token}&example=rewrite-a-subnet`);
    await page.getByRole('tab', { name: 'Back to the tenant' }).click();
    const host = page.locator('#text-hostEdited .cm-content');
    expect(await host.innerText()).not.toContain('kind:');
    answer();
    await host.filter({ hasText: 'kind: Endpoints' }).waitFor();
    await write(page, 'hostEdited', '');
    await write(page, 'config', patch("'value'"));
    await page.getByText(/^no faults/).waitFor();
    expect(await host.innerText()).not.toContain('kind:');
  });

  it.each(['two-way-prefix', 'keep-last', 'fail-closed'])(
    'says that the example %s means to show a fault',
    async (name) => {
      const page = await stage.open(`token=${token}&example=${name}`);
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

  it('takes the fault of a text that was left for none of the example that was chosen after it', async () => {
    const page = await stage.open(`token=${token}&example=map-names`);
    await page.getByText(/^no faults/).waitFor();
    const held: (() => void)[] = [];
    await page.route('**/api/render', async (route) => {
      await new Promise<void>((goOn) => held.push(goOn));
      await route.continue();
    });
    await page.locator('#text-config .cm-content').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('\n- path: metadata.labels["team"]\n  expression: value + # mine\n');
    await expect.poll(() => held.length).toBe(1);
    await page.locator('#example').selectOption('two-way-prefix');
    await page.locator('#text-config .cm-content').filter({ hasText: '# mine' }).waitFor({ state: 'detached' });
    held[0]?.();
    await page.getByText('What is shown below is from before the fault.').waitFor();
    const words = page.getByText('The example means to show a fault');
    expect(await words.count()).toBe(0);
    await expect.poll(() => held.length).toBe(2);
    held[1]?.();
    await words.waitFor();
  });

  it('downloads a folder that hostward test passes', async () => {
    const page = await stage.open(undefined, { acceptDownloads: true });
    await added(page, '100.64.0.1').waitFor();
    await write(page, 'virtual', object('team: ada'));
    await write(page, 'config', patch("'value.no.way'"));
    await marks(page).filter({ hasText: 'throws' }).first().waitFor();
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

  it('says in a sentence what is wrong with a link, a body that is too large and YAML of another kind', async () => {
    const link = await linkOf({ config: patch('value'), virtual: object('team: ada') });
    const alert = (page: Page, words: string) => page.getByRole('alert').filter({ hasText: words }).waitFor();
    const cut = await stage.open(`token=${token}&case=${link.slice(0, -20)}`);
    await alert(cut, 'The link is cut or changed; copy it again, as a whole.');
    await alert(await stage.open(`token=${token}&case=7.abc`), 'another version of the playground');
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
    const page = await stage.open();
    await added(page, '100.64.0.1').waitFor();
    await page.locator('#example').selectOption('two-way-prefix');
    await added(page, 'tenant-ada').first().waitFor();
    await write(page, 'virtual', object('example.com/owner: grace'));
    await added(page, 'tenant-grace').waitFor();
    const link = await shared(page);
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/playground#case=1\.[\w-]+$/);
    expect(await page.getByLabel('Link to this case').inputValue()).toBe(link);
    const other = await stage.open(`token=${token}&${link.split('#')[1]}`);
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
    const page = await stage.open(undefined, { permissions: ['clipboard-read', 'clipboard-write'] });
    await added(page, '100.64.0.1').waitFor();
    const before = await shared(page);
    const field = page.getByLabel('Link to this case');
    await write(page, 'virtual', object('team: grace'));
    expect(page.url()).toBe(`${stage.origin}/playground`);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    const link = (await page.evaluate('navigator.clipboard.readText()')) as string;
    expect([link === before, await field.inputValue()]).toEqual([false, link]);
    const other = await stage.open(`token=${token}&${link.split('#')[1]}`);
    await other.locator('#text-virtual .cm-content').filter({ hasText: 'team: grace' }).waitFor();
  });

  it('takes no focus from an editor when its link is made late', async () => {
    const page = await openedWithLateLinks();
    await page.evaluate('holdLinks()');
    await page.getByRole('button', { name: 'Share' }).click();
    const editor = page.locator('#text-virtual .cm-content');
    await editor.focus();
    await page.evaluate('releaseLinks()');
    await expect.poll(() => page.getByLabel('Link to this case').inputValue()).toContain('#case=');
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(object('team: grace'));
    await editor.filter({ hasText: 'team: grace' }).waitFor();
  });

  it('keeps what is typed while the first link is being made, and puts no link of older texts into the address', async () => {
    const page = await openedWithLateLinks();
    await page.evaluate('holdLinks()');
    await page.getByRole('button', { name: 'Share' }).click();
    await write(page, 'virtual', object('team: grace'));
    await page.evaluate('releaseLinks()');
    const held = async () =>
      (await readLink((await page.getByLabel('Link to this case').inputValue()).split('#case=')[1] ?? '')).kind;
    await expect.poll(held).toBe('case');
    expect(page.url()).toBe(`${stage.origin}/playground`);
    await page.reload();
    await page.locator('#text-virtual .cm-content').filter({ hasText: 'team: grace' }).waitFor();
  });

  it('shows the link that it copied, while the link of the last key is still being made', async () => {
    const page = await openedWithLateLinks();
    await shared(page);
    const field = page.getByLabel('Link to this case');
    await page.evaluate('holdLinks()');
    await page.locator('#text-virtual .cm-content').focus();
    await page.keyboard.insertText('# grace\n');
    await expect.poll(() => page.evaluate('heldLinks')).toBe(1);
    await page.evaluate('passLinks()');
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    expect(await field.inputValue()).toBe(await page.evaluate('navigator.clipboard.readText()'));
  });

  it('shows what a link holds in a tab where somebody has written, and gives back what was written', async () => {
    const page = await stage.open();
    await added(page, '100.64.0.1').waitFor();
    const virtual = (name: string) =>
      page
        .locator('#text-virtual .cm-content')
        .filter({ hasText: `team: ${name}` })
        .waitFor();
    const link = await shared(page);
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
    const page = await stage.open();
    await added(page, '100.64.0.1').waitFor();
    await write(page, 'virtual', object('team: mine'));
    if (how === 'after a load') await page.goto(`${stage.origin}/assets/none`);
    await page.goto(`${stage.origin}/playground#token=${token}&case=1.abc`);
    await page.getByRole('alert').filter({ hasText: 'The link is cut or changed' }).waitFor();
    await page.locator('#text-virtual .cm-content').filter({ hasText: 'team: mine' }).waitFor();
    expect(page.url()).not.toContain(token);
    await page.getByText(/evaluated in/).waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
  });
});
