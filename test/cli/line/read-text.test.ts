import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText, textOf } from '../../../src/cli/line/read-text.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hostward-read-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('readText()', () => {
  it('reads a file as UTF-8, with a character that two chunks share', async () => {
    const path = join(folder, 'objects.yaml');
    const text = `${'x'.repeat(64 * 1024 - 1)}ä`;
    await writeFile(path, text);
    expect(await readText(path)).toBe(text);
  });

  it('refuses a device without an end, and says what to do', async () => {
    await expect(readText('/dev/zero', 1_000_000)).rejects.toMatchObject({
      exitCode: 1,
      message: 'wanted 1 MB of text at most, found more in "/dev/zero"; split the text into several files',
    });
  });

  it('passes on the error of the operating system with the path', async () => {
    await expect(readText(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT', path: join(folder, 'none') });
    await expect(readText(folder)).rejects.toMatchObject({ code: 'EISDIR', path: folder });
  });
});

describe('textOf()', () => {
  it('refuses standard input without an end', async () => {
    async function* endless() {
      for (let n = 0; n < 100; n++) yield new Uint8Array(1_000_000);
    }
    await expect(textOf(endless(), 'standard input', 3_000_000)).rejects.toMatchObject({
      message: 'wanted 3 MB of text at most, found more in standard input; split the text into several files',
    });
  });
});
