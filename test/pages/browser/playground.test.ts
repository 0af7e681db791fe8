import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectNarrowEnough, type WatchedPage } from './chromium.ts';
import { added, assets, found, marks, object, openedPlayground, patch, token, write } from './playground-stage.ts';

const stage = openedPlayground();

describe.skipIf(found.program === undefined)('the playground in Chromium', () => {
  it.each([
    ['light', 1400],
    ['dark', 1400],
    ['light', 320],
    ['dark', 320],
  ] as const)(
    'is accessible in %s at %d px, on both tabs, with faults, and with its share box open',
    async (colorScheme, width) => {
      const page = await stage.open(undefined, { colorScheme, viewport: { width, height: 900 } });
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
    const page = await stage.open();
    await added(page, '100.64.0.1').waitFor();
    expect(page.url()).toBe(`${stage.origin}/playground`);
    await page.reload();
    await added(page, '100.64.0.1').waitFor();
    // A stranger's link does not take the tab its token.
    await page.goto(`${stage.origin}/playground#token=of-a-stranger`);
    await page.reload();
    await added(page, '100.64.0.1').waitFor();
    const other = await stage.open('');
    await other.getByLabel('Token').fill('wrong');
    await other.keyboard.press('Enter');
    await other.getByRole('alert').filter({ hasText: 'The token is wrong' }).waitFor();
    await other.getByLabel('Token').fill(`${stage.origin}/playground#token=${token}`);
    await other.keyboard.press('Enter');
    await added(other, '100.64.0.1').waitFor();
  });

  it('is whole by keyboard: writing, a fault and its place, the tabs, an example', async () => {
    const page = await stage.open();
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
    const page = await stage.open();
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
    const page = await stage.open();
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
    const page = await stage.open();
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

  it('prints the texts and the result, and none of the buttons', async () => {
    const page = await stage.open();
    await added(page, '100.64.0.1').waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('#text-config .cm-content').isVisible()).toBe(true);
    expect(await added(page, '100.64.0.1').isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Share' }).isVisible()).toBe(false);
    expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(10_000);
  });

  it('says when Hostward has gone', async () => {
    const page = await stage.open();
    await added(page, '100.64.0.1').waitFor();
    await page.route('**/api/render', (route) => route.abort());
    await write(page, 'config', '');
    await page.getByRole('alert').filter({ hasText: 'Hostward does not answer' }).waitFor();
    await page.unroute('**/api/render');
    await page.getByText('No patch changes this object.').waitFor();
    // The browser reports the request that the test broke off.
    const { troubles } = stage.opened[0] as WatchedPage;
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
