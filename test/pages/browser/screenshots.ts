// Makes the pictures of the pages for the README and the docs, from a running demo and a running playground:
// `npm run screenshots`, or `npm run screenshots -- playground` for those of the playground alone. It needs Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { findChromium, openChromium } from './chromium.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = join(root, 'docs', 'images');

const usage = `usage: npm run screenshots -- [playground]

Makes the pictures of docs/images anew, or those of the playground alone. It needs Chromium (HOSTWARD_CHROMIUM).
`;
const asked = askedFor(process.argv.slice(2));
if (typeof asked !== 'boolean') {
  process[asked.code === 0 ? 'stdout' : 'stderr'].write(asked.says);
  process.exit(asked.code);
}

const found = findChromium({ HOSTWARD_CHROMIUM: '/usr/bin/chromium', ...process.env });
if (found.program === undefined) throw new Error(found.reason);
mkdirSync(folder, { recursive: true });

const browser = await openChromium(found.program);
try {
  if (!asked) await picturesOfStatus(browser);
  await picturesOfPlayground(browser);
} finally {
  await browser.close();
}

/** Whether only pictures of the playground are wanted. */
function askedFor(words: string[]): boolean | { code: number; says: string } {
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const;
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true });
    if (values.help) return { code: 0, says: usage };
    const [one, ...others] = positionals;
    if (others.length === 0 && [undefined, 'playground'].includes(one)) return one !== undefined;
    return { code: 2, says: `screenshots: wanted "playground" or nothing, found "${positionals.join(' ')}"\n${usage}` };
  } catch (error) {
    return { code: 2, says: `screenshots: ${(error as Error).message}\n${usage}` };
  }
}

async function picturesOfStatus(browser: Browser): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'hostward-screenshots-'));
  const demo = spawn(process.execPath, [join(root, 'src/main.ts'), 'demo'], {
    cwd: work,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => demo.once('exit', resolve));
  try {
    const origin = await addressIn(demo.stdout);
    // The chart wants some points; the demo changes an object each second.
    await new Promise((resolve) => setTimeout(resolve, 45_000));
    for (const [name, path, colorScheme] of [
      ['status-light', '/', 'light'],
      ['status-dark', '/', 'dark'],
      ['objects', '/objects', 'light'],
      ['object', '/objects/shop/database', 'light'],
    ] as const) {
      const page = await browser.newPage({ colorScheme, viewport: { width: 1000, height: 700 }, deviceScaleFactor: 1 });
      await page.goto(`${origin}${path}`);
      if (path === '/') await page.locator('#objects > summary').click();
      await page.screenshot({ path: join(folder, `${name}.png`) });
      await page.close();
    }
  } finally {
    demo.kill('SIGINT');
    await ended;
    rmSync(work, { recursive: true, force: true });
  }
}

async function picturesOfPlayground(browser: Browser): Promise<void> {
  const command = spawn(process.execPath, [join(root, 'src/main.ts'), 'playground', '--output', 'json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [said] = (await once(command.stdout, 'data')) as [Buffer];
    const { url } = JSON.parse(String(said)) as { url: string };
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 800 }, deviceScaleFactor: 1 });
      await page.goto(`${url}&example=map-names`);
      await page.locator('.diff ins').first().waitFor();
      await page.locator('.patches summary').first().click();
      await page.screenshot({ path: join(folder, `playground-${colorScheme}.png`) });
      await page.close();
    }
  } finally {
    command.kill('SIGINT');
    await once(command, 'exit');
  }
}

function addressIn(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    // Goes on reading, because a demo whose output nobody takes would stop.
    output.on('data', (chunk) => {
      text += String(chunk);
      const address = /http:\/\/127\.0\.0\.1:\d+(?=\/)/.exec(text);
      if (address !== null) resolve(address[0]);
    });
    output.on('end', () => reject(new Error(`the demo ended without an address: ${text}`)));
  });
}
