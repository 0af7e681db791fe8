import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { type SceneOptions, scene } from './scene.ts';

async function check(options: SceneOptions, ...argv: string[]) {
  const { context, out, err } = scene(options);
  const code = await runCommandLine(context, ['check', ...argv]);
  return { code, out: out(), err: err() };
}

const named = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc'];

describe('hostward check', () => {
  it('is content with a file that says nothing wrong, wherever it is read', async () => {
    const files = { '/home/v.yaml': 'sync: {toHost: {endpoints: {enabled: true}}}\n' };
    expect(await check({ files }, '-c', 'v.yaml', ...named)).toEqual({
      code: 0,
      out: 'no faults, no warnings\n',
      err: '',
    });
    const unnamed = await check({ files }, '-c', 'v.yaml');
    expect(unnamed.code).toBe(0);
    expect(unnamed.out).toContain('warning: wanted the name of the virtual cluster');
  });

  it('says every fault at once, with its place, a caret and a way out, and ends with 1', async () => {
    const files = {
      '/home/v.yaml': 'sync:\n  toHost:\n    endpoints:\n      enabled: maybe\nhostward:\n  backsync: all\n',
    };
    const { code, out } = await check({ files }, '-c', 'v.yaml', ...named);
    expect(code).toBe(1);
    expect(out).toContain('v.yaml:4:16: sync.toHost.endpoints.enabled: wanted true or false, found "maybe"');
    expect(out).toContain('        enabled: maybe\n                 ^\n');
    expect(out).toContain('did you mean backSync?');
    expect(out).toContain('2 faults, no warnings');
  });

  it('judges the rest of a file although names are missing', async () => {
    const { code, out } = await check({ files: { '/home/v.yaml': 'hostward: {listen: nowhere}\n' } }, '-c', 'v.yaml');
    expect(code).toBe(1);
    expect(out).toContain('hostward.listen');
    expect(out).toContain('1 fault, 2 warnings');
  });

  it('prints JSON for other programs', async () => {
    const { code, out } = await check(
      { files: { '/home/v.yaml': 'hostward: {backSync: some}\n' } },
      '-c',
      'v.yaml',
      ...named,
      '-o',
      'json',
    );
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      faults: [{ path: 'hostward.backSync', file: 'v.yaml', line: 1, column: 22, severity: 'fault' }],
      warnings: [],
    });
  });

  it.each([
    ['a missing file', {}, 'gone.yaml: wanted a configuration file, found no file of this name'],
    ['a folder', { '/home/gone.yaml/': '' }, 'gone.yaml: wanted a configuration file, found a directory'],
    ['broken YAML', { '/home/gone.yaml': 'a: [\n' }, 'gone.yaml:'],
    ['an empty file', { '/home/gone.yaml': '' }, 'found an empty file'],
  ])('refuses %s with a sentence', async (_, files, sentence) => {
    const { code, out } = await check({ files }, '-c', 'gone.yaml', ...named);
    expect(code).toBe(1);
    expect(out).toContain(sentence);
  });

  it('takes names from the environment', async () => {
    const environment = { VCLUSTER_NAME: 'vc', NAMESPACE: 'vcluster-vc' };
    expect((await check({ environment })).out).toBe('no faults, no warnings\n');
  });
});

describe('hostward schema', () => {
  it('prints a JSON Schema', async () => {
    const { context, out } = scene();
    expect(await runCommandLine(context, ['schema'])).toBe(0);
    expect(JSON.parse(out())).toMatchObject({
      $schema: expect.stringContaining('json-schema.org'),
      type: ['object', 'null'],
    });
  });
});
