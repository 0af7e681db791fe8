import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { formatFault } from '../../../src/config/fault.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { readConfigurationFile, readConfigurationFiles } from '../../../src/config/load/read-files.ts';
import { maxFileBytes } from '../../../src/config/yaml/source-text.ts';
import { named } from '../loading.ts';

const folder = mkdtempSync(join(tmpdir(), 'hostward-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function said(...names: string[]): Promise<string[]> {
  const paths = names.map((name) => join(folder, name));
  const loaded = loadConfiguration({
    environment: named,
    files: await readConfigurationFiles(paths, readConfigurationFile),
  });
  const faults = loaded.kind === 'faults' ? loaded.faults : [];
  return faults.map((of) => formatFault(of).replaceAll(`${folder}/`, ''));
}

describe('readConfigurationFile()', () => {
  it('says in a sentence why there is nothing to read, for all files at once', async () => {
    mkdirSync(join(folder, 'folder'));
    writeFileSync(join(folder, 'large.yaml'), 'x'.repeat(maxFileBytes + 1));
    symlinkSync('circle.yaml', join(folder, 'circle.yaml'));
    writeFileSync(join(folder, 'good.yaml'), 'hostward: {}');
    expect(await said('none.yaml', 'folder', 'good.yaml', 'good.yaml/x', 'large.yaml', 'circle.yaml')).toEqual([
      'none.yaml: wanted a configuration file, found no file of this name; correct --config',
      'folder: wanted a configuration file, found a directory; name the file in it',
      'good.yaml/x: wanted a configuration file, found no file of this name; correct --config',
      'large.yaml: wanted 1048576 bytes at most, found 1048577 bytes',
      'circle.yaml: wanted a file that can be read, found symbolic links in a circle',
    ]);
  });

  it.skipIf(process.getuid?.() === 0)(
    'says when the file may not be read (skipped for root, who may read all)',
    async () => {
      writeFileSync(join(folder, 'secret.yaml'), 'hostward: {}');
      chmodSync(join(folder, 'secret.yaml'), 0o000);
      expect(await said('secret.yaml')).toEqual([
        'secret.yaml: wanted a file that can be read, found a file that this process may not read',
      ]);
    },
  );

  it('reads through symbolic links, and devices without a size', async () => {
    symlinkSync('good.yaml', join(folder, 'link.yaml'));
    expect(await said('link.yaml')).toEqual([]);
    expect(await readConfigurationFile('/dev/null')).toEqual({
      name: '/dev/null',
      text: Buffer.alloc(0),
      isStream: true,
    });
  });
});
