// What bundling the pages leaves behind, and what the names of the bundles depend on.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';

// Not a literal path, because the launcher is plain JavaScript without types.
const launcher = new URL('../../src/launcher/browser.mjs', import.meta.url).href;
const { bundleForBrowser }: { bundleForBrowser: () => Promise<ReadonlyMap<string, Uint8Array>> } = await import(
  launcher
);

it('bundleForBrowser() names the bundles alike, whatever folder the program is started in', async () => {
  const script = `const { bundleForBrowser } = await import(${JSON.stringify(launcher)});
    console.log([...(await bundleForBrowser()).keys()].join());`;
  const elsewhere = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: tmpdir(),
    encoding: 'utf8',
  });
  expect(elsewhere.trim()).toBe([...(await bundleForBrowser()).keys()].join());
});

it.skipIf(process.platform !== 'linux')(
  'bundleForBrowser() leaves no process, and breaks no other bundling (skipped where there is no /proc)',
  async () => {
    const all = await Promise.all([bundleForBrowser(), bundleForBrowser(), bundleForBrowser()]);
    expect(new Set(all.map((files) => [...files.keys()].join())).size).toBe(1);
    await expect.poll(bundlers, { timeout: 10_000 }).toEqual([]);
    expect((await bundleForBrowser()).size).toBe(all[0]?.size);
    await expect.poll(bundlers, { timeout: 10_000 }).toEqual([]);
  },
);

/** Children of this process that run the bundler. */
function bundlers(): string[] {
  return readdirSync('/proc').flatMap((id) => {
    try {
      const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${id}/stat`, 'utf8')) ?? [];
      const line = readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return Number(parent) === process.pid && line.includes('esbuild') ? [line] : [];
    } catch {
      // Not a process, or one that has ended in the meantime.
      return [];
    }
  });
}
