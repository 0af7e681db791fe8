import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { formatFault } from '../../../src/config/fault.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { readConfigurationFile, readConfigurationFiles } from '../../../src/config/load/read-files.ts';
import { maxFileBytes } from '../../../src/config/yaml/source-text.ts';
import { named, root } from '../loading.ts';

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
  it('explains each unreadable file, for all files at once', async () => {
    mkdirSync(join(folder, 'folder'));
    writeFileSync(join(folder, 'large.yaml'), 'x'.repeat(maxFileBytes + 1));
    symlinkSync('circle.yaml', join(folder, 'circle.yaml'));
    writeFileSync(join(folder, 'good.yaml'), 'hostward: {}');
    expect(await said('none.yaml', 'folder', 'good.yaml', 'good.yaml/x', 'large.yaml', 'circle.yaml')).toEqual([
      'none.yaml: wanted a configuration file, found no file of this name; correct --config',
      'folder: wanted a configuration file, found a directory; name the file in it',
      'good.yaml/x: wanted a configuration file, found no file of this name; correct --config',
      'large.yaml: wanted 1048576 bytes at most, found 1048577 bytes; split the file: --config takes several files and merges them',
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

  it('refuses a path that is not a file at once, and never waits for the writer of a pipe', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.yaml')]);
    symlinkSync('pipe.yaml', join(folder, 'link-to-pipe.yaml'));
    const wanted = 'wanted a configuration file, found';
    const fix = 'write it to a file, or give - and pipe it in';
    expect(await said('pipe.yaml', 'link-to-pipe.yaml')).toEqual([
      `pipe.yaml: ${wanted} a named pipe; ${fix}`,
      `link-to-pipe.yaml: ${wanted} a named pipe; ${fix}`,
    ]);
    expect(await readConfigurationFile('/dev/zero')).toEqual({
      name: '/dev/zero',
      problem: 'no-file',
      what: 'a device',
    });
  });

  it('reads an open pipe of a shell', () => {
    const read = join(root, 'src/config/load/read-files.ts');
    const script = `import { readConfigurationFile } from ${JSON.stringify(read)};
      const file = await readConfigurationFile('/dev/stdin');
      console.log(JSON.stringify([file.isStream, Buffer.from(file.text).toString()]));`;
    const out = execFileSync('sh', [
      '-c',
      'printf "a: 1" | "$0" --input-type=module -e "$1"',
      process.execPath,
      script,
    ]);
    expect(JSON.parse(String(out))).toEqual([true, 'a: 1']);
  });

  it('follows symbolic links', async () => {
    symlinkSync('good.yaml', join(folder, 'link.yaml'));
    expect(await said('link.yaml')).toEqual([]);
  });
});
